import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { envelopeProblem } from '../../server/src/kernel/crypto/zero-knowledge-envelope.ts';
import { fromBase64url, readEnvelope, toBase64url, writeEnvelope } from './zero-knowledge-envelope.ts';
import {
  openUnboundZeroKnowledge,
  openZeroKnowledge,
  openZeroKnowledgeBytes,
  sealZeroKnowledge,
  ZeroKnowledgeError,
  type ZeroKnowledgeLocation,
} from './zero-knowledge-index.ts';

const KEY = { key: new Uint8Array(randomBytes(32)) };
const PASSPHRASE = { passphrase: 'correct horse battery' };
const LOCATION = { vault: 'sealed', path: 'db/main', version: 3 };
const ALGORITHMS = ['aes-256-gcm', 'xchacha20-poly1305'] as const;

describe('sealing', () => {
  for (const algorithm of ALGORITHMS) {
    for (const secret of [KEY, PASSPHRASE]) {
      const kdf = 'key' in secret ? 'hkdf-sha256' : 'argon2id';
      test(`${algorithm} with ${kdf} opens again, and the service takes it`, async () => {
        const envelope = await sealZeroKnowledge('väl\u0000ue 🔑', secret, LOCATION, { algorithm });
        assert.ok(envelope.startsWith(`zk:v1:${algorithm}:${kdf}:`));
        assert.equal(envelopeProblem(envelope), null);
        assert.equal(await openZeroKnowledge(envelope, secret, LOCATION), 'väl\u0000ue 🔑');
      });
    }
  }

  test('salt and IV are made anew each time, and no caller can choose them', async () => {
    const envelopes = await Promise.all(Array.from({ length: 50 }, () => sealZeroKnowledge('the same', KEY, LOCATION)));
    for (const at of [4, 5, 6, 7]) assert.equal(new Set(envelopes.map((text) => text.split(':')[at])).size, 50);
    const chosen = { iv: new Uint8Array(12), salt: new Uint8Array(32) } as object;
    const [one, two] = [
      await sealZeroKnowledge('x', KEY, LOCATION, chosen),
      await sealZeroKnowledge('x', KEY, LOCATION, chosen),
    ];
    assert.notEqual(one.split(':')[5], two.split(':')[5]);
  });

  test('bytes and any text come back as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...ALGORITHMS), async (bytes, algorithm) => {
        const envelope = await sealZeroKnowledge(bytes, KEY, LOCATION, { algorithm });
        assert.equal(envelopeProblem(envelope), null);
        assert.deepEqual(Buffer.from(await openZeroKnowledgeBytes(envelope, KEY, LOCATION)), Buffer.from(bytes));
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 100 }), async (text) => {
        if (!text.isWellFormed()) return;
        assert.equal(await openZeroKnowledge(await sealZeroKnowledge(text, KEY, LOCATION), KEY, LOCATION), text);
      }),
    );
    await assert.rejects(
      openZeroKnowledge(await sealZeroKnowledge(new Uint8Array([0xff]), KEY, LOCATION), KEY, LOCATION),
      ZeroKnowledgeError,
    );
  });

  test('short secrets, halves of characters and unknown algorithms are refused', async () => {
    const range = { name: 'RangeError' };
    for (const length of [0, 16, 31, 33, 64])
      await assert.rejects(sealZeroKnowledge('x', { key: new Uint8Array(length) }, LOCATION), range);
    for (const passphrase of ['', 'short', 'eleven char', '🔑'.repeat(11)]) {
      await assert.rejects(sealZeroKnowledge('x', { passphrase }, LOCATION), range);
    }
    await assert.rejects(sealZeroKnowledge('\ud800', KEY, LOCATION), { name: 'TypeError' });
    await assert.rejects(sealZeroKnowledge('x', { passphrase: `${'a'.repeat(12)}\udc00` }, LOCATION), {
      name: 'TypeError',
    });
    for (const algorithm of ['aes-128-gcm', 'constructor', ''] as unknown as 'aes-256-gcm'[]) {
      await assert.rejects(sealZeroKnowledge('x', KEY, LOCATION, { algorithm }), { name: 'TypeError' });
    }
  });

  test('the service accepts the largest value that fits, and the library refuses one byte more', async () => {
    const overhead = (await sealZeroKnowledge('', KEY, LOCATION)).length;
    const most = Math.floor(((1_048_576 - overhead) * 3) / 4);
    const envelope = await sealZeroKnowledge(new Uint8Array(most), KEY, LOCATION);
    assert.ok(envelope.length <= 1_048_576);
    assert.equal(envelopeProblem(envelope), null);
    assert.equal((await openZeroKnowledgeBytes(envelope, KEY, LOCATION)).length, most);
    await assert.rejects(sealZeroKnowledge(new Uint8Array(most + 2), KEY, LOCATION), { name: 'RangeError' });
  });

  test('a passphrase is the same however it is typed, and another one does not open', async () => {
    const envelope = await sealZeroKnowledge('x', { passphrase: 'Zoe\u0308 and the others' }, LOCATION);
    assert.equal(await openZeroKnowledge(envelope, { passphrase: 'Zoë and the others' }, LOCATION), 'x');
    await assert.rejects(
      openZeroKnowledge(envelope, { passphrase: 'Zoe and the others' }, LOCATION),
      ZeroKnowledgeError,
    );
    await assert.rejects(openZeroKnowledge(envelope, KEY, LOCATION), ZeroKnowledgeError);
  });

  test('wrong secrets of any kind are one error', async () => {
    const envelope = await sealZeroKnowledge('x', KEY, LOCATION);
    const wrong = [
      { key: new Uint8Array(32) },
      { key: new Uint8Array(3) },
      PASSPHRASE,
      {},
      null,
      undefined,
      { key: 'x' },
    ];
    for (const secret of wrong) {
      await assert.rejects(openZeroKnowledge(envelope, secret as typeof KEY, LOCATION), ZeroKnowledgeError);
    }
    for (const text of [null, undefined, 1, {}]) {
      await assert.rejects(openZeroKnowledge(text as unknown as string, KEY, LOCATION), ZeroKnowledgeError);
    }
  });

  test('no change to an envelope leaves it open', async () => {
    const envelope = await sealZeroKnowledge('some value', KEY, LOCATION, { algorithm: 'xchacha20-poly1305' });
    const alphabet = 'AZaz09-_:=';
    const change = fc.tuple(fc.nat(envelope.length), fc.constantFrom(...alphabet, ''), fc.nat(2));
    await fc.assert(
      fc.asyncProperty(change, async ([at, text, cut]) => {
        const changed = envelope.slice(0, at) + text + envelope.slice(at + cut);
        if (changed !== envelope) await assert.rejects(openZeroKnowledge(changed, KEY, LOCATION), ZeroKnowledgeError);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the location', () => {
  const other = (more: Partial<ZeroKnowledgeLocation>) => ({ ...LOCATION, ...more });

  test('a malicious server’s swap does not open: another path’s envelope, another vault’s, an older version’s', async () => {
    const development = other({ path: 'dev/db' });
    const known = await sealZeroKnowledge('dev-password-known-to-the-attacker', KEY, development);
    assert.equal(await openZeroKnowledge(known, KEY, development), 'dev-password-known-to-the-attacker');
    for (const requested of [
      LOCATION,
      other({ path: 'dev/db', version: 4 }),
      other({ path: 'dev/db', vault: 'another' }),
    ]) {
      await assert.rejects(openZeroKnowledge(known, KEY, requested), ZeroKnowledgeError);
    }
  });

  test('the version is bound only where it is given, and is then needed', async () => {
    const { version: _, ...place } = LOCATION;
    const [bound, free] = [await sealZeroKnowledge('x', KEY, LOCATION), await sealZeroKnowledge('x', KEY, place)];
    assert.equal(await openZeroKnowledge(free, KEY, place), 'x');
    await assert.rejects(openZeroKnowledge(bound, KEY, place), ZeroKnowledgeError);
    await assert.rejects(openZeroKnowledge(free, KEY, LOCATION), ZeroKnowledgeError);
  });

  test('two locations never open each other’s envelopes, wherever one ends and the next begins', async () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '1', '2', '.'), minLength: 1, maxLength: 4 });
    const name = letters.filter((text) => /^[a-z0-9]/.test(text));
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('/'));
    const version = fc.option(fc.integer({ min: 1, max: 22 }), { nil: undefined });
    const location = fc
      .tuple(name, path, version)
      .map(([vault, at, number]) => ({ vault, path: at, ...(number !== undefined && { version: number }) }));
    await fc.assert(
      fc.asyncProperty(location, location, async (one, two) => {
        const opened = openZeroKnowledge(await sealZeroKnowledge('x', KEY, one), KEY, two);
        const isSame = one.vault === two.vault && one.path === two.path && one.version === two.version;
        if (isSame) assert.equal(await opened, 'x');
        else await assert.rejects(opened, ZeroKnowledgeError);
      }),
      { numRuns: 1000 },
    );
  });

  test('none, or one in another spelling than the service’s, is refused before anything is sealed or opened', async () => {
    const envelope = await sealZeroKnowledge('x', KEY, LOCATION);
    const wrong = [
      undefined,
      null,
      'db/main',
      {},
      { algorithm: 'aes-256-gcm' },
      'unbound',
      ...['', 'a/b', '-a', 'é', 'v'.repeat(64), 7, undefined].map((vault) => ({ ...LOCATION, vault })),
      ...['', '/a', 'a/', 'a//b', '.', 'a/../b', 'a b', 'a%2Fb', 'é', 'a\n', `${'a/'.repeat(32)}a`, undefined].map(
        (path) => ({ ...LOCATION, path }),
      ),
      ...[0, -1, 1.5, Number.NaN, 2 ** 53, '3', null].map((version) => ({ ...LOCATION, version })),
    ] as ZeroKnowledgeLocation[];
    for (const location of wrong) {
      await assert.rejects(sealZeroKnowledge('x', KEY, location), { name: 'TypeError' }, JSON.stringify(location));
      await assert.rejects(openZeroKnowledge(envelope, KEY, location), { name: 'TypeError' }, JSON.stringify(location));
    }
  });

  test('a bound envelope does not open as an unbound one', async () => {
    const envelope = await sealZeroKnowledge('x', KEY, LOCATION);
    await assert.rejects(openUnboundZeroKnowledge(envelope, KEY), ZeroKnowledgeError);
  });
});

