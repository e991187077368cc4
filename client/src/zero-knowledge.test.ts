import assert from 'node:assert/strict';
import { argon2Sync, createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { gcm } from '@noble/ciphers/aes.js';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { envelopeProblem } from '../../server/src/kernel/crypto/zero-knowledge-envelope.ts';
import { openZeroKnowledge, openZeroKnowledgeBytes, sealZeroKnowledge, ZeroKnowledgeError } from './index.ts';
import { fromBase64url, readEnvelope, toBase64url, writeEnvelope } from './zero-knowledge-envelope.ts';
import { argon2idPortable } from './zero-knowledge-keys.ts';

interface Vector {
  name: string;
  algorithm: 'aes-256-gcm' | 'xchacha20-poly1305';
  kdf: 'argon2id' | 'hkdf-sha256';
  passphrase?: string;
  key?: string;
  plaintext: string;
  salt: string;
  iv: string;
  derived_key: string;
  aad: string;
  envelope: string;
}
interface Vectors {
  opens: Vector[];
  refused: { key: string; envelopes: Record<string, string> };
}
const file = new URL('../../docs/zero-knowledge-vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors;
const fromHex = (hex = '') => new Uint8Array(Buffer.from(hex, 'hex'));
const secretOf = ({ passphrase, key }: Vector) => (passphrase === undefined ? { key: fromHex(key) } : { passphrase });
const KEY = { key: new Uint8Array(randomBytes(32)) };
const PASSPHRASE = { passphrase: 'correct horse battery' };
const ALGORITHMS = ['aes-256-gcm', 'xchacha20-poly1305'] as const;

/** The same by other hands: node:crypto for AES-GCM, HKDF and argon2id, noble for the other halves. */
function derivedElsewhere(envelope: string, secret: Uint8Array): { node: Uint8Array; noble: Uint8Array | null } {
  const [, , algorithm, kdf, salt = ''] = envelope.split(':');
  const nonce = Buffer.from(salt, 'base64url');
  if (kdf === 'argon2id') {
    const cost = { memory: 65_536, passes: 3, parallelism: 4, tagLength: 32 };
    return { node: argon2Sync('argon2id', { message: secret, nonce, ...cost }), noble: null };
  }
  const info = Buffer.from(`zk:v1:${algorithm}`);
  return {
    node: new Uint8Array(hkdfSync('sha256', secret, nonce, info, 32)),
    noble: hkdf(sha256, secret, nonce, info, 32),
  };
}

function openedElsewhere(envelope: string, key: Uint8Array): Buffer {
  const parts = envelope.split(':');
  const aad = Buffer.from(parts.slice(0, 5).join(':'));
  const [iv, ct, tag] = parts.slice(5).map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer, Buffer];
  if (parts[2] !== 'aes-256-gcm') return Buffer.from(xchacha20poly1305(key, iv, aad).decrypt(Buffer.concat([ct, tag])));
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: 16 }).setAAD(aad).setAuthTag(tag);
  const plain = Buffer.concat([decipher.update(ct), decipher.final()]);
  assert.ok(plain.equals(gcm(key, iv, aad).decrypt(Buffer.concat([ct, tag]))), 'noble agrees');
  return plain;
}

describe('published vectors', () => {
  for (const vector of vectors.opens) {
    test(vector.name, async () => {
      assert.equal(await openZeroKnowledge(vector.envelope, secretOf(vector)), vector.plaintext);
      assert.equal(envelopeProblem(vector.envelope), null, 'the service takes it');
      const secret = vector.passphrase === undefined ? fromHex(vector.key) : Buffer.from(vector.passphrase, 'utf8');
      const { node, noble } = derivedElsewhere(vector.envelope, secret);
      assert.equal(Buffer.from(node).toString('hex'), vector.derived_key);
      if (noble !== null) assert.deepEqual(Buffer.from(noble), Buffer.from(node));
      assert.equal(openedElsewhere(vector.envelope, node).toString('utf8'), vector.plaintext);
      assert.equal(sealedElsewhere(vector), vector.envelope);
    });
  }

  test('cover every pair of algorithm and derivation', () => {
    assert.equal(new Set(vectors.opens.map(({ algorithm, kdf }) => `${algorithm} ${kdf}`)).size, 4);
  });

  test('what must not open does not, and says nothing else than that', async () => {
    const messages = new Set<string>();
    for (const [name, envelope] of Object.entries(vectors.refused.envelopes)) {
      await assert.rejects(openZeroKnowledge(envelope, { key: fromHex(vectors.refused.key) }), (error: Error) => {
        assert.ok(error instanceof ZeroKnowledgeError, name);
        messages.add(error.message);
        return true;
      });
    }
    assert.equal(messages.size, 1);
  });
});

/** The bytes a second implementation makes of the vector's parts. */
function sealedElsewhere({ algorithm, derived_key, iv, aad, plaintext }: Vector): string {
  const [key, nonce, data] = [fromHex(derived_key), fromHex(iv), Buffer.from(plaintext, 'utf8')];
  const parts = () => {
    if (algorithm === 'xchacha20-poly1305') {
      const sealed = Buffer.from(xchacha20poly1305(key, nonce, Buffer.from(aad)).encrypt(data));
      return [nonce, sealed.subarray(0, -16), sealed.subarray(-16)];
    }
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
    return [nonce, Buffer.concat([cipher.update(data), cipher.final()]), cipher.getAuthTag()];
  };
  return [aad, ...parts().map((part) => Buffer.from(part).toString('base64url'))].join(':');
}

