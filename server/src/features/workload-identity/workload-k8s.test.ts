import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { json } from '../../../../test/support/external-issuer.ts';
import { OTHER_CA } from '../../../../test/support/test-keys.ts';
import { TokenReviewServer } from '../../../../test/support/token-review.ts';
import { AUDIENCE, refusedFor, Verifying } from '../../../../test/support/verifying.ts';
import type { K8sConfig } from './contract.ts';
import { k8sSa } from './methods/k8s-sa.ts';

/** Logins of Kubernetes service accounts, against a server that reviews tokens over TLS and really checks them. */

const cluster = await TokenReviewServer.start();
after(() => cluster.close());
const reviewer = await cluster.token(cluster.url, 'coffer', 'reviewer');
const config: K8sConfig = {
  issuer: cluster.url,
  ca_cert_pem: cluster.caPem,
  allowed_namespaces: ['shop'],
  allowed_sa_names: ['checkout'],
  token_reviewer_jwt: reviewer,
};
const verifying = new Verifying();
const verify = (k8s_token: string, change: Partial<K8sConfig> = {}) =>
  verifying.verify(k8sSa, { k8s_token }, { ...config, ...change });

function reset(): void {
  verifying.now = Date.now();
  cluster.alter = null;
  cluster.instead = null;
  cluster.requests.length = 0;
}

describe('a service account', () => {
  beforeEach(reset);

  test('is who the cluster says it is', async () => {
    const token = await cluster.token([AUDIENCE], 'shop', 'checkout');
    assert.deepEqual(await verify(token), {
      subject: 'system:serviceaccount:shop:checkout',
      details: { namespace: 'shop', service_account: 'checkout' },
    });
    assert.deepEqual(cluster.requests, [{ bearer: reviewer, token, audiences: [AUDIENCE] }]);
  });

  test('reviews its own token where no reviewer is configured, and the cluster may refuse that', async () => {
    const { token_reviewer_jwt, ...without } = config;
    const token = await cluster.token(AUDIENCE, 'shop', 'checkout');
    const work = verifying.verify(k8sSa, { k8s_token: token }, without);
    await refusedFor(work, /status 401/);
    assert.equal(cluster.requests[0]?.bearer, token);
  });

  test('must be in an allowed namespace and have an allowed name, exactly', async () => {
    for (const [namespace, name, reason] of [
      ['shop2', 'checkout', /namespace is not allowed/],
      ['Shop', 'checkout', /namespace is not allowed/],
      ['shop', 'checkout2', /service account is not allowed/],
      ['shop', 'Checkout', /service account is not allowed/],
    ] as const) {
      await refusedFor(verify(await cluster.token(AUDIENCE, namespace, name)), reason);
    }
    const good = await cluster.token(AUDIENCE, 'shop', 'checkout');
    await refusedFor(verify(good, { allowed_namespaces: [] }), /namespace is not allowed/);
    await refusedFor(verify(good, { allowed_sa_names: [] }), /service account is not allowed/);
    await refusedFor(verify(good, { allowed_namespaces: ['*'], allowed_sa_names: ['*'] }), /namespace is not allowed/);
  });

  test('a user name with more colons is no service account', async () => {
    const names = [
      'system:serviceaccount:shop:checkout:x',
      'system:serviceaccount:shop',
      'system:node:shop',
      'admin',
      '',
    ];
    for (const sub of [...names, 'system:serviceaccount:shop:checkout\n', 'xsystem:serviceaccount:shop:checkout']) {
      cluster.alter = (status) => ({ ...status, user: { username: sub } });
      const reason = sub.endsWith('\n') ? /service account is not allowed/ : /not of a service account/;
      await refusedFor(verify(await cluster.token(AUDIENCE, 'shop', 'checkout')), reason);
    }
  });
});

describe('a token is shown to nobody it is not for', () => {
  beforeEach(reset);

  const cases: [string, (string | string[])[] | null, Record<string, unknown>, RegExp][] = [
    ['another audience', ['https://other.example'], {}, /another audience/],
    ['no audience', null, { aud: undefined }, /another audience/],
    ['several audiences', [[AUDIENCE, 'https://kubernetes.default.svc']], {}, /several audiences/],
    ['another issuer', [AUDIENCE], { iss: 'https://other.example' }, /another issuer/],
    ['the issuer with a slash', [AUDIENCE], { iss: `${cluster.url}/` }, /another issuer/],
    ['an end in the past', [AUDIENCE], { exp: 1 }, /expired/],
    ['no end', [AUDIENCE], { exp: undefined }, /no valid expiry time/],
    ['a time of issue in the future', [AUDIENCE], { iat: 9_999_999_999 }, /future/],
  ];
  for (const [name, audience, change, reason] of cases) {
    test(name, async () => {
      const claims = JSON.parse(JSON.stringify({ aud: audience?.[0] ?? AUDIENCE, ...change }));
      const removed = Object.keys(change).filter((key) => change[key] === undefined);
      const token = await cluster.token(AUDIENCE, 'shop', 'checkout', {
        ...claims,
        ...Object.fromEntries(removed.map((key) => [key, undefined])),
      });
      await refusedFor(verify(token), reason);
      assert.equal(cluster.requests.length, 0, 'it was sent to the cluster');
    });
  }
});