describe('the form', () => {
  test('the library and the service agree on every text', () => {
    const part = (min: number, max: number) => fc.uint8Array({ minLength: min, maxLength: max }).map(toBase64url);
    const near = fc
      .tuple(
        fc.constantFrom('zk', 'zk', 'zk', 'Zk'),
        fc.constantFrom('v1', 'v1', 'v1', 'v2'),
        fc.constantFrom('aes-256-gcm', 'xchacha20-poly1305', 'constructor'),
        fc.constantFrom('argon2id', 'hkdf-sha256', 'toString'),
        fc.oneof(part(16, 16), part(14, 66)),
        fc.oneof(part(12, 12), part(24, 24), part(0, 30)),
        part(0, 20),
        fc.oneof(part(16, 16), part(15, 17)),
        fc.constantFrom('', '', '', '', '=', ':', '\n', 'A'),
      )
      .map((parts) => `${parts.slice(0, 8).join(':')}${parts[8]}`);
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (text) => {
        const read = readEnvelope(text);
        assert.equal(read === null, envelopeProblem(text) !== null);
        if (read !== null) assert.equal(writeEnvelope(read), text);
      }),
      { numRuns: 5000 },
    );
  });

  test('base64url has one spelling', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        assert.equal(toBase64url(bytes), Buffer.from(bytes).toString('base64url'));
        assert.deepEqual(fromBase64url(toBase64url(bytes)), new Uint8Array(bytes));
      }),
    );
    for (const text of ['A', 'AB', 'AAB', 'AA=', 'AA==', 'A A', 'AA+/', 'AA\n', 'ÀÀÀÀ'])
      assert.equal(fromBase64url(text), null, text);
  });
});
