import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Check } from 'typebox/value';
import { Generator } from '../contract.ts';
import { generateValue, generatorProblem } from './generators.ts';
import { KNOWN_TYPES, valueProblem } from './secret-types.ts';

const ALPHABETS = {
  alphanumeric: /^[A-Za-z0-9]+$/,
  ascii: /^[A-Za-z0-9][A-Za-z0-9._~-]+$/,
  hex: /^[0-9a-f]+$/,
  base64url: /^[A-Za-z0-9_-]+$/,
  digits: /^[0-9]+$/,
};
const CLASSES = {
  alphanumeric: [/[a-z]/, /[A-Z]/, /[0-9]/],
  ascii: [/[a-z]/, /[A-Z]/, /[0-9]/, /[._~-]/],
  hex: [/[a-f]/, /[0-9]/],
  base64url: [/[a-z]/, /[A-Z]/, /[0-9]/, /[_-]/],
  digits: [/[0-9]/],
};
const charset = fc.constantFrom('alphanumeric', 'ascii', 'hex', 'base64url', 'digits');
const generator = fc.record(
  {
    length: fc.integer({ min: 8, max: 512 }),
    charset,
    prefix: fc.stringMatching(/^[A-Za-z0-9_.-]{0,32}$/),
    require_each_class: fc.boolean(),
  },
  { requiredKeys: [] },
);

function generated(type: string, options: Generator | null): string {
  const value = generateValue(type, options);
  assert.ok(value !== null, type);
  return value;
}

describe('built-in values', () => {
  test('a password has 32 characters of four classes and needs no quoting', () => {
    for (let i = 0; i < 200; i++) {
      const value = generated('password', null);
      assert.equal(value.length, 32);
      assert.match(value, ALPHABETS.ascii);
      for (const each of CLASSES.ascii) assert.match(value, each);
      assert.equal(encodeURIComponent(value), value);
    }
  });

  test('an api_key has 40 letters and digits after its prefix', () => {
    assert.match(generated('api_key', null), /^[A-Za-z0-9]{40}$/);
    assert.match(generated('api_key', { prefix: 'sk_live_' }), /^sk_live_[A-Za-z0-9]{40}$/);
  });

  test('a token is 32 bytes in 43 characters, and has one spelling', () => {
    for (let i = 0; i < 50; i++) {
      const value = generated('token', null);
      assert.equal(value.length, 43);
      assert.equal(Buffer.from(value, 'base64url').length, 32);
      assert.equal(Buffer.from(value, 'base64url').toString('base64url'), value);
    }
    assert.match(generated('token', { prefix: 'cv.' }), /^cv\.[\w-]{43}$/);
  });

  test('other types have none', () => {
    for (const type of ['database', 'certificate', 'json', 'generic', 'anything', 'constructor']) {
      assert.equal(generateValue(type, null), null, type);
    }
  });

  test('no two values are equal', () => {
    for (const type of ['password', 'api_key', 'token', 'ssh_key']) {
      assert.equal(new Set(Array.from({ length: 50 }, () => generateValue(type, null))).size, 50, type);
    }
  });
});

describe('generators', () => {
  test('every declared generator makes what it says, and its type accepts it', () => {
    const types = fc.constantFrom('password', 'api_key', 'token', 'generic', 'anything');
    fc.assert(
      fc.property(types, generator, (type, options) => {
        assert.ok(Check(Generator, options));
        assert.equal(generatorProblem(type, options), null);
        const value = generated(type, options);
        const prefix = options.prefix ?? '';
        assert.equal(valueProblem(type, value), null);
        assert.ok(value.startsWith(prefix));
        const rest = value.slice(prefix.length);
        if (options.length !== undefined) assert.equal(rest.length, options.length);
        if (options.charset !== undefined) {
          assert.match(rest, ALPHABETS[options.charset]);
          if (options.require_each_class) for (const each of CLASSES[options.charset]) assert.match(rest, each);
        }
      }),
    );
  });

  test('what a generator leaves out is as the type has it', () => {
    assert.match(generated('password', { length: 12 }), /^[A-Za-z0-9._~-]{12}$/);
    assert.match(generated('token', { length: 20 }), /^[A-Za-z0-9_-]{20}$/);
    assert.match(generated('generic', {}), /^[A-Za-z0-9]{32}$/);
    assert.match(generated('database_pin', { charset: 'digits', length: 8 }), /^\d{8}$/);
  });

  test('the shortest length still has room for every class', () => {
    for (const name of ['alphanumeric', 'ascii', 'hex', 'base64url', 'digits'] as const) {
      for (let i = 0; i < 50; i++) {
        const value = generated('generic', { length: 8, charset: name, require_each_class: true });
        for (const each of CLASSES[name]) assert.match(value, each);
      }
    }
  });

  test('the schema is closed and bounded', () => {
    const wrong = [
      { length: 7 },
      { length: 513 },
      { length: 8.5 },
      { charset: 'emoji' },
      { prefix: 'x'.repeat(33) },
      { prefix: 'a b' },
      { prefix: 'a\n' },
      { require_each_class: 'yes' },
      { seed: 1 },
      [],
      null,
    ];
    for (const odd of wrong) assert.ok(!Check(Generator, odd), JSON.stringify(odd));
  });

  test('a type with an inner form, and ssh_key with options, say why not', () => {
    for (const type of ['database', 'certificate', 'json']) {
      assert.match(generatorProblem(type, {}) ?? '', /^must be absent/);
      assert.throws(() => generateValue(type, {}), TypeError);
    }
    assert.match(generatorProblem('ssh_key', { length: 32 }) ?? '', /^must be without options/);
    assert.throws(() => generateValue('ssh_key', { length: 32 }), TypeError);
    assert.equal(generatorProblem('ssh_key', {}), null);
    for (const type of KNOWN_TYPES) assert.equal(generatorProblem(type, null), null);
  });
});

