import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { assembled, newIssuerKey, OutsideIssuer, signed } from '../../../../test/support/external-issuer.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { AUDIENCE, refusedFor, Verifying } from '../../../../test/support/verifying.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import type { AzureConfig, GcpConfig, OidcConfig } from './contract.ts';
import { azureMsi } from './methods/azure-msi.ts';
import { gcpIam } from './methods/gcp-iam.ts';
import { oidcGeneric } from './methods/oidc-generic.ts';

/** Logins by tokens of an OpenID provider that runs here, in the shapes of Google's and Microsoft's too. */

const provider = await OidcIssuer.start();
/** Signs whatever a test wants, which a real provider would not. */
const forger = await OutsideIssuer.start();
const key = await newIssuerKey('k', 'RS256');
forger.keys = [key.jwk];
after(() => {
  provider.close();
  forger.close();
});

const verifying = new Verifying();
const seconds = () => Math.floor(verifying.now / 1000);
const claims = (change: Record<string, unknown> = {}) => {
  const all = { iss: forger.url, aud: AUDIENCE, sub: 'somebody', iat: seconds(), exp: seconds() + 600, ...change };
  return JSON.parse(JSON.stringify(all));
};

function reset(): void {
  verifying.now = Date.now();
  verifying.clearKeys();
  provider.claims = {};
}

describe('oidc_generic', () => {
  beforeEach(reset);

  const config: OidcConfig = {
    expected_issuer: provider.url,
    expected_audience: AUDIENCE,
    allowed_subjects: ['work[a-z]+'],
  };
  const verify = (oidc_token: string, change: Partial<OidcConfig> = {}) =>
    verifying.verify(oidcGeneric, { oidc_token }, { ...config, ...change });
  const forged = (token: string, change: Partial<OidcConfig> = {}) =>
    verify(token, { expected_issuer: forger.url, allowed_subjects: ['somebody'], ...change });

  test('a token of the provider', async () => {
    assert.deepEqual(await verify(await provider.token(AUDIENCE)), { subject: 'workload', details: {} });
  });

  test('keys that rotate meanwhile: new ones are found, old ones end', async () => {
    const before = await provider.token(AUDIENCE);
    await verify(before);
    await provider.rotate();
    await verify(await provider.token(AUDIENCE));
    await refusedFor(verify(before), /no such key/, 'JWKS_KEY_NOT_FOUND');
    await provider.rotate();
    const late = await provider.token(AUDIENCE);
    await refusedFor(verify(late), /no such key/, 'JWKS_KEY_NOT_FOUND');
    verifying.now += 31_000;
    await verify(late);
  });

  test('keys are cached for 24 hours, not longer', async () => {
    await forged(await signed(key, claims()));
    forger.requests.length = 0;
    verifying.now += DAY_MS - 1000;
    const later = () => Math.floor(verifying.now / 1000);
    await forged(await signed(key, claims({ iat: later(), exp: later() + 60 })));
    assert.deepEqual(forger.requests, []);
    verifying.now += 1000;
    await forged(await signed(key, claims({ iat: later(), exp: later() + 60 })));
    assert.deepEqual(forger.requests, ['/.well-known/openid-configuration', '/keys']);
  });

  test('another audience, issuer or subject', async () => {
    await refusedFor(verify(await provider.token('https://other.example')), /another audience/);
    await refusedFor(verify(await provider.token(`${AUDIENCE}/`)), /another audience/);
    const token = await provider.token(AUDIENCE);
    await refusedFor(verify(token, { expected_issuer: `${provider.url}/` }), /another issuer/);
    await refusedFor(verify(token, { expected_issuer: forger.url }), /another issuer/);
    for (const allowed_subjects of [[], ['work'], ['load'], ['wor|load'], ['WORKLOAD'], ['work\\.*']]) {
      await refusedFor(verify(token, { allowed_subjects }), /subject is not allowed/);
    }
  });

  test('tokens that the provider never made', async () => {
    await forged(await signed(key, claims()));
    const mine = await newIssuerKey('k', 'RS256');
    await refusedFor(forged(await signed(mine, claims())), /signature is wrong/);
    await refusedFor(forged(await signed(key, claims(), { kid: 'other' })), /no such key/, 'JWKS_KEY_NOT_FOUND');
    for (const kid of ["k' OR '1'='1", '../k', 'k\u0000', '%6b', '*', 'K']) {
      await refusedFor(forged(await signed(mine, claims(), { kid })), /no such key/, 'JWKS_KEY_NOT_FOUND');
    }
    await refusedFor(forged(assembled({ alg: 'none', kid: 'k' }, claims(), 'x')), /algorithm is not accepted/);
    await refusedFor(forged(assembled({ alg: 'HS256', kid: 'k' }, claims(), 'x')), /algorithm is not accepted/);
    await refusedFor(forged(await signed(key, claims({ sub: undefined }))), /no subject/);
    await refusedFor(forged(await signed(key, claims({ sub: 'somebody\nelse' }))), /subject is malformed/);
    await refusedFor(forged(await signed(key, claims({ exp: undefined }))), /no valid expiry time/);
    await refusedFor(forged(await signed(key, claims({ aud: [AUDIENCE, 'x'] }))), /several audiences/);
    await refusedFor(forged(await signed(key, claims({ iat: seconds() + 3600 }))), /in the future/);
  });

  test('a token that cannot be accepted makes no call', async () => {
    forger.requests.length = 0;
    await refusedFor(forged(await signed(key, claims({ aud: 'x' }))), /another audience/);
    await refusedFor(forged(await signed(key, claims({ exp: 1 }))), /expired/);
    await refusedFor(forged('x'.repeat(20_000)), /too long/);
    assert.deepEqual(forger.requests, []);
  });

  test('what one tenant’s method fetched is not used for another’s', async () => {
    const token = await signed(key, claims());
    const own = { ...config, expected_issuer: forger.url, allowed_subjects: ['somebody'] };
    forger.requests.length = 0;
    await verifying.verify(oidcGeneric, { oidc_token: token }, own, 'tenant_a');
    await verifying.verify(oidcGeneric, { oidc_token: token }, own, 'tenant_b');
    assert.equal(forger.timesRequested('/keys'), 2);
  });

  test('a config that could not work, or not safely, is refused', () => {
    const cases: [Partial<OidcConfig>, RegExp][] = [
      [{ expected_issuer: 'issuer' }, /config\/expected_issuer/],
      [{ expected_issuer: 'https://issuer.example/?x' }, /config\/expected_issuer/],
      [{ expected_issuer: 'https://issuer.example/#x' }, /config\/expected_issuer/],
      [{ allowed_subjects: ['(a'] }, /config\/allowed_subjects\/0/],
      [{ allowed_subjects: ['x', '(a)\\1'] }, /config\/allowed_subjects\/1/],
      [{ allowed_subjects: ['((a{100}){100}){100}'] }, /config\/allowed_subjects\/0/],
    ];
    for (const [change, reason] of cases) {
      assert.throws(() => oidcGeneric.refuseBadConfig({ ...config, ...change }), reason);
    }
    oidcGeneric.refuseBadConfig(config);
  });
});

