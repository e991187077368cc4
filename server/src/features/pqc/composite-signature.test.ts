import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants, createPublicKey, hash, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { ml_dsa65 } from '@noble/post-quantum/ml-dsa.js';
import fc from 'fast-check';
import { vectors } from '../../../../test/support/vectors.ts';
import {
  type CompositePrivateKey,
  type CompositePublicKey,
  compositePublicBytes,
  generateComposite,
  parseComposite,
  parseCompositePublic,
  SIGNATURE_BYTES,
  SIGNATURE_PUBLIC_KEY_BYTES,
  signDigest,
  verifyDigest,
  writeComposite,
} from './composite-signature.ts';

interface SignatureVectors {
  m: string;
  ctx: string;
  tests: { tcId: string; pk: string; sk: string; s: string; sWithContext: string }[];
}

const bytes = (text: string) => Buffer.from(text, 'base64');
const digestOf = (message: Uint8Array) => hash('sha512', message, 'buffer');
const ML_DSA_SIGNATURE = 3309;
const ML_DSA_PUBLIC = 1952;
const LABEL = Buffer.from('COMPSIG-MLDSA65-RSA3072-PSS-SHA512');
const BOTH = { mlDsa: true, rsaPss: true };
const NEITHER = { mlDsa: false, rsaPss: false };
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };

/** Reimplemented from the draft, independently of the code under test. */
const representative = (digest: Buffer, context = Buffer.alloc(0)) =>
  Buffer.concat([
    Buffer.from('CompositeAlgorithmSignatures2025'),
    LABEL,
    Buffer.from([context.length]),
    context,
    digest,
  ]);