describe('chance', () => {
  /** The bound is so wide that an even source fails once in a hundred million runs. Taking a remainder instead of drawing again is far outside. */
  function assertEven(counts: Map<string, number>, symbols: number, draws: number, what: string): void {
    assert.equal(counts.size, symbols, `${what}: every symbol occurs`);
    const expected = draws / symbols;
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    assert.ok(chiSquare < 3 * symbols + 30, `${what}: chi-square ${chiSquare} of ${symbols} symbols`);
  }

  test('every symbol of every charset is about as frequent as any other', () => {
    const symbols = { alphanumeric: 62, ascii: 66, hex: 16, base64url: 64, digits: 10 };
    for (const [name, count] of Object.entries(symbols)) {
      const counts = new Map<string, number>();
      let draws = 0;
      for (let i = 0; i < 100; i++) {
        // The first character of `ascii` comes from a smaller set on purpose.
        for (const character of generated('generic', { length: 512, charset: name as 'hex' }).slice(1)) {
          counts.set(character, (counts.get(character) ?? 0) + 1);
          draws++;
        }
      }
      assertEven(counts, count, draws, name);
    }
  });

  test('demanding each class favours no place for the rare ones', () => {
    const places = new Map<string, number>();
    let draws = 0;
    for (let i = 0; i < 3000; i++) {
      const value = generated('generic', { length: 9, charset: 'ascii', require_each_class: true });
      for (const [place, character] of [...value].slice(1).entries()) {
        if (!/[._~-]/.test(character)) continue;
        places.set(String(place), (places.get(String(place)) ?? 0) + 1);
        draws++;
      }
    }
    assertEven(places, 8, draws, 'place of a symbol');
  });
});

describe('ssh_key', () => {
  /** Reads length-prefixed strings with code independent of the code under test. */
  function strings(bytes: Buffer, at: number, count: number): { found: Buffer[]; end: number } {
    const found: Buffer[] = [];
    let end = at;
    for (let i = 0; i < count; i++) {
      const length = bytes.readUInt32BE(end);
      found.push(bytes.subarray(end + 4, end + 4 + length));
      end += 4 + length;
    }
    return { found, end };
  }

  test('an ed25519 key whose halves belong together, in the form OpenSSH reads', () => {
    const value = generated('ssh_key', null);
    assert.equal(valueProblem('ssh_key', value), null);
    const lines = value.split('\n');
    assert.equal(lines[0], '-----BEGIN OPENSSH PRIVATE KEY-----');
    // OpenSSH refuses a file without a final line break.
    assert.deepEqual(lines.slice(-2), ['-----END OPENSSH PRIVATE KEY-----', '']);
    assert.ok(lines.every((line) => line.length <= 70));

    const body = Buffer.from(lines.slice(1, -2).join(''), 'base64');
    assert.equal(body.subarray(0, 15).toString('latin1'), 'openssh-key-v1\0');
    const head = strings(body, 15, 3);
    assert.deepEqual(head.found.map(String), ['none', 'none', '']);
    assert.equal(body.readUInt32BE(head.end), 1);
    const keys = strings(body, head.end + 4, 2);
    assert.equal(keys.end, body.length);
    const [outer = Buffer.alloc(0), secret = Buffer.alloc(0)] = keys.found;
    assert.equal(secret.length % 8, 0);
    assert.equal(secret.readUInt32BE(0), secret.readUInt32BE(4));
    const inner = strings(secret, 8, 4);
    const [type, point = Buffer.alloc(0), pair = Buffer.alloc(0), comment] = inner.found;
    assert.equal(String(type), 'ssh-ed25519');
    assert.equal(String(comment), 'coffer');
    assert.deepEqual(strings(outer, 0, 2).found, [Buffer.from('ssh-ed25519'), point]);
    assert.deepEqual([...secret.subarray(inner.end)], [1, 2, 3, 4, 5, 6, 7].slice(0, secret.length - inner.end));

    const jwk = { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') };
    const d = pair.subarray(0, 32).toString('base64url');
    const privateKey = createPrivateKey({ key: { ...jwk, d }, format: 'jwk' });
    // The public key derived from the seed alone must be the one in the file.
    assert.equal(createPublicKey(privateKey).export({ format: 'jwk' }).x, jwk.x);
    assert.deepEqual(pair.subarray(32), point);
    const message = Buffer.from('message');
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    assert.ok(verify(null, message, publicKey, sign(null, message, privateKey)));
  });
});