describe('gcp_iam', () => {
  beforeEach(reset);

  const email = 'checkout@shop.iam.gserviceaccount.com';
  const config: GcpConfig = { expected_audience: AUDIENCE, allowed_emails: [email], issuer: provider.url };
  const verify = async (change: Partial<GcpConfig> = {}) =>
    verifying.verify(gcpIam, { gcp_jwt: await provider.token(AUDIENCE) }, { ...config, ...change });

  test('a verified address that is allowed', async () => {
    provider.claims = { email, email_verified: true };
    assert.deepEqual(await verify(), { subject: email, details: { sub: 'workload' } });
  });

  test('no other', async () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{}, /no e-mail address/],
      [{ email }, /not verified/],
      [{ email, email_verified: false }, /not verified/],
      [{ email, email_verified: 'true' }, /not verified/],
      [{ email: email.toUpperCase(), email_verified: true }, /not allowed/],
      [{ email: `x${email}`, email_verified: true }, /not allowed/],
      [{ email: [email], email_verified: true }, /no e-mail address/],
    ];
    for (const [added, reason] of cases) {
      provider.claims = added;
      await refusedFor(verify(), reason);
    }
    provider.claims = { email, email_verified: true };
    await refusedFor(verify({ allowed_emails: [] }), /not allowed/);
    await refusedFor(verify({ allowed_emails: ['*'] }), /not allowed/);
    await refusedFor(verify({ expected_audience: 'https://other.example' }), /another audience/);
  });

  test('only RS256, and only Google’s issuer unless the operator opened the host', async () => {
    const ec = await newIssuerKey('ec');
    const wrong = await signed(ec, claims({ email, email_verified: true }));
    await refusedFor(verifying.verify(gcpIam, { gcp_jwt: wrong }, config), /algorithm is not accepted/);
    provider.claims = { email, email_verified: true };
    const token = await provider.token(AUDIENCE);
    const { issuer, ...plain } = config;
    await refusedFor(verifying.verify(gcpIam, { gcp_jwt: token }, plain), /another issuer/);
    const closed = new Verifying([]);
    await refusedFor(closed.verify(gcpIam, { gcp_jwt: token }, config), /not public/);
    const publicIssuer = 'https://8.8.8.8';
    const elsewhere = await signed(key, claims({ iss: publicIssuer, email, email_verified: true }));
    const work = closed.verify(gcpIam, { gcp_jwt: elsewhere }, { ...config, issuer: publicIssuer });
    await refusedFor(work, /the operator has not allowed this host/);
  });

  test('a config that could not work is refused', () => {
    for (const allowed_emails of [['*'], ['*@x.example'], ['x']]) {
      assert.throws(() => gcpIam.refuseBadConfig({ ...config, allowed_emails }), /config\/allowed_emails\/0/);
    }
    gcpIam.refuseBadConfig(config);
  });
});

