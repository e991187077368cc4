import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { ENVELOPE_LENGTH_MAX, envelopeProblem } from './zero-knowledge-envelope.ts';

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const of = (bytes: number) => encode(randomBytes(bytes));
const bytes = (minLength: number, maxLength = minLength) => fc.uint8Array({ minLength, maxLength }).map(encode);

const algorithms = [
  ['aes-256-gcm', 12],
  ['xchacha20-poly1305', 24],
] as const;
const derivations = [
  ['argon2id', 16, 16],
  ['hkdf-sha256', 16, 64],
] as const;

const envelope = fc
  .tuple(fc.constantFrom(...algorithms), fc.constantFrom(...derivations))
  .chain(([[algorithm, iv], [derivation, saltMin, saltMax]]) =>
    fc.tuple(
      fc.constantFrom('zk'),
      fc.constantFrom('v1'),
      fc.constantFrom(algorithm),
      fc.constantFrom(derivation),
      bytes(saltMin, saltMax),
      bytes(iv),
      bytes(0, 200),
      bytes(16),
    ),
  );

function refuses(text: string, reason: RegExp, what = text): void {
  assert.match(envelopeProblem(text) ?? 'accepted', reason, what);
}

function written(
  change: Partial<Record<'scheme' | 'version' | 'algo' | 'kdf' | 'salt' | 'iv' | 'ct' | 'tag', string>>,
) {
  const whole = {
    scheme: 'zk',
    version: 'v1',
    algo: 'aes-256-gcm',
    kdf: 'argon2id',
    salt: of(16),
    iv: of(12),
    ct: of(20),
    tag: of(16),
  };
  return Object.values({ ...whole, ...change }).join(':');
}

test('every combination in its exact form is an envelope', () => {
  fc.assert(fc.property(envelope, (parts) => assert.equal(envelopeProblem(parts.join(':')), null)));
  assert.equal(envelopeProblem(written({ ct: '' })), null, 'of an empty value');
  assert.equal(envelopeProblem(written({ kdf: 'hkdf-sha256', salt: of(64) })), null);
});

test('one field more, less, exchanged or in other letters is none', () => {
  fc.assert(
    fc.property(envelope, fc.nat(7), (parts, place) => {
      const fewer = parts.filter((_, index) => index !== place);
      refuses(fewer.join(':'), /^must be an envelope/);
      refuses([...parts, ''].join(':'), /^must be an envelope/);
      refuses([...parts.slice(0, place), '', ...parts.slice(place)].join(':'), /^must be an envelope/);
      refuses(` ${parts.join(':')}`, /^must be an envelope/);
      refuses(`${parts.join(':')}\n`, /^must be an envelope/);
    }),
  );
  for (const scheme of ['ZK', 'eaas', '']) refuses(written({ scheme }), /zk:v1/);
  for (const version of ['v2', 'V1', '1', 'v1 ']) refuses(written({ version }), /zk:v1/);
  for (const algo of ['AES-256-GCM', 'aes-128-gcm', 'aes-256-cbc', '', 'constructor', '__proto__']) {
    refuses(written({ algo }), /algo is aes-256-gcm or xchacha20-poly1305$/);
  }
  for (const kdf of ['argon2i', 'Argon2id', 'pbkdf2', '', 'toString']) refuses(written({ kdf }), /kdf is argon2id or/);
});

test('each field has its length', () => {
  for (const length of [0, 15, 17, 32]) refuses(written({ salt: of(length) }), /salt is 16 bytes/);
  for (const length of [0, 15, 65])
    refuses(written({ kdf: 'hkdf-sha256', salt: of(length) }), /salt is 16 to 64 bytes/);
  for (const length of [0, 11, 13, 24]) refuses(written({ iv: of(length) }), /iv is 12 bytes/);
  for (const length of [12, 23, 25]) refuses(written({ algo: 'xchacha20-poly1305', iv: of(length) }), /iv is 24 bytes/);
  for (const length of [0, 12, 15, 17]) refuses(written({ tag: of(length) }), /tag is 16 bytes/);
});

test('each field has one spelling', () => {
  // The last character of 16 bytes encodes only two bits, that of 20 bytes only four.
  const respelled = (text: string) => text.slice(0, -1) + nextLetter(text.at(-1) ?? '');
  for (const name of ['salt', 'tag', 'ct'] as const) {
    const text = of(name === 'ct' ? 20 : 16);
    assert.deepEqual(Buffer.from(respelled(text), 'base64url'), Buffer.from(text, 'base64url'), 'the same bytes');
    refuses(written({ [name]: respelled(text) }), new RegExp(`${name} is .* base64url without padding$`));
    for (const odd of [`${text}=`, `${text}==`, ` ${text}`, `${text}\n`, `${text.slice(0, -1)}+`, 'é']) {
      refuses(written({ [name]: odd }), new RegExp(`${name} is `), odd);
    }
  }
  for (const odd of ['A', 'AAAAA', '+/+/', 'AA==']) refuses(written({ ct: odd }), /ct is /, odd);
});

/** The next letter of the alphabet differs in the lowest bit, which the last character does not use at these lengths. */
function nextLetter(letter: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet.charAt(alphabet.indexOf(letter) + 1);
}

test('an envelope of 1 MiB fits, one character more does not', () => {
  const empty = written({ ct: '' });
  const largest = written({ ct: 'A'.repeat((1_048_576 - empty.length) & ~1) });
  assert.equal(envelopeProblem(largest), null);
  refuses(written({ ct: 'A'.repeat(1_048_577 - empty.length) }), /^must be at most 1048576/, 'one more');
  refuses(':'.repeat(ENVELOPE_LENGTH_MAX + 1), /^must be at most/, 'too long to look at');
  refuses(':'.repeat(ENVELOPE_LENGTH_MAX), /^must be an envelope/, 'only colons');
});

test('any text is answered, and no answer repeats it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      refuses(text, /^must be /);
    }),
  );
  const marker = 'S3cretMarker';
  for (const name of ['scheme', 'version', 'algo', 'kdf', 'salt', 'iv', 'tag'] as const) {
    assert.ok(!envelopeProblem(written({ [name]: marker }))?.includes(marker));
  }
});
