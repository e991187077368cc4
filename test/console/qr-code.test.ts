import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { qrCode } from '../../console/src/qr-code.ts';

const pictureOf = (text: string) =>
  qrCode(text)
    .map((row) => row.map((isDark) => (isDark ? '#' : '.')).join(''))
    .join('\n');
const digestOf = (text: string) => createHash('sha256').update(pictureOf(text)).digest('hex').slice(0, 32);

// Another reader, jsQR 1.4.0, read the texts back from these pictures.
const READ_ELSEWHERE = [
  { text: 'a', size: 21, digest: '0b2a5ded825360b8e6469fe394dbdafe' },
  {
    text: 'otpauth://totp/Coffer:ana@example.com?secret=JBSWY3DPEHPK3PXP&issuer=Coffer',
    size: 37,
    digest: '3c3ffd1b5e70f88231d777da4ab12d59',
  },
  { text: 'x'.repeat(213), size: 57, digest: '5b61c982b56d25234b982f4f8af846b0' },
  { text: 'x'.repeat(412), size: 77, digest: '7d42c1735fe8f78d13ff4f2874c84b74' },
];

test('QR codes are those that another reader has read', () => {
  for (const { text, size, digest } of READ_ELSEWHERE) {
    assert.equal(qrCode(text).length, size);
    assert.equal(digestOf(text), digest);
  }
});

test('a text that is too long is refused', () => {
  assert.throws(() => qrCode('x'.repeat(413)), RangeError);
});

test('every version has its finders and a dark share between a third and two thirds', () => {
  for (let length = 1; length <= 412; length += 45) {
    const modules = qrCode(Array.from({ length }, (_, i) => String.fromCharCode(33 + ((i * 7) % 90))).join(''));
    const size = modules.length;
    const finder = [0, 1, 2, 3, 4, 5, 6].map((i) => modules[i]?.[0]);
    assert.deepEqual(finder, [true, true, true, true, true, true, true]);
    assert.equal(modules[size - 8]?.[8], true);
    const share = modules.flat().filter(Boolean).length / size ** 2;
    assert.ok(share > 1 / 3 && share < 2 / 3, `${length}: ${share}`);
  }
});