describe('azure_msi', () => {
  beforeEach(reset);

  const tenant_id = '11111111-2222-3333-4444-555555555555';
  const oid = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
  const config: AzureConfig = {
    expected_audience: AUDIENCE,
    allowed_object_ids: [oid],
    tenant_id,
    issuer: provider.url,
  };
  const verify = async (change: Partial<AzureConfig> = {}) =>
    verifying.verify(azureMsi, { azure_jwt: await provider.token(AUDIENCE) }, { ...config, ...change });

  test('an object id of the directory that is allowed', async () => {
    provider.claims = { oid, tid: tenant_id, appid: 'app' };
    assert.deepEqual(await verify(), { subject: oid, details: { tenant_id, application: 'app' } });
  });

  test('no other', async () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ oid }, /names no directory/],
      [{ oid, tid: '../../common' }, /names no directory/],
      [{ oid, tid: [tenant_id] }, /names no directory/],
      [{ oid, tid: 'aaaaaaaa-2222-3333-4444-555555555555' }, /another directory/],
      [{ tid: tenant_id }, /object id is not allowed/],
      [{ oid: oid.toUpperCase(), tid: tenant_id }, /object id is not allowed/],
      [{ oid: [oid], tid: tenant_id }, /object id is not allowed/],
      [{ sub: oid, tid: tenant_id }, /object id is not allowed/],
    ];
    for (const [added, reason] of cases) {
      provider.claims = added;
      await refusedFor(verify(), reason);
    }
    provider.claims = { oid, tid: tenant_id };
    await refusedFor(verify({ allowed_object_ids: [] }), /object id is not allowed/);
    await refusedFor(verify({ expected_audience: 'https://other.example' }), /another audience/);
  });

  test('without tenant_id an allowed object id of whichever directory, and no other', async () => {
    const { tenant_id: _, ...open } = config;
    const verifyOpen = async () =>
      verifying.verify(azureMsi, { azure_jwt: await provider.token(AUDIENCE) }, open as AzureConfig);
    for (const tid of [tenant_id, 'aaaaaaaa-2222-3333-4444-555555555555']) {
      provider.claims = { oid, tid };
      assert.deepEqual(await verifyOpen(), { subject: oid, details: { tenant_id: tid, application: '' } });
    }
    for (const [added, reason] of [
      [{ oid: 'aaaaaaaa-bbbb-cccc-dddd-ffffffffffff', tid: tenant_id }, /object id is not allowed/],
      [{ oid }, /names no directory/],
      [{ oid, tid: `${tenant_id}/x` }, /names no directory/],
    ] as const) {
      provider.claims = added;
      await refusedFor(verifyOpen(), reason);
    }
    assert.equal(azureMsi.warningsOf?.(open as AzureConfig).length, 1);
    assert.deepEqual(azureMsi.warningsOf?.(config), []);
  });

  test('a directory is known by its own two issuers alone, whether the method or the token names it', async () => {
    const { issuer, ...plain } = config;
    const { tenant_id: _, ...unnamed } = plain;
    for (const iss of [
      provider.url,
      `https://sts.windows.net/${tenant_id}`,
      'https://sts.windows.net/aaaaaaaa-2222-3333-4444-555555555555/',
      `https://login.microsoftonline.com/${tenant_id}/v2.0/`,
      'https://login.microsoftonline.com/common/v2.0',
      `https://STS.windows.net/${tenant_id}/`,
    ]) {
      const forged = await signed(key, claims({ iss, oid, tid: tenant_id }));
      await refusedFor(verifying.verify(azureMsi, { azure_jwt: forged }, plain), /another issuer/);
      await refusedFor(verifying.verify(azureMsi, { azure_jwt: forged }, unnamed as AzureConfig), /another issuer/);
    }
    // The right issuers get as far as their keys, which are not to be had from here.
    const offline = new Verifying([]);
    for (const iss of [
      `https://sts.windows.net/${tenant_id}/`,
      `https://login.microsoftonline.com/${tenant_id}/v2.0`,
    ]) {
      const forged = await signed(key, claims({ iss, oid, tid: tenant_id }));
      for (const method of [plain, unnamed as AzureConfig]) {
        const work = offline.verify(azureMsi, { azure_jwt: forged }, method);
        await assert.rejects(work, /cannot be fetched|no such key|signature is wrong/);
      }
    }
  });
});
