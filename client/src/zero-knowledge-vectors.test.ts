import assert from 'node:assert/strict';
import { argon2Sync, createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { gcm } from '@noble/ciphers/aes.js';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { envelopeProblem } from '../../server/src/kernel/crypto/zero-knowledge-envelope.ts';
import { openUnboundZeroKnowledge, openZeroKnowledge, ZeroKnowledgeError } from './zero-knowledge-index.ts';
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
interface Location {
  vault: string;
  path: string;
  version: number | null;
}
interface Refused extends Location {
  name: string;
  failure: 'authentication' | 'location';
  envelope: string;
}
interface Vectors {
  opens: Vector[];
  refused: { key: string; envelopes: Record<string, string> };
  bound: { opens: (Vector & Location)[]; refused: { key: string; envelopes: Refused[] } };
}
const file = new URL('../../docs/zero-knowledge-vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors;
const fromHex = (hex = '') => new Uint8Array(Buffer.from(hex, 'hex'));
const secretOf = ({ passphrase, key }: Vector) => (passphrase === undefined ? { key: fromHex(key) } : { passphrase });
const locationOf = ({ vault, path, version }: Location) => ({ vault, path, ...(version !== null && { version }) });

/** Derives the key with other implementations: node:crypto for HKDF and argon2id, noble for HKDF. */
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

function openedElsewhere(envelope: string, key: Uint8Array, aad: Uint8Array): Buffer {
  const parts = envelope.split(':');
  const [iv, ct, tag] = parts.slice(5).map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer, Buffer];
  if (parts[2] !== 'aes-256-gcm') return Buffer.from(xchacha20poly1305(key, iv, aad).decrypt(Buffer.concat([ct, tag])));
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: 16 }).setAAD(aad).setAuthTag(tag);
  const plain = Buffer.concat([decipher.update(ct), decipher.final()]);
  assert.ok(plain.equals(gcm(key, iv, aad).decrypt(Buffer.concat([ct, tag]))), 'noble agrees');
  return plain;
}

/** The envelope a second implementation makes from the vector's parts. */
function sealedElsewhere({ algorithm, derived_key, iv, plaintext, envelope }: Vector, aad: Uint8Array): string {
  const [key, nonce, data] = [fromHex(derived_key), fromHex(iv), Buffer.from(plaintext, 'utf8')];
  const parts = () => {
    if (algorithm === 'xchacha20-poly1305') {
      const sealed = Buffer.from(xchacha20poly1305(key, nonce, aad).encrypt(data));
      return [nonce, sealed.subarray(0, -16), sealed.subarray(-16)];
    }
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(aad);
    return [nonce, Buffer.concat([cipher.update(data), cipher.final()]), cipher.getAuthTag()];
  };
  return [headerOf(envelope), ...parts().map((part) => Buffer.from(part).toString('base64url'))].join(':');
}

const headerOf = (envelope: string) => envelope.split(':').slice(0, 5).join(':');

/** Rebuilds the authenticated data from the description in the file. */
function dataElsewhere(envelope: string, { vault, path, version }: Location): Buffer {
  const fields = ['coffer zero-knowledge location v1', headerOf(envelope), vault, path, version?.toString() ?? ''];
  return Buffer.concat(
    fields.flatMap((field) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(field));
      return [length, Buffer.from(field)];
    }),
  );
}

function checkElsewhere(vector: Vector, aad: Uint8Array): void {
  assert.equal(envelopeProblem(vector.envelope), null, 'the service takes it');
  const secret = vector.passphrase === undefined ? fromHex(vector.key) : Buffer.from(vector.passphrase, 'utf8');
  const { node, noble } = derivedElsewhere(vector.envelope, secret);
  assert.equal(Buffer.from(node).toString('hex'), vector.derived_key);
  if (noble !== null) assert.deepEqual(Buffer.from(noble), Buffer.from(node));
  assert.equal(openedElsewhere(vector.envelope, node, aad).toString('utf8'), vector.plaintext);
  assert.equal(sealedElsewhere(vector, aad), vector.envelope);
}

describe('published vectors of bound envelopes', () => {
  const { opens, refused } = vectors.bound;
  for (const vector of opens) {
    test(vector.name, async () => {
      assert.equal(await openZeroKnowledge(vector.envelope, secretOf(vector), locationOf(vector)), vector.plaintext);
      const aad = dataElsewhere(vector.envelope, vector);
      assert.equal(aad.toString('hex'), vector.aad);
      checkElsewhere(vector, aad);
    });
  }

  for (const { name, failure, envelope, ...location } of refused.envelopes) {
    test(`refused: ${name}`, async () => {
      const opened = openZeroKnowledge(envelope, { key: fromHex(refused.key) }, locationOf(location));
      await assert.rejects(opened, failure === 'location' ? TypeError : ZeroKnowledgeError);
    });
  }

  test('cover every pair of algorithm and derivation, with and without a version', () => {
    const kinds = opens.map(({ algorithm, kdf, version }) => `${algorithm} ${kdf} ${version === null}`);
    assert.equal(new Set(kinds).size, 8);
  });
});

describe('published vectors of unbound envelopes', () => {
  for (const vector of vectors.opens) {
    test(vector.name, async () => {
      const opened = await openUnboundZeroKnowledge(vector.envelope, secretOf(vector));
      assert.equal(Buffer.from(opened).toString('utf8'), vector.plaintext);
      assert.equal(vector.aad, headerOf(vector.envelope));
      checkElsewhere(vector, Buffer.from(vector.aad));
    });
  }

  test('cover every pair of algorithm and derivation', () => {
    assert.equal(new Set(vectors.opens.map(({ algorithm, kdf }) => `${algorithm} ${kdf}`)).size, 4);
  });

  test('none opens where a location is requested', async () => {
    const vector = vectors.opens.find(({ kdf }) => kdf === 'hkdf-sha256') as Vector;
    for (const location of [
      { vault: 'sealed', path: 'db/main' },
      { vault: 'sealed', path: 'db/main', version: 1 },
    ]) {
      await assert.rejects(openZeroKnowledge(vector.envelope, secretOf(vector), location), ZeroKnowledgeError);
    }
  });

  test('what must not open does not, bound or unbound, and says nothing else than that', async () => {
    const messages = new Set<string>();
    const secret = { key: fromHex(vectors.refused.key) };
    for (const [name, envelope] of Object.entries(vectors.refused.envelopes)) {
      const attempts = [
        () => openUnboundZeroKnowledge(envelope, secret),
        () => openZeroKnowledge(envelope, secret, { vault: 'sealed', path: 'db/main' }),
      ];
      for (const attempt of attempts) {
        await assert.rejects(attempt, (error: Error) => {
          assert.ok(error instanceof ZeroKnowledgeError, name);
          messages.add(error.message);
          return true;
        });
      }
    }
    assert.equal(messages.size, 1);
  });
});

test('argon2id without Node makes the same key', async () => {
  const vector = vectors.opens.find(({ kdf }) => kdf === 'argon2id') as Vector;
  const key = await argon2idPortable(new TextEncoder().encode(vector.passphrase), fromHex(vector.salt));
  assert.equal(Buffer.from(key).toString('hex'), vector.derived_key);
});
