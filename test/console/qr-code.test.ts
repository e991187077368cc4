import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeQR } from 'qr/decode.js';
import { qrModules } from '../../console/src/account/qr-modules.ts';

const BORDER = 4;
/** Pixels of a module, as a camera sees them. */
const SCALE = 4;

function photograph(modules: readonly (readonly boolean[])[]) {
  const size = modules.length * SCALE;
  const data = new Uint8Array(size * size * 3).fill(255);
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++)
      if (modules[Math.floor(y / SCALE)]?.[Math.floor(x / SCALE)])
        data.fill(0, (y * size + x) * 3, (y * size + x + 1) * 3);
  return { width: size, height: size, data };
}

test('a reader reads what the console draws', () => {
  for (const text of [
    'a',
    'otpauth://totp/Coffer:ana@example.com?secret=JBSWY3DPEHPK3PXP&issuer=Coffer',
    'otpauth://totp/Coffer:zoë@example.com?secret=JBSWY3DPEHPK3PXP',
    'x'.repeat(412),
  ]) {
    assert.equal(decodeQR(photograph(qrModules(text))), text);
  }
});

test('it has the light border that readers need', () => {
  const modules = qrModules('a');
  assert.equal(modules.length, 21 + 2 * BORDER);
  for (const row of modules.slice(0, BORDER)) assert.ok(row.every((isDark) => !isDark));
  for (const row of modules) assert.ok(row.slice(0, BORDER).every((isDark) => !isDark));
  assert.equal(modules[BORDER]?.[BORDER], true);
});
