import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createECDH, createHash, createPrivateKey, createPublicKey, privateDecrypt, publicEncrypt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import fc from 'fast-check';
import { vectors } from '../../../../test/support/vectors.ts';
import { KEM_ALGORITHMS } from './contract.ts';
import { HYBRID_KEMS, type HybridPrivateKey, type KemAlgorithm } from './hybrid-kem.ts';
import { unwrapKey, wrapKey, wrappedBytes } from './key-wrap.ts';

interface KemVectors {
  tests: { tcId: string; ek: string; dk: string; c: string; k: string }[];
}

const bytes = (text: string) => Buffer.from(text, 'base64');
const VECTOR_OF: Record<KemAlgorithm, string> = {
  'ecdh-p256+ml-kem-768': 'id-MLKEM768-ECDH-P256-SHA3-256',
  'rsa-oaep-2048+ml-kem-768': 'id-MLKEM768-RSA2048-SHA3-256',
};
const LABEL_OF: Record<KemAlgorithm, string> = {
  'ecdh-p256+ml-kem-768': 'MLKEM768-P256',
  'rsa-oaep-2048+ml-kem-768': 'MLKEM768-RSAOAEP2048',
};
const ML_KEM_PUBLIC = 1184;
const ML_KEM_CIPHERTEXT = 1088;
const OAEP = { oaepHash: 'sha256' };

/** The reference implementation: ML-KEM by @noble/post-quantum, the rest written again from the draft. */
const combined = (algorithm: KemAlgorithm, ...parts: Uint8Array[]) =>
  createHash('sha3-256').update(Buffer.concat(parts)).update(LABEL_OF[algorithm]).digest();

function otherEncapsulates(algorithm: KemAlgorithm, publicKey: Buffer) {
  const mlKem = ml_kem768.encapsulate(publicKey.subarray(0, ML_KEM_PUBLIC));
  const classicalKey = publicKey.subarray(ML_KEM_PUBLIC);
  let secret: Buffer;
  let ciphertext: Buffer;
  if (algorithm === 'ecdh-p256+ml-kem-768') {
    const ephemeral = createECDH('prime256v1');
    ciphertext = ephemeral.generateKeys();
    secret = ephemeral.computeSecret(classicalKey);
  } else {
    secret = createHash('sha256').update(mlKem.cipherText).digest();
    const key = createPublicKey({ key: classicalKey, format: 'der', type: 'pkcs1' });
    ciphertext = publicEncrypt({ key, ...OAEP }, secret);
  }
  return {
    secret: combined(algorithm, mlKem.sharedSecret, secret, ciphertext, classicalKey),
    ciphertext: Buffer.concat([mlKem.cipherText, ciphertext]),
  };
}

function otherDecapsulates(algorithm: KemAlgorithm, key: HybridPrivateKey, publicKey: Buffer, ciphertext: Buffer) {
  const { secretKey } = ml_kem768.keygen(key.mlKem.export({ format: 'raw-seed' }));
  const mlKemSecret = ml_kem768.decapsulate(ciphertext.subarray(0, ML_KEM_CIPHERTEXT), secretKey);
  const classical = ciphertext.subarray(ML_KEM_CIPHERTEXT);
  let secret: Buffer;
  if (algorithm === 'ecdh-p256+ml-kem-768') {
    const own = createECDH('prime256v1');
    own.setPrivateKey(Buffer.from(key.classical.export({ format: 'jwk' }).d ?? '', 'base64url'));
    secret = own.computeSecret(classical);
  } else {
    secret = privateDecrypt({ key: key.classical, ...OAEP }, classical);
  }
  return combined(algorithm, mlKemSecret, secret, classical, publicKey.subarray(ML_KEM_PUBLIC));
}

