import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { calculateJwkThumbprint, exportJWK, SignJWT } from 'jose';
import { newDpopKey, type ProofClaims, proofBy } from '../../../../test/support/machines.ts';
import { InvalidProof, type ProvedRequest, verifyProof } from './dpop.ts';

const NOW = Date.parse('2026-11-14T10:00:00Z');
const ORIGIN = 'https://coffer.example';
const REQUEST: ProvedRequest = {
  method: 'GET',
  url: '/v1/vaults/v/secrets/a%40b?version=2',
  origins: ['http://127.0.0.1:7400', ORIGIN],
  token: null,
  now: NOW,
};
const HTU = `${ORIGIN}/v1/vaults/v/secrets/a%40b`;
const key = await newDpopKey();

async function check(claims: Partial<ProofClaims>, request: Partial<ProvedRequest> = {}, header: object = {}) {
  const proof = await proofBy(key, { htu: HTU, at: NOW, ...claims }, { ...header });
  return verifyProof(proof, { ...REQUEST, ...request });
}

const refused = (made: Promise<unknown>, what: string) => assert.rejects(made, InvalidProof, what);

describe('a DPoP proof', () => {
  test('is accepted for its own request, and tells whose key it is', async () => {
    assert.equal((await check({})).jkt, key.jkt);
    assert.equal((await check({ htu: HTU.replace('https://coffer', 'HTTPS://Coffer') })).jkt, key.jkt);
    assert.equal((await check({ htu: HTU.replace('%40', '%40') })).jkt, key.jkt);
    assert.equal((await check({ token: 'abc' }, { token: 'abc' })).jkt, key.jkt);
  });

  test('may be signed by Ed25519 under its own name and its former one, and by no other key under these', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const jwk = await exportJWK(publicKey);
    const ed25519 = { privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) };
    for (const alg of ['Ed25519', 'EdDSA']) {
      const proof = await proofBy(ed25519, { htu: HTU, at: NOW }, { alg });
      assert.equal((await verifyProof(proof, REQUEST)).jkt, ed25519.jkt);
      const [, ...rest] = proof.split('.');
      const header = { typ: 'dpop+jwt', alg, jwk: key.jwk };
      const swapped = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
      await refused(verifyProof(swapped, REQUEST), `${alg} with an EC key`);
    }
  });

  test('of the same key and id is the same use; of another id or key another', async () => {
    const first = await check({ jti: 'one' });
    assert.equal((await check({ jti: 'one' })).replayKey, first.replayKey);
    assert.notEqual((await check({ jti: 'two' })).replayKey, first.replayKey);
    const other = await newDpopKey();
    const proof = await proofBy(other, { htu: HTU, at: NOW, jti: 'one' });
    assert.notEqual((await verifyProof(proof, REQUEST)).replayKey, first.replayKey);
  });

  test('fits neither another method, nor another URL', async () => {
    await refused(check({ htm: 'POST' }), 'method');
    await refused(check({ htm: 'get' }), 'case of the method');
    for (const htu of [
      HTU.replace('/v1', ''),
      `${HTU}/`,
      `${HTU}?version=2`,
      `${HTU}#x`,
      `${HTU}?`,
      HTU.replace('a%40b', 'other'),
      HTU.replace('secrets/a', 'secrets%2Fa'),
      HTU.replace('https', 'http'),
      HTU.replace('coffer.example', 'evil.example'),
      HTU.replace('coffer.example', 'coffer.example:8443'),
      HTU.replace('https://', 'https://user@'),
      '/v1/vaults/v/secrets/a%40b',
      '',
    ]) {
      await refused(check({ htu }), htu);
    }
  });

  test('is made now', async () => {
    await check({ at: NOW - 299_000 });
    await check({ at: NOW + 299_000 });
    await refused(check({ at: NOW - 302_000 }), 'old');
    await refused(check({ at: NOW + 302_000 }), 'of the future');
  });

  test('is bound to the token that is sent, and to none if none is', async () => {
    await refused(check({}, { token: 'abc' }), 'no ath');
    await refused(check({ token: 'abd' }, { token: 'abc' }), 'another token');
    await refused(check({ token: 'abc' }), 'a token that is not sent');
  });

  test('has an id and a form', async () => {
    await refused(check({ jti: '' }), 'empty id');
    await refused(check({ jti: 'x'.repeat(300) }), 'long id');
    await refused(check({}, {}, { typ: 'jwt' }), 'type');
    await refused(check({}, {}, { jwk: undefined }), 'no key');
    for (const text of ['', 'a.b.c', 'x'.repeat(5000), `${await proofBy(key, { htu: HTU, at: NOW })}, again`]) {
      await refused(verifyProof(text, REQUEST), text.slice(0, 20));
    }
  });

  test('is signed by the key it carries, by an asymmetric algorithm, and carries no private key', async () => {
    const other = await newDpopKey();
    await refused(check({}, {}, { jwk: other.jwk }), 'another key');
    await refused(check({}, {}, { jwk: await exportJWK(key.privateKey) }), 'private');
    const unsigned = [
      { typ: 'dpop+jwt', alg: 'none', jwk: key.jwk },
      { htm: 'GET', htu: HTU, jti: 'x', iat: NOW / 1000 },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    await refused(verifyProof(`${unsigned}.`, REQUEST), 'none');
    const secret = Buffer.alloc(32, 1);
    const symmetric = await new SignJWT({ htm: 'GET', htu: HTU, jti: 'x', iat: NOW / 1000 })
      .setProtectedHeader({
        typ: 'dpop+jwt',
        alg: 'HS256',
        jwk: { kty: 'oct', k: secret.toString('base64url') } as object,
      })
      .sign(secret);
    await refused(verifyProof(symmetric, REQUEST), 'HS256');
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const weak = { ...key, privateKey: short.privateKey, jwk: await exportJWK(short.publicKey) };
    await assert.rejects(
      async () => verifyProof(await proofBy(weak, { htu: HTU, at: NOW }, { alg: 'RS256' }), REQUEST),
      'a short RSA key',
    );
  });
});