const good = await cluster.token(AUDIENCE, 'shop', 'checkout');

describe('the cluster', () => {
  beforeEach(reset);

  test('refuses a token that it did not make', async () => {
    const other = await TokenReviewServer.start();
    const foreign = await other.token(AUDIENCE, 'shop', 'checkout', { iss: cluster.url });
    other.close();
    await refusedFor(verify(foreign), /rejected the token with an error/);
  });

  test('must say that it checked the audience, among much else', async () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ audiences: undefined }, /did not check the audience/],
      [{ audiences: [] }, /did not check the audience/],
      [{ audiences: ['https://kubernetes.default.svc'] }, /did not check the audience/],
      [{ audiences: AUDIENCE }, /did not check the audience/],
      [{ authenticated: false }, /does not know the token/],
      [{ authenticated: 'true' }, /does not know the token/],
      [{ authenticated: 1 }, /does not know the token/],
      [{ error: 'half broken' }, /with an error/],
      [{ user: undefined }, /has no username/],
      [{ user: 'system:serviceaccount:shop:checkout' }, /has no username/],
    ];
    for (const [change, reason] of cases) {
      cluster.alter = (status) => ({ ...status, ...change });
      await refusedFor(verify(good), reason);
    }
    cluster.alter = (status) => ({ ...status, error: '', audiences: ['other', AUDIENCE] });
    await verify(good);
  });

  test('is not believed by an answer that repeats the question, is no review or no JSON', async () => {
    const said = { status: { authenticated: true, audiences: [AUDIENCE], user: { username: 'x' } } };
    const cases: [typeof cluster.instead, RegExp][] = [
      [(_, r, body) => json(r, JSON.parse(body)), /not a TokenReview/],
      [(_, r) => json(r, said), /not a TokenReview/],
      [
        (_, r) => json(r, { ...said, kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1beta1' }),
        /not a TokenReview/,
      ],
      [(_, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('{}'), /not JSON/],
      [(_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{'), /not JSON/],
      [(_, r) => r.writeHead(307, { location: `${cluster.url}/elsewhere` }).end(), /redirect/],
      [(_, r) => json(r, { x: 'x'.repeat(70_000) }), /too large/],
      [(_, r) => json(r, {}, 500), /status 500/],
    ];
    for (const [instead, reason] of cases) {
      cluster.instead = instead;
      await refusedFor(verify(good), reason);
    }
  });

  test('is believed only by its own certificate, under its own name', async () => {
    await refusedFor(verify(good, { ca_cert_pem: OTHER_CA }), /the connection failed/);
    const elsewhere = cluster.url.replace('localhost', '127.0.0.1');
    await refusedFor(verify(good, { api_server_url: elsewhere }), /ERR_TLS_CERT_ALTNAME_INVALID/);
    await verify(good, { api_server_url: `${cluster.url}/` });
  });

  test('is not called where no call may go', async () => {
    const closed = new Verifying([]);
    await refusedFor(closed.verify(k8sSa, { k8s_token: good }, config), /not public/);
  });
});

test('a config that could not work, or not safely, is refused', () => {
  const cases: [Partial<K8sConfig>, RegExp][] = [
    [{ issuer: 'http://cluster.example' }, /config\/issuer must be an https URL/],
    [{ issuer: 'cluster' }, /config\/issuer/],
    [{ api_server_url: 'http://cluster.example' }, /config\/api_server_url/],
    [{ api_server_url: 'https://user@cluster.example' }, /config\/api_server_url/],
    [{ api_server_url: 'https://cluster.example/?x=y' }, /config\/api_server_url must not have a query/],
    [{ ca_cert_pem: '' }, /config\/ca_cert_pem/],
    [{ ca_cert_pem: 'x' }, /config\/ca_cert_pem/],
    [{ ca_cert_pem: `${cluster.caPem}more` }, /config\/ca_cert_pem/],
    [{ allowed_namespaces: ['shop', '*'] }, /config\/allowed_namespaces\/1/],
    [{ allowed_sa_names: ['a:b'] }, /config\/allowed_sa_names\/0/],
  ];
  for (const [change, reason] of cases) assert.throws(() => k8sSa.refuseBadConfig({ ...config, ...change }), reason);
  k8sSa.refuseBadConfig(config);
  k8sSa.refuseBadConfig({ ...config, issuer: 'cluster', api_server_url: 'https://cluster.example' });
});