describe('sealing', () => {
  for (const algorithm of ALGORITHMS) {
    for (const secret of [KEY, PASSPHRASE]) {
      const kdf = 'key' in secret ? 'hkdf-sha256' : 'argon2id';
      test(`${algorithm} with ${kdf} opens here and elsewhere, and the service takes it`, async () => {
        const envelope = await sealZeroKnowledge('väl\u0000ue 🔑', secret, { algorithm });
        assert.ok(envelope.startsWith(`zk:v1:${algorithm}:${kdf}:`));
        assert.equal(envelopeProblem(envelope), null);
        assert.equal(await openZeroKnowledge(envelope, secret), 'väl\u0000ue 🔑');
        const bytes = 'key' in secret ? secret.key : Buffer.from(secret.passphrase);
        const { node } = derivedElsewhere(envelope, bytes);
        assert.equal(openedElsewhere(envelope, node).toString('utf8'), 'väl\u0000ue 🔑');
      });
    }
  }

  test('lesson 11: salt and IV are made anew each time, and no caller can choose them', async () => {
    const envelopes = await Promise.all(Array.from({ length: 50 }, () => sealZeroKnowledge('the same', KEY)));
    for (const at of [4, 5, 6, 7]) assert.equal(new Set(envelopes.map((text) => text.split(':')[at])).size, 50);
    const chosen = { iv: new Uint8Array(12), salt: new Uint8Array(32) } as object;
    const [one, two] = [await sealZeroKnowledge('x', KEY, chosen), await sealZeroKnowledge('x', KEY, chosen)];
    assert.notEqual(one.split(':')[5], two.split(':')[5]);
  });

  test('bytes and any text come back as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...ALGORITHMS), async (bytes, algorithm) => {
        const envelope = await sealZeroKnowledge(bytes, KEY, { algorithm });
        assert.equal(envelopeProblem(envelope), null);
        assert.deepEqual(Buffer.from(await openZeroKnowledgeBytes(envelope, KEY)), Buffer.from(bytes));
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 100 }), async (text) => {
        if (!text.isWellFormed()) return;
        assert.equal(await openZeroKnowledge(await sealZeroKnowledge(text, KEY), KEY), text);
      }),
    );
    await assert.rejects(
      openZeroKnowledge(await sealZeroKnowledge(new Uint8Array([0xff]), KEY), KEY),
      ZeroKnowledgeError,
    );
  });

  test('short secrets, halves of characters and unknown algorithms are refused', async () => {
    const range = { name: 'RangeError' };
    for (const length of [0, 16, 31, 33, 64])
      await assert.rejects(sealZeroKnowledge('x', { key: new Uint8Array(length) }), range);
    for (const passphrase of ['', 'short', 'eleven char', '🔑'.repeat(11)]) {
      await assert.rejects(sealZeroKnowledge('x', { passphrase }), range);
    }
    await assert.rejects(sealZeroKnowledge('\ud800', KEY), { name: 'TypeError' });
    await assert.rejects(sealZeroKnowledge('x', { passphrase: `${'a'.repeat(12)}\udc00` }), { name: 'TypeError' });
    for (const algorithm of ['aes-128-gcm', 'constructor', ''] as unknown as 'aes-256-gcm'[]) {
      await assert.rejects(sealZeroKnowledge('x', KEY, { algorithm }), { name: 'TypeError' });
    }
  });

  test('the largest value that fits is taken by the service, one byte more is refused here', async () => {
    const overhead = (await sealZeroKnowledge('', KEY)).length;
    const most = Math.floor(((1_048_576 - overhead) * 3) / 4);
    const envelope = await sealZeroKnowledge(new Uint8Array(most), KEY);
    assert.ok(envelope.length <= 1_048_576);
    assert.equal(envelopeProblem(envelope), null);
    assert.equal((await openZeroKnowledgeBytes(envelope, KEY)).length, most);
    await assert.rejects(sealZeroKnowledge(new Uint8Array(most + 2), KEY), { name: 'RangeError' });
  });

  test('a passphrase is the same however it is typed, and another one does not open', async () => {
    const envelope = await sealZeroKnowledge('x', { passphrase: 'Zoe\u0308 and the others' });
    assert.equal(await openZeroKnowledge(envelope, { passphrase: 'Zoë and the others' }), 'x');
    await assert.rejects(openZeroKnowledge(envelope, { passphrase: 'Zoe and the others' }), ZeroKnowledgeError);
    await assert.rejects(openZeroKnowledge(envelope, KEY), ZeroKnowledgeError);
  });

  test('wrong secrets of any kind are one error', async () => {
    const envelope = await sealZeroKnowledge('x', KEY);
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
      await assert.rejects(openZeroKnowledge(envelope, secret as typeof KEY), ZeroKnowledgeError);
    }
    for (const text of [null, undefined, 1, {}]) {
      await assert.rejects(openZeroKnowledge(text as unknown as string, KEY), ZeroKnowledgeError);
    }
  });

  test('no change to an envelope leaves it open', async () => {
    const envelope = await sealZeroKnowledge('some value', KEY, { algorithm: 'xchacha20-poly1305' });
    const alphabet = 'AZaz09-_:=';
    const change = fc.tuple(fc.nat(envelope.length), fc.constantFrom(...alphabet, ''), fc.nat(2));
    await fc.assert(
      fc.asyncProperty(change, async ([at, text, cut]) => {
        const changed = envelope.slice(0, at) + text + envelope.slice(at + cut);
        if (changed !== envelope) await assert.rejects(openZeroKnowledge(changed, KEY), ZeroKnowledgeError);
      }),
      { numRuns: 500 },
    );
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

test('argon2id without Node makes the same key', async () => {
  const vector = vectors.opens.find(({ kdf }) => kdf === 'argon2id') as Vector;
  const key = await argon2idPortable(new TextEncoder().encode(vector.passphrase), fromHex(vector.salt));
  assert.equal(Buffer.from(key).toString('hex'), vector.derived_key);
});