describe('the composite signature', () => {
  const digest = digestOf(Buffer.from('a message'));
  let key: CompositePrivateKey;
  let publicKey: CompositePublicKey;
  let signature: Buffer;

  before(async () => {
    key = await generateComposite();
    publicKey = parseCompositePublic(compositePublicBytes(key)) ?? assert.fail('no public key');
    signature = await signDigest(key, digest);
  });

  for (const { by, bytes: file } of vectors('composite-signature.json')) {
    test(`agrees with vectors ${by}`, async () => {
      const all = JSON.parse(file.toString('utf8')) as SignatureVectors;
      const [given = assert.fail('no vector')] = all.tests;
      const message = digestOf(bytes(all.m));
      const theirs = parseCompositePublic(bytes(given.pk)) ?? assert.fail('no public key');
      assert.deepEqual(await verifyDigest(theirs, message, bytes(given.s)), BOTH);
      assert.deepEqual(await verifyDigest(theirs, message, bytes(given.sWithContext), bytes(all.ctx)), BOTH);
      assert.deepEqual(await verifyDigest(theirs, message, bytes(given.sWithContext)), NEITHER);
      const own = parseComposite(bytes(given.sk));
      assert.deepEqual(compositePublicBytes(own), bytes(given.pk));
      assert.deepEqual(writeComposite(own), bytes(given.sk));
      assert.deepEqual(await verifyDigest(theirs, message, await signDigest(own, message)), BOTH);
    });
  }

  test('another implementation verifies the ML-DSA half, and this one verifies a half of that implementation', async () => {
    const context = Buffer.from('some context');
    const ours = await signDigest(key, digest, context);
    const options = { context: LABEL };
    const pair = ml_dsa65.keygen(key.mlDsa.export({ format: 'raw-seed' }));
    assert.deepEqual(Buffer.from(pair.publicKey), compositePublicBytes(key).subarray(0, ML_DSA_PUBLIC));
    const message = representative(digest, context);
    assert.equal(ml_dsa65.verify(ours.subarray(0, ML_DSA_SIGNATURE), message, pair.publicKey, options), true);
    const theirs = Buffer.concat([
      ml_dsa65.sign(message, pair.secretKey, options),
      sign('sha256', message, { key: key.rsa, ...PSS }),
    ]);
    assert.deepEqual(await verifyDigest(publicKey, digest, theirs, context), BOTH);
  });

  test('openssl verifies the RSA-PSS half, and this code verifies a half of openssl', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-signature-'));
    const options = ['rsa_padding_mode:pss', 'rsa_pss_saltlen:32'].flatMap((option) => ['-sigopt', option]);
    const openssl = (...more: string[]) =>
      execFileSync('openssl', ['dgst', '-sha256', ...options, ...more], { cwd: folder, encoding: 'utf8' });
    try {
      writeFileSync(join(folder, 'private.pem'), key.rsa.export({ format: 'pem', type: 'pkcs8' }));
      writeFileSync(join(folder, 'public.pem'), createPublicKey(key.rsa).export({ format: 'pem', type: 'spki' }));
      writeFileSync(join(folder, 'message'), representative(digest));
      writeFileSync(join(folder, 'signature'), signature.subarray(ML_DSA_SIGNATURE));
      assert.match(openssl('-verify', 'public.pem', '-signature', 'signature', 'message'), /Verified OK/);
      const arguments_ = ['dgst', '-sha256', ...options, '-sign', 'private.pem', 'message'];
      const theirs = execFileSync('openssl', arguments_, { cwd: folder });
      const joined = Buffer.concat([signature.subarray(0, ML_DSA_SIGNATURE), theirs]);
      assert.deepEqual(await verifyDigest(publicKey, digest, joined), BOTH);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a changed half fails alone, and says which it is', async () => {
    const changes = fc.tuple(fc.nat(SIGNATURE_BYTES - 1), fc.nat(7));
    await fc.assert(
      fc.asyncProperty(changes, async ([at, bit]) => {
        const changed = Buffer.from(signature);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        const isFirst = at < ML_DSA_SIGNATURE;
        assert.deepEqual(await verifyDigest(publicKey, digest, changed), { mlDsa: !isFirst, rsaPss: isFirst });
      }),
      { numRuns: 60 },
    );
  });

  test('a signature that is cut, extended, swapped or empty is valid in neither half', async () => {
    const swapped = Buffer.concat([signature.subarray(ML_DSA_SIGNATURE), signature.subarray(0, ML_DSA_SIGNATURE)]);
    const longer = Buffer.concat([signature, Buffer.alloc(1)]);
    for (const wrong of [swapped, longer, signature.subarray(1), signature.subarray(0, -1), Buffer.alloc(0)]) {
      assert.deepEqual(await verifyDigest(publicKey, digest, wrong), NEITHER);
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5000 }), async (noise) => {
        assert.deepEqual(await verifyDigest(publicKey, digest, Buffer.from(noise)), NEITHER);
      }),
      { numRuns: 30 },
    );
  });

  test('is valid for this message, this context and this key alone', async () => {
    const another = digestOf(Buffer.from('another message'));
    assert.deepEqual(await verifyDigest(publicKey, another, signature), NEITHER);
    assert.deepEqual(await verifyDigest(publicKey, digest, signature, Buffer.from('x')), NEITHER);
    const other = await generateComposite();
    const otherPublic = parseCompositePublic(compositePublicBytes(other)) ?? assert.fail('no public key');
    assert.deepEqual(await verifyDigest(otherPublic, digest, signature), NEITHER);
    const mixed = { mlDsa: publicKey.mlDsa, rsa: otherPublic.rsa };
    assert.deepEqual(await verifyDigest(mixed, digest, signature), { mlDsa: true, rsaPss: false });
  });

  test('a half of it is no signature by itself', async () => {
    // ML-DSA signs with the label as its context, and RSA signs a text that begins with the draft's prefix, so neither half signs the message itself.
    const plain = Buffer.concat([sign(null, digest, key.mlDsa), sign('sha256', digest, { key: key.rsa, ...PSS })]);
    assert.deepEqual(await verifyDigest(publicKey, digest, plain), NEITHER);
  });

  test('a public key has one spelling', () => {
    const right = compositePublicBytes(key);
    assert.equal(right.length, SIGNATURE_PUBLIC_KEY_BYTES);
    assert.equal(parseCompositePublic(right.subarray(1)), null);
    assert.equal(parseCompositePublic(Buffer.concat([right, Buffer.alloc(1)])), null);
    assert.equal(
      parseCompositePublic(Buffer.concat([right.subarray(ML_DSA_PUBLIC), right.subarray(0, ML_DSA_PUBLIC)])),
      null,
    );
    assert.equal(parseCompositePublic(Buffer.from(right).fill(0, ML_DSA_PUBLIC)), null);
  });
});
