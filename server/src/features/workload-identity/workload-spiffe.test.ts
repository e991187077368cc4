import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import {
  assembled,
  type IssuerKey,
  newIssuerKey,
  publicPem,
  signed,
} from '../../../../test/support/external-issuer.ts';
import { TEST_CA } from '../../../../test/support/test-keys.ts';
import { AUDIENCE, refusedFor, Verifying } from '../../../../test/support/verifying.ts';
import type { SpiffeConfig } from './contract.ts';
import { spiffe } from './methods/spiffe.ts';

/** JWT-SVIDs, by trust bundles made here. */

const [first, second, rsa] = [
  await newIssuerKey('1'),
  await newIssuerKey('2', 'ES384'),
  await newIssuerKey('3', 'PS256'),
];
const config: SpiffeConfig = {
  trust_domain: 'prod.example',
  trust_bundle_pem: [TEST_CA, ...[first, second, rsa].map(publicPem)].join('\n'),
  expected_audience: AUDIENCE,
  allowed_spiffe_ids: ['spiffe://prod\\.example/ns/[a-z]+/sa/checkout'],
};
const ID = 'spiffe://prod.example/ns/shop/sa/checkout';
const verifying = new Verifying([]);
const seconds = () => Math.floor(verifying.now / 1000);
const claims = (change: Record<string, unknown> = {}) =>
  JSON.parse(JSON.stringify({ sub: ID, aud: [AUDIENCE], exp: seconds() + 300, ...change }));
const verify = (jwt_svid: string, change: Partial<SpiffeConfig> = {}) =>
  verifying.verify(spiffe, { jwt_svid }, { ...config, ...change });

describe('a JWT-SVID', () => {
  test('is accepted by any key of the bundle, with or without a key id', async () => {
    for (const key of [first, second, rsa]) {
      assert.deepEqual(await verify(await signed(key, claims())), { subject: ID, details: {} });
      await verify(await signed(key, claims(), { kid: undefined, typ: 'JOSE' }));
      await verify(await signed(key, claims({ aud: AUDIENCE }), { kid: 'unknown', typ: undefined }));
    }
  });

  test('must be of the trust domain and a SPIFFE ID', async () => {
    const cases: [unknown, RegExp][] = [
      ['spiffe://prod.example', /not of the trust domain/],
      ['spiffe://prod.example.evil/ns/shop/sa/checkout', /not of the trust domain/],
      ['spiffe://other.example/ns/shop/sa/checkout', /not of the trust domain/],
      ['SPIFFE://prod.example/ns/shop/sa/checkout', /not of the trust domain/],
      ['spiffe://user@prod.example/ns/shop/sa/checkout', /not of the trust domain/],
      ['https://prod.example/ns/shop/sa/checkout', /not of the trust domain/],
      ['spiffe://prod.example/', /not a SPIFFE ID/],
      ['spiffe://prod.example//ns/shop', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/../shop', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/./shop', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/shop/', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/sh%6Fp/sa/checkout', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/shop/sa/checkout?x', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/shop/sa/checkout#x', /not a SPIFFE ID/],
      ['spiffe://prod.example/ns/.../sa/checkout', /not allowed/],
      ['spiffe://prod.example/ns/shop/sa/checkout2', /not allowed/],
      ['spiffe://prod.example/x/ns/shop/sa/checkout', /not allowed/],
      ['', /subject is malformed/],
      [undefined, /no subject/],
    ];
    for (const [sub, reason] of cases) await refusedFor(verify(await signed(first, claims({ sub }))), reason);
    await refusedFor(verify(await signed(first, claims()), { allowed_spiffe_ids: [] }), /not allowed/);
    await refusedFor(verify(await signed(first, claims()), { allowed_spiffe_ids: ['a|spiffe:'] }), /not allowed/);
  });

  test('must be for us and have an end', async () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ aud: 'https://other.example' }, /another audience/],
      [{ aud: [AUDIENCE, 'https://other.example'] }, /several audiences/],
      [{ aud: undefined }, /another audience/],
      [{ exp: undefined }, /no valid expiry time/],
      [{ exp: seconds() - 1 }, /expired/],
      [{ nbf: seconds() + 600 }, /not valid yet/],
      [{ iat: seconds() + 600 }, /in the future/],
    ];
    for (const [change, reason] of cases) await refusedFor(verify(await signed(first, claims(change))), reason);
  });

  test('must be signed by the bundle, by an algorithm of the standard', async () => {
    const own = await newIssuerKey('1');
    await refusedFor(verify(await signed(own, claims())), /signature is wrong/);
    const ed = await newIssuerKey('1', 'EdDSA');
    const bundle = { trust_bundle_pem: publicPem(ed) };
    await refusedFor(verify(await signed(ed, claims()), bundle), /algorithm is not accepted/);
    await refusedFor(verify(assembled({ alg: 'none' }, claims(), 'x')), /algorithm is not accepted/);
    await refusedFor(verify(assembled({ alg: 'HS256' }, claims(), 'x')), /algorithm is not accepted/);
    await refusedFor(verify(assembled({ alg: 'ES256', jwk: own.jwk }, claims(), 'x')), /header has jwk/);
  });
});

describe('a trust bundle', () => {
  test('counts a certificate only while it is valid', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=Trust domain',
      keys,
      signingAlgorithm: algorithm,
      notBefore: new Date(verifying.now - 60_000),
      notAfter: new Date(verifying.now + 60_000),
    });
    const signer: IssuerKey = { kid: '1', alg: 'ES256', privateKey: keys.privateKey, jwk: {} };
    const bundle = { trust_bundle_pem: certificate.toString('pem') };
    spiffe.refuseBadConfig({ ...config, ...bundle });
    const present = verifying.now;
    const at = async (now: number) => {
      verifying.now = now;
      return verify(await signed(signer, claims({ exp: Math.floor(now / 1000) + 60 })), bundle);
    };
    await at(present);
    await refusedFor(at(present + 61_000), /signature is wrong/);
    await refusedFor(at(present - 61_000), /signature is wrong/);
    verifying.now = present;
  });

  test('that is none, or weak, is refused, as are bad patterns', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' });
    const secret = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const cases: [Partial<SpiffeConfig>, RegExp][] = [
      [{ trust_bundle_pem: '' }, /config\/trust_bundle_pem/],
      [{ trust_bundle_pem: 'none' }, /config\/trust_bundle_pem/],
      [{ trust_bundle_pem: `${config.trust_bundle_pem}trailing` }, /config\/trust_bundle_pem/],
      [{ trust_bundle_pem: String(secret) }, /config\/trust_bundle_pem/],
      [{ trust_bundle_pem: String(weak) }, /too weak/],
      [{ trust_bundle_pem: publicPem(first).repeat(40) }, /config\/trust_bundle_pem/],
      [{ allowed_spiffe_ids: ['['] }, /config\/allowed_spiffe_ids\/0/],
    ];
    for (const [change, reason] of cases) assert.throws(() => spiffe.refuseBadConfig({ ...config, ...change }), reason);
    spiffe.refuseBadConfig(config);
  });
});