for (const algorithm of KEM_ALGORITHMS) {
  describe(algorithm, () => {
    const kem = HYBRID_KEMS[algorithm];
    const binding = { algorithm, keyId: 'some-key' };
    const secretKey = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
    let key: HybridPrivateKey;
    let publicKey: Buffer;
    let wrapped: Buffer;

    before(async () => {
      key = await kem.generate();
      publicKey = kem.publicKeyOf(key);
      wrapped = wrapKey(kem, publicKey, secretKey, binding) ?? assert.fail('no public key');
    });

    for (const { by, bytes: file } of vectors('composite-kem.json')) {
      test(`agrees with vectors ${by}`, () => {
        const all = JSON.parse(file.toString('utf8')) as KemVectors;
        const given = all.tests.find(({ tcId }) => tcId === VECTOR_OF[algorithm]) ?? assert.fail('no such vector');
        const own = kem.parsePrivate(bytes(given.dk));
        assert.deepEqual(kem.publicKeyOf(own), bytes(given.ek));
        assert.deepEqual(kem.decapsulate(own, bytes(given.c)), bytes(given.k));
        assert.deepEqual(otherDecapsulates(algorithm, own, bytes(given.ek), bytes(given.c)), bytes(given.k));
        const made = kem.encapsulate(bytes(given.ek)) ?? assert.fail('no public key');
        assert.deepEqual(kem.decapsulate(own, made.ciphertext), made.secret);
      });
    }

    test('what it encapsulates, another implementation opens, and the other way round', () => {
      const ours = kem.encapsulate(publicKey) ?? assert.fail('no public key');
      assert.deepEqual(otherDecapsulates(algorithm, key, publicKey, ours.ciphertext), ours.secret);
      const theirs = otherEncapsulates(algorithm, publicKey);
      assert.deepEqual(kem.decapsulate(key, theirs.ciphertext), theirs.secret);
    });

    test('a private key that was written down is the same key', () => {
      const again = kem.parsePrivate(kem.writePrivate(key));
      assert.deepEqual(kem.publicKeyOf(again), publicKey);
      assert.deepEqual(unwrapKey(kem, again, wrapped, binding), secretKey);
    });

    test('the same key wrapped twice looks different, and both open', () => {
      const second = wrapKey(kem, publicKey, secretKey, binding) ?? assert.fail('no public key');
      assert.notDeepEqual(second, wrapped);
      assert.deepEqual(unwrapKey(kem, key, second, binding), secretKey);
    });

    test('opens under its own algorithm, key id and key alone', async () => {
      const other = await kem.generate();
      assert.equal(unwrapKey(kem, other, wrapped, binding), null);
      assert.equal(unwrapKey(kem, key, wrapped, { ...binding, keyId: 'another' }), null);
      assert.equal(unwrapKey(kem, key, wrapped, { ...binding, algorithm: 'another' }), null);
      const mixed = { mlKem: key.mlKem, classical: other.classical };
      assert.equal(unwrapKey(kem, mixed, wrapped, binding), null);
      assert.equal(unwrapKey(kem, { mlKem: other.mlKem, classical: key.classical }, wrapped, binding), null);
    });

    test('no bit of it can be changed, and nothing cut off or added', () => {
      fc.assert(
        fc.property(fc.nat(wrappedBytes(kem) - 1), fc.nat(7), (at, bit) => {
          const changed = Buffer.from(wrapped);
          changed[at] = (changed[at] ?? 0) ^ (1 << bit);
          assert.equal(unwrapKey(kem, key, changed, binding), null);
        }),
        { numRuns: 150 },
      );
      for (const length of [0, 1, ML_KEM_CIPHERTEXT, kem.ciphertextBytes, wrapped.length - 1]) {
        assert.equal(unwrapKey(kem, key, wrapped.subarray(0, length), binding), null);
      }
      assert.equal(unwrapKey(kem, key, Buffer.concat([wrapped, Buffer.alloc(1)]), binding), null);
      assert.equal(unwrapKey(kem, key, Buffer.concat([Buffer.alloc(1), wrapped]), binding), null);
    });

    test('parts of two of them, or in another order, do not open', () => {
      const second = wrapKey(kem, publicKey, secretKey, binding) ?? assert.fail('no public key');
      const cuts = [ML_KEM_CIPHERTEXT, kem.ciphertextBytes, kem.ciphertextBytes + 12];
      for (const cut of cuts) {
        const mixed = Buffer.concat([wrapped.subarray(0, cut), second.subarray(cut)]);
        assert.equal(unwrapKey(kem, key, mixed, binding), null, `cut at ${cut}`);
        const turned = Buffer.concat([wrapped.subarray(cut), wrapped.subarray(0, cut)]);
        assert.equal(unwrapKey(kem, key, turned, binding), null, `turned at ${cut}`);
      }
    });

    test('noise of the right length does not open, and no noise is a failure', () => {
      const noise = fc.uint8Array({ minLength: wrappedBytes(kem), maxLength: wrappedBytes(kem) });
      const any = fc.uint8Array({ maxLength: 3000 });
      fc.assert(
        fc.property(fc.oneof(noise, any), (sent) => {
          assert.equal(unwrapKey(kem, key, Buffer.from(sent), binding), null);
        }),
        { numRuns: 60 },
      );
    });

    test('what is no public key gets nothing wrapped', () => {
      const of = (change: (copy: Buffer) => Buffer) => kem.encapsulate(change(Buffer.from(publicKey)));
      assert.equal(
        of((copy) => copy.subarray(1)),
        null,
      );
      assert.equal(
        of((copy) => Buffer.concat([copy, Buffer.alloc(1)])),
        null,
      );
      assert.equal(
        of((copy) => copy.fill(0xff, 0, ML_KEM_PUBLIC)),
        null,
        'coefficients beyond the modulus',
      );
      assert.equal(
        of((copy) => copy.fill(0, ML_KEM_PUBLIC)),
        null,
        'an empty classical key',
      );
      assert.equal(
        of((copy) => copy.fill(0x02, ML_KEM_PUBLIC, ML_KEM_PUBLIC + 1)),
        null,
        'another form of the classical key',
      );
      fc.assert(
        fc.property(fc.uint8Array({ minLength: publicKey.length, maxLength: publicKey.length }), (sent) => {
          assert.equal(kem.encapsulate(Buffer.from(sent)), null);
        }),
        { numRuns: 30 },
      );
    });
  });
}

