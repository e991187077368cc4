import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { calculateJwkThumbprint, importPKCS8 } from 'jose';
import {
  openUnboundZeroKnowledge,
  openZeroKnowledge,
  resealVault,
  ZeroKnowledgeError,
} from '../../client/src/zero-knowledge-index.ts';
import { SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import type { Expected } from '../fixtures/fill.ts';
import type { Machines } from '../fixtures/fill-machines.ts';
import { expectedOf, startOn, unpack } from '../fixtures/unpack.ts';
import { type IssuerKey, OutsideIssuer, signed } from '../support/external-issuer.ts';
import { exchange, logInWith, OUTSIDE_ENV } from '../support/external-logins.ts';
import { callAs, proofBy } from '../support/machines.ts';
import { ok, refused } from '../support/people.ts';
import { startProcess } from '../support/process.ts';
import type { Answer, Service } from '../support/service.ts';
import { readValue, secretUrl } from '../support/vaults.ts';

/** What machines were given by 0.4.0, and what it sealed and signed, is good with this code. */

/** By a proxy, not over TLS: only the service's clock decides whether a certificate is good. */
const ENV = {
  ...OUTSIDE_ENV,
  // Earlier releases let a method or federation expect any audience.
  CV_AUDIENCES: 'coffer,https://coffer.release.example',
  CV_CLIENT_CERT_HEADER: 'x-client-cert',
};
const TOOL = '/v1/vaults/lab/secrets/tool';

async function issuerKey(pem: string): Promise<IssuerKey> {
  const jwk = createPublicKey(pem).export({ format: 'jwk' });
  const [kid, alg] = ['of the release', 'ES256'];
  return { kid, alg, privateKey: await importPKCS8(pem, alg), jwk: { ...jwk, kid, alg, use: 'sig' } };
}

for (const left of ['sqlite', 'postgres'] as const) {
  describe(`machines of 0.4.0, ${left}`, () => {
    const expected: Expected = expectedOf('0.4.0', left);
    const machines = expected.machines as Machines;
    let service: Service;
    const seconds = () => Math.floor(service.clock.now() / SECOND_MS);
    const readsTool = async (reading: Promise<Answer>) => assert.equal((await ok(reading)).value, 'a test tool');

    before(async () => {
      service = await startOn(await unpack('0.4.0', left), expected, ENV);
    });
    after(() => service.close());

    test('read with their client secret, and for a day with the one before it', async () => {
      const { before: old, now } = machines.rotated;
      await readsTool(callAs(service, now, 'GET', TOOL));
      await readsTool(callAs(service, old, 'GET', TOOL));
      const wrong = { ...now, client_secret: machines.bound.client_secret };
      await refused(callAs(service, wrong, 'GET', TOOL), 401, 'INVALID_TOKEN');
    });

    test('read with their certificate', async () => {
      const { client_id, certificate } = machines.shown;
      const path = `/app-connections/fetch/${client_id}/lab/tool`;
      const headers = { 'x-client-cert': encodeURIComponent(certificate) };
      await readsTool(service.call('GET', path, { token: null, headers }));
      assert.equal((await service.call('GET', path, { token: null })).status, 401);
    });

    test('get their next certificate from an authority that every client understands, beside the one before', async () => {
      const { tenant } = await ok(service.call('GET', '/auth/me'));
      const { client_id } = machines.shown;
      const body = { certificate: true, overlap_seconds: 3600 };
      await ok(service.call('POST', `/v1/app-connections/${client_id}/rotate`, { body }));
      const { text } = await service.call('GET', `/pki/${tenant.id}/ca.pem`, { token: null });
      const authorities = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? [];
      const said = authorities.map((pem) => new X509Certificate(pem).raw.toString('latin1'));
      assert.deepEqual(
        // Only former authorities constrain URIs, which many programs cannot check.
        said.map((der) =>
          der.includes(`\x86\x21${tenant.id}`) ? 'old' : der.includes(`Coffer CA ${tenant.id}`) ? 'new' : 'root',
        ),
        ['new', 'old', 'root'],
      );
    });

    test('read with a proof by their key', async () => {
      const { private_key, ...client } = machines.bound;
      const jwk = createPublicKey(private_key).export({ format: 'jwk' }) as Record<string, string>;
      const key = { privateKey: createPrivateKey(private_key), jwk, jkt: await calculateJwkThumbprint(jwk) };
      const proof = await proofBy(key, { htu: `${service.url}${TOOL}`, at: service.clock.now() });
      await readsTool(callAs(service, client, 'GET', TOOL, { headers: { dpop: proof } }));
      await refused(callAs(service, client, 'GET', TOOL), 403, 'DPOP_REQUIRED');
    });

    test('log in with what their platform says of them', async () => {
      const { method_id, subject, audience, private_key } = machines.workload;
      const claims = { sub: subject, aud: audience, exp: seconds() + 60 };
      const jwt_svid = await signed(await issuerKey(private_key), claims);
      const { cv_jwt } = await ok(logInWith(service, { method_id, jwt_svid }));
      await readsTool(service.call('GET', TOOL, { token: cv_jwt }));
    });

    test('exchange the token of their pipeline', async (t) => {
      const { id, client_id, issuer: iss, audience: aud, subject: sub } = machines.federation;
      const issuer = await OutsideIssuer.start();
      t.after(() => issuer.close());
      const key = await issuerKey(machines.workload.private_key);
      issuer.keys = [key.jwk];
      const path = `/app-connections/${client_id}/federations/${id}`;
      await ok(service.call('PUT', path, { body: { jwks_url: issuer.jwksUrl } }));
      const claims = { iss, aud, sub, iat: seconds(), exp: seconds() + 600 };
      const { access_token } = await ok(exchange(service, client_id, await signed(key, claims)));
      await readsTool(service.call('GET', TOOL, { token: access_token }));
      const other = { ...claims, sub: 'repo:other/shop:ref:refs/heads/main' };
      await refused(exchange(service, client_id, await signed(key, other)), 401, 'LOGIN_DENIED');
    });

    test('an envelope is brought to the newest version of its key, which goes on counting', async () => {
      const told = expected.told.find(({ path, status }) => path === '/eaas/keys/orders/decrypt' && status === 200);
      assert.ok(told !== undefined);
      const { plaintext } = told.answer as { plaintext: string };
      const { envelope, aad } = told.body as { envelope: string; aad: string };
      const rewrap = { envelope, aad };
      const { envelope: newest } = await ok(service.call('POST', '/eaas/keys/orders/rewrap', { body: rewrap }));
      assert.match(envelope, /^eaas:v1:orders:1:/);
      assert.match(newest, /^eaas:v1:orders:2:/);
      const opened = await ok(service.call('POST', '/eaas/keys/orders/decrypt', { body: { envelope: newest, aad } }));
      assert.equal(opened.plaintext, plaintext);
      await ok(service.call('POST', '/eaas/keys/orders/rotate', { body: { reason: 'after the upgrade' } }));
      const { envelope: next } = await ok(service.call('POST', '/eaas/keys/orders/rewrap', { body: rewrap }));
      assert.match(next, /^eaas:v1:orders:3:/);
    });

    test('what its client sealed for a zero-knowledge vault opens with the present one only to be sealed again', async () => {
      const vault = 'closed';
      assert.equal(machines.sealed.length, 2);
      for (const { path, value, secret } of machines.sealed) {
        const own = 'passphrase' in secret ? secret : { key: Buffer.from(secret.key_base64, 'base64') };
        const envelope = await readValue(service, vault, path);
        await assert.rejects(openZeroKnowledge(envelope, own, { vault, path }), ZeroKnowledgeError);
        assert.equal(Buffer.from(await openUnboundZeroKnowledge(envelope, own)).toString('utf8'), value);
        const url = secretUrl(vault, path);
        const requests = {
          list: () => [path],
          read: () => ok(service.call('GET', url)),
          write: (_: string, sealed: string, expected_version: number) =>
            ok(service.call('PUT', url, { body: { value: sealed, expected_version } })),
        };
        assert.deepEqual((await resealVault(vault, own, requests)).refused, [path]);
        assert.deepEqual((await resealVault(vault, own, requests, { acceptUnbound: true })).resealed, [path]);
        const { value: again, version } = await ok(service.call('GET', url));
        assert.equal(await openZeroKnowledge(again, own, { vault, path, version }), value);
      }
    });

    test('checkpoints that were stored outside vouch for the log as it is exported now', async () => {
      const oldCheckpoints = machines.checkpoints.checkpoints as { id: string; seq: number; key_id: string }[];
      assert.equal(oldCheckpoints.length, 2);
      const verified = await ok(service.call('GET', '/v1/audit/verify'));
      assert.equal(verified.valid, true);
      assert.ok(
        verified.signed_seq >= Math.max(...oldCheckpoints.map(({ seq }) => seq)),
        'they are still held against the log',
      );
      await ok(service.call('POST', '/v1/audit/checkpoints'), 201);
      const now = await service.call('GET', '/v1/audit/checkpoints');
      const exported = await service.call('GET', '/v1/audit/export');
      const files = { 'kept.json': JSON.stringify(machines.checkpoints), 'now.json': now.text, log: exported.text };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(service.dataDir, name), text);
      const at = (name: keyof typeof files) => join(service.dataDir, name);
      const verify = (...more: string[]) =>
        startProcess(
          'cli/src/verify/main.ts',
          ['--log', at('log'), '--key', oldCheckpoints[0]?.key_id ?? '', ...more],
          {},
        ).exited;
      for (const file of ['kept.json', 'now.json'] as const) {
        const { code, stdout, stderr } = await verify('--checkpoints', at(file));
        assert.equal(code, 0, stdout + stderr);
      }
    });
  });
}