describe('rsa-oaep-2048+ml-kem-768 beside openssl', () => {
  test('openssl opens the classical half', async () => {
    const kem = HYBRID_KEMS['rsa-oaep-2048+ml-kem-768'];
    const key = await kem.generate();
    const { ciphertext, secret } = kem.encapsulate(kem.publicKeyOf(key)) ?? assert.fail('no public key');
    const folder = mkdtempSync(join(tmpdir(), 'coffer-kem-'));
    try {
      writeFileSync(join(folder, 'key.pem'), key.classical.export({ format: 'pem', type: 'pkcs8' }));
      writeFileSync(join(folder, 'ct'), ciphertext.subarray(ML_KEM_CIPHERTEXT));
      const options = ['rsa_padding_mode:oaep', 'rsa_oaep_md:sha256'].flatMap((option) => ['-pkeyopt', option]);
      const opened = execFileSync('openssl', ['pkeyutl', '-decrypt', '-inkey', 'key.pem', '-in', 'ct', ...options], {
        cwd: folder,
      });
      const { secretKey } = ml_kem768.keygen(key.mlKem.export({ format: 'raw-seed' }));
      const mlKemSecret = ml_kem768.decapsulate(ciphertext.subarray(0, ML_KEM_CIPHERTEXT), secretKey);
      const classicalPublic = createPublicKey(createPrivateKey(key.classical.export({ format: 'pem', type: 'pkcs8' })));
      const expected = combined(
        'rsa-oaep-2048+ml-kem-768',
        mlKemSecret,
        opened,
        ciphertext.subarray(ML_KEM_CIPHERTEXT),
        classicalPublic.export({ format: 'der', type: 'pkcs1' }),
      );
      assert.deepEqual(secret, expected);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
