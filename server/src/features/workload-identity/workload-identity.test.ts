import assert from 'node:assert/strict';
import { after, before, beforeEach, mock, test } from 'node:test';
import { json, newIssuerKey, OutsideIssuer, publicPem, signed } from '../../../../test/support/external-issuer.ts';
import { deniedFor, entryOf, fromElsewhere, logInWith, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { addConnection, type Machine, newDpopKey, proofBy } from '../../../../test/support/machines.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  invalid,
  ok,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { presigned, type StsAccount, StsServer } from '../../../../test/support/sts.ts';
import { TokenReviewServer } from '../../../../test/support/token-review.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';

/** Workloads that log in with the identity their cluster, cloud or issuer gave them. */

const AUDIENCE = OUTSIDE_ENV.CV_AUDIENCE;
const METHODS = '/workload-identity/methods';
const provider = await OidcIssuer.start();
const forger = await OutsideIssuer.start();
const cluster = await TokenReviewServer.start();
const sts = await StsServer.start();
const forgerKey = await newIssuerKey('k', 'RS256');
const spiffeKey = await newIssuerKey('s');
const role: StsAccount = {
  accessKeyId: 'ASIAEXAMPLEROLE00001',
  secretAccessKey: 'role-secret',
  account: '123456789012',
  arn: 'arn:aws:sts::123456789012:assumed-role/checkout/i-1',
  userId: 'AROAEXAMPLE:i-1',
};
sts.accounts.push(role);
after(() => {
  for (const server of [provider, forger, cluster, sts]) server.close();
});

onSqliteAtLanding('workload identity', (database) => {
  let service: Service;
  let vault: string;
  let machine: Machine;
  const seconds = (ms = 0) => Math.floor((service.clock.now() + ms) / SECOND_MS);

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    vault = await addVault(service);
    await addSecret(service, vault, 'db/main');
    machine = await addConnection(service, vault);
  });
  after(() => service.close());
  beforeEach(() => {
    forger.keys = [forgerKey.jwk];
    forger.instead.clear();
    provider.claims = {};
    cluster.requests.length = 0;
  });

  const oidcConfig = (more: object = {}) => ({
    expected_issuer: forger.url,
    expected_audience: AUDIENCE,
    allowed_subjects: ['somebody'],
    ...more,
  });
  const addMethod = (type: string, config: unknown, more: object = {}, token = service.adminToken) =>
    ok(
      service.call('POST', METHODS, {
        token,
        body: { name: uniqueName('method'), type, app_connection_id: machine.id, config, ...more },
      }),
      201,
    );
  const oidcToken = (change: Record<string, unknown> = {}) => {
    const claims = {
      iss: forger.url,
      aud: AUDIENCE,
      sub: 'somebody',
      iat: seconds(),
      exp: seconds(600_000),
      ...change,
    };
    return signed(forgerKey, JSON.parse(JSON.stringify(claims)));
  };
  const readAs = (token: string, headers: Record<string, string> = {}): Promise<Answer> =>
    service.call('GET', secretUrl(vault, 'db/main'), { token, headers });

  test('each of the six kinds logs in, and reads what its connection may read', async () => {
    const reviewer = await cluster.token(cluster.url, 'coffer', 'reviewer');
    const email = 'checkout@shop.iam.gserviceaccount.com';
    const [oid, tid] = ['aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee', '11111111-2222-3333-4444-555555555555'];
    provider.claims = { email, email_verified: true, oid, tid };
    const token = await provider.token(AUDIENCE);
    const aws_signed_url = await presigned(role, sts, { headers: { 'x-coffer-audience': AUDIENCE } });
    const svid = { sub: 'spiffe://prod.example/shop', aud: [AUDIENCE], exp: seconds(60_000) };
    const audienced = { expected_audience: AUDIENCE };
    const cases: [string, object, object, string][] = [
      [
        'k8s_sa',
        {
          issuer: cluster.url,
          ca_cert_pem: cluster.caPem,
          allowed_namespaces: ['shop'],
          allowed_sa_names: ['checkout'],
          token_reviewer_jwt: reviewer,
        },
        { k8s_token: await cluster.token([AUDIENCE], 'shop', 'checkout') },
        'system:serviceaccount:shop:checkout',
      ],
      [
        'aws_iam',
        { allowed_arns: ['arn:aws:iam::123456789012:role/.*'], sts_endpoint: sts.url },
        { aws_signed_url, aws_signed_headers: { 'X-Coffer-Audience': AUDIENCE } },
        'arn:aws:iam::123456789012:role/checkout',
      ],
      ['gcp_iam', { ...audienced, allowed_emails: [email], issuer: provider.url }, { gcp_jwt: token }, email],
      [
        'azure_msi',
        { ...audienced, allowed_object_ids: [oid], tenant_id: tid, issuer: provider.url },
        { azure_jwt: token },
        oid,
      ],
      ['azure_msi', { ...audienced, allowed_object_ids: [oid], issuer: provider.url }, { azure_jwt: token }, oid],
      [
        'oidc_generic',
        { ...audienced, expected_issuer: provider.url, allowed_subjects: ['work(?:load|horse)'] },
        { oidc_token: token },
        'workload',
      ],
      [
        'spiffe',
        {
          ...audienced,
          trust_domain: 'prod.example',
          trust_bundle_pem: publicPem(spiffeKey),
          allowed_spiffe_ids: ['spiffe://prod\\.example/.*'],
        },
        { jwt_svid: await signed(spiffeKey, svid) },
        svid.sub,
      ],
    ];
    for (const [type, config, credential, subject] of cases) {
      const method = await addMethod(type, config);
      assert.equal(method.warnings.length, type === 'azure_msi' && !('tenant_id' in config) ? 1 : 0, type);
      const login = await logInWith(service, { method_id: method.id, ...credential });
      assert.equal(login.status, 200, `${type}: ${login.text}`);
      const { cv_jwt, expires_at } = login.body;
      const life = Date.parse(expires_at) - service.clock.now();
      assert.ok(life > HOUR_MS - 30_000 && life <= HOUR_MS, `${life}`);
      const entry = await entryOf(service, login);
      assert.deepEqual(
        [entry.action, entry.decision, entry.actor.kind, entry.actor.id, entry.actor.key, entry.details.subject],
        ['workload:login', 'allow', 'app_connection', machine.client_id, `method ${method.id}: ${subject}`, subject],
      );
      const read = await readAs(cv_jwt);
      assert.equal(read.body?.value, 'value of db/main', read.text);
      const readEntry = await entryOf(service, read);
      assert.deepEqual([readEntry.actor.id, readEntry.actor.key], [machine.client_id, entry.actor.key]);
      await refused(service.call('GET', '/v1/users', { token: cv_jwt }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });

  test('keys that rotate meanwhile are found, over real HTTP', async () => {
    const config = { expected_issuer: provider.url, expected_audience: AUDIENCE, allowed_subjects: ['workload'] };
    const { id } = await addMethod('oidc_generic', config);
    const logIn = async () => logInWith(service, { method_id: id, oidc_token: await provider.token(AUDIENCE) });
    await ok(logIn());
    await provider.rotate();
    await ok(logIn());
    await provider.rotate();
    await deniedFor(service, logIn(), /no such key/, { code: 'JWKS_KEY_NOT_FOUND' });
    service.clock.advance(31_000);
    await ok(logIn());
  });

  test('the token ends after an hour', async () => {
    const method = await addMethod('oidc_generic', oidcConfig());
    const { cv_jwt } = await ok(logInWith(service, { method_id: method.id, oidc_token: await oidcToken() }));
    service.clock.advance(HOUR_MS - 60_000);
    await ok(readAs(cv_jwt));
    service.clock.advance(61_000);
    await refused(readAs(cv_jwt), 401, 'INVALID_TOKEN');
  });

  test('whatever is wrong, the answer is the same, and the log of the tenant has the reason', async () => {
    const method = await addMethod('oidc_generic', oidcConfig());
    const at = method.id as number;
    const logIn = async (body: object) => logInWith(service, { method_id: at, ...body });
    const good = await oidcToken();
    await ok(logIn({ oidc_token: good }));
    const answers = new Set<string>();
    const cases: [Promise<Answer>, RegExp][] = [
      [logInWith(service, { method_id: 999_999_999_999, oidc_token: good }), /there is no such method/],
      [logIn({ gcp_jwt: good }), /a credential of type gcp_iam was presented/],
      [logIn({ oidc_token: 'x' }), /not a signed JWT/],
      [logIn({ oidc_token: await oidcToken({ aud: 'x' }) }), /another audience/],
      [logIn({ oidc_token: await oidcToken({ sub: 'other' }) }), /subject is not allowed/],
      [logIn({ oidc_token: await oidcToken({ exp: undefined }) }), /no valid expiry time/],
    ];
    for (const [work, reason] of cases) {
      await deniedFor(service, work, reason);
      const { message } = (await work).body.error;
      answers.add(message);
    }
    assert.equal(answers.size, 1);
    const unknownKey = await signed(
      forgerKey,
      { iss: forger.url, aud: AUDIENCE, sub: 'x', exp: seconds(60_000) },
      { kid: 'x' },
    );
    await deniedFor(service, logIn({ oidc_token: unknownKey }), /no such key/, { code: 'JWKS_KEY_NOT_FOUND' });
  });

  test('a body with no credential, two, or half of one is no login', async () => {
    for (const body of [
      {},
      { oidc_token: 'x', gcp_jwt: 'x' },
      { aws_signed_url: 'x' },
      { aws_signed_headers: {} },
      { oidc_token: 'x', aws_signed_headers: {} },
    ]) {
      await invalid(logInWith(service, { method_id: 1, ...body }), '/body');
    }
    await invalid(logInWith(service, { method_id: '1', oidc_token: 'x' }), '/body/method_id');
    await invalid(logInWith(service, { method_id: 1, oidc_token: 'x', other: 1 }), '/body/other');
    await invalid(logInWith(service, { method_id: 1, oidc_token: 'x'.repeat(16_385) }), '/body/oidc_token');
  });

  test('deleting or changing the method ends logins and its tokens at once', async () => {
    for (const end of ['DELETE', 'PUT'] as const) {
      const { id } = await addMethod('oidc_generic', oidcConfig());
      const other = await addMethod('oidc_generic', oidcConfig());
      const logIn = async (method_id: number) => logInWith(service, { method_id, oidc_token: await oidcToken() });
      const { cv_jwt } = await ok(logIn(id));
      const { cv_jwt: kept } = await ok(logIn(other.id));
      const body = end === 'PUT' ? { config: oidcConfig({ allowed_subjects: [] }) } : undefined;
      await ok(service.call(end, `${METHODS}/${id}`, body && { body }), 200);
      await refused(readAs(cv_jwt), 401, 'INVALID_TOKEN');
      await ok(readAs(kept));
      await deniedFor(service, logIn(id), end === 'PUT' ? /not allowed/ : /no such method/);
    }
  });

  test('disabling or deleting the connection, or suspending the tenant, ends them too', async () => {
    const own = await addConnection(service, vault);
    const { id } = await addMethod('oidc_generic', oidcConfig(), { app_connection_id: own.id });
    const logIn = async () => logInWith(service, { method_id: id, oidc_token: await oidcToken() });
    const { cv_jwt } = await ok(logIn());
    await ok(service.call('PATCH', `/v1/app-connections/${own.id}`, { body: { status: 'disabled' } }));
    await deniedFor(service, logIn(), /connection is disabled/);
    await refused(readAs(cv_jwt), 401, 'INVALID_TOKEN');
    await ok(service.call('PATCH', `/v1/app-connections/${own.id}`, { body: { status: 'active' } }));
    await ok(logIn());
    await ok(service.call('DELETE', `/v1/app-connections/${own.id}`), 200);
    await deniedFor(service, logIn(), /no such method/);
    await refused(service.call('GET', `${METHODS}/${id}`), 404, 'NOT_FOUND');

    const tenant = await addTenant(service);
    const token = tenant.owner.token;
    const theirVault = await addVault(service, {}, token);
    const theirs = await addConnection(service, theirVault, {}, token);
    const method = await addMethod('oidc_generic', oidcConfig(), { app_connection_id: theirs.id }, token);
    const theirLogin = async () => logInWith(service, { method_id: method.id, oidc_token: await oidcToken() });
    const entry = await entryOf(service, await theirLogin(), token);
    assert.equal(entry.actor.id, theirs.client_id, 'recorded in the log of the connection’s tenant');
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } }));
    await refused(theirLogin(), 401, 'LOGIN_DENIED');
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'active' } }));
    await ok(theirLogin());
  });

  test('who was let in a moment before the method changed gets no token', async () => {
    const { id } = await addMethod('oidc_generic', oidcConfig());
    const requests = Promise.withResolvers<() => void>();
    forger.instead.set('/keys', (_, response) => requests.resolve(() => json(response, { keys: forger.keys })));
    const login = logInWith(service, { method_id: id, oidc_token: await oidcToken({ iat: seconds() }) });
    service.clock.advance(DAY_MS);
    const late = Promise.withResolvers<() => void>();
    forger.instead.set('/keys', (_, response) => late.resolve(() => json(response, { keys: forger.keys })));
    const second = logInWith(service, { method_id: id, oidc_token: await oidcToken() });
    const answer = await Promise.race([requests.promise, late.promise]);
    await ok(service.call('DELETE', `${METHODS}/${id}`), 200);
    answer();
    for (const work of [login, second]) {
      assert.equal((await work).status, 401);
      assert.ok(!(await work).text.includes('cv_jwt'));
    }
    const { database: db } = service.app.kernel;
    const rows = await db.read
      .selectFrom('connection_tokens')
      .select('source')
      .where('source', '=', `method ${id}`)
      .execute();
    assert.deepEqual(rows, []);
  });

  test('an address that the connection does not allow is told so only to who proved to be its workload', async () => {
    const own = await addConnection(service, vault, { ip_allowlist: ['192.0.2.0/24'] });
    const { id } = await addMethod('oidc_generic', oidcConfig(), { app_connection_id: own.id });
    const good = await oidcToken();
    await deniedFor(service, logInWith(service, { method_id: id, oidc_token: good }), /ip_not_allowed/, {
      code: 'IP_NOT_ALLOWED',
      status: 403,
    });
    const bad = await oidcToken({ sub: 'other' });
    await deniedFor(service, logInWith(service, { method_id: id, oidc_token: bad }), /subject is not allowed/);
    const there = { 'x-forwarded-for': '192.0.2.7' };
    const { cv_jwt } = await ok(logInWith(service, { method_id: id, oidc_token: good }, there));
    await ok(readAs(cv_jwt, there));
    await refused(readAs(cv_jwt), 403, 'IP_NOT_ALLOWED');
  });

  test('with a proof of a key the token is bound to it; a connection that asks for one gives no other', async () => {
    const key = await newDpopKey();
    const own = await addConnection(service, vault, { require_dpop: true, dpop_jkt: key.jkt });
    const { id } = await addMethod('oidc_generic', oidcConfig(), { app_connection_id: own.id });
    const body = { method_id: id, oidc_token: await oidcToken() };
    await deniedFor(service, logInWith(service, body), /dpop: there is none/, { code: 'DPOP_REQUIRED', status: 403 });
    const htu = `${service.url}/workload-identity/login`;
    const proof = (by = key) => proofBy(by, { htm: 'POST', htu, at: service.clock.now() });
    const stranger = await proof(await newDpopKey());
    await refused(logInWith(service, body, { dpop: stranger }), 401, 'INVALID_DPOP_PROOF');
    const { cv_jwt } = await ok(logInWith(service, body, { dpop: await proof() }));
    await refused(readAs(cv_jwt), 401, 'INVALID_TOKEN');
    const path = secretUrl(vault, 'db/main');
    const dpop = await proofBy(key, { htu: `${service.url}${path}`, at: service.clock.now(), token: cv_jwt });
    await ok(service.call('GET', path, { token: null, headers: { authorization: `DPoP ${cv_jwt}`, dpop } }));
  });

  test('concurrent logins lose nothing', async () => {
    const { id } = await addMethod('oidc_generic', oidcConfig());
    const oidc_token = await oidcToken();
    const logins = await Promise.all(
      Array.from({ length: 20 }, () => ok(logInWith(service, { method_id: id, oidc_token }))),
    );
    assert.equal(new Set(logins.map(({ cv_jwt }) => cv_jwt)).size, 20);
    await Promise.all(logins.map(({ cv_jwt }) => ok(readAs(cv_jwt))));
  });

  test('methods are made, listed, read, changed and deleted', async () => {
    const made = await addMethod('oidc_generic', oidcConfig());
    assert.deepEqual(await ok(service.call('GET', `${METHODS}/${made.id}`)), made);
    assert.deepEqual([made.type, made.app_connection_id, made.config], ['oidc_generic', machine.id, oidcConfig()]);
    const all = await allPages(service, `${METHODS}?limit=1`, 'methods');
    assert.ok(all.some(({ id }) => id === made.id));
    const name = uniqueName('method');
    const changed = await ok(service.call('PUT', `${METHODS}/${made.id}`, { body: { name } }));
    assert.deepEqual({ ...changed, updated_at: '' }, { ...made, name, updated_at: '' });
    const other = await addMethod('oidc_generic', oidcConfig());
    await refused(service.call('PUT', `${METHODS}/${other.id}`, { body: { name } }), 409, 'ALREADY_EXISTS');
    const again = { name, type: 'oidc_generic', app_connection_id: machine.id, config: oidcConfig() };
    await refused(service.call('POST', METHODS, { body: again }), 409, 'ALREADY_EXISTS');
    await invalid(service.call('PUT', `${METHODS}/${other.id}`, { body: { type: 'spiffe' } }), '/body/type');
    await ok(service.call('DELETE', `${METHODS}/${made.id}`), 200);
    for (const id of [String(made.id), '0', 'x', '1e3', '-1', '01']) {
      await refused(service.call('GET', `${METHODS}/${id}`), 404, 'NOT_FOUND');
    }
  });

  test('a config is held against its own type, with the place of what is wrong', async () => {
    const make = (type: string, config: unknown) =>
      service.call('POST', METHODS, { body: { name: uniqueName('m'), type, app_connection_id: machine.id, config } });
    const cases: [string, unknown, string][] = [
      ['oidc_generic', {}, '/body/config/expected_issuer'],
      ['oidc_generic', oidcConfig({ more: 1 }), '/body/config/more'],
      ['oidc_generic', oidcConfig({ allowed_subjects: 'x' }), '/body/config/allowed_subjects'],
      ['oidc_generic', oidcConfig({ allowed_subjects: ['ok', '('] }), '/body/config/allowed_subjects/1'],
      ['oidc_generic', oidcConfig({ allowed_subjects: ['(a+)+\\1'] }), '/body/config/allowed_subjects/0'],
      ['oidc_generic', oidcConfig({ allowed_subjects: Array(65).fill('a') }), '/body/config/allowed_subjects'],
      ['oidc_generic', oidcConfig({ expected_audience: 'a b' }), '/body/config/expected_audience'],
      ['oidc_generic', oidcConfig({ expected_issuer: 'https://u:p@x.example' }), '/body/config/expected_issuer'],
      ['spiffe', oidcConfig(), '/body/config/trust_domain'],
      ['aws_iam', { allowed_arns: [], sts_endpoint: 'https://evil.example' }, '/body/config/sts_endpoint'],
      ['aws_iam', { allowed_arns: [], sts_endpoint: 'http://169.254.169.254' }, '/body/config/sts_endpoint'],
      [
        'gcp_iam',
        { expected_audience: AUDIENCE, allowed_emails: [], issuer: 'https://8.8.8.8' },
        '/body/config/issuer',
      ],
      ['azure_msi', { expected_audience: 'a', allowed_object_ids: [], tenant_id: 'x' }, '/body/config/tenant_id'],
    ];
    for (const [type, config, pointer] of cases) await invalid(make(type, config), pointer);
    await invalid(make('password', {}), '/body/type');
    await invalid(make('spiffe', 'x'), '/body/config');
    await ok(make('aws_iam', { allowed_arns: [], sts_endpoint: 'https://sts.eu-central-1.amazonaws.com' }), 201);
    await ok(make('azure_msi', { expected_audience: AUDIENCE, allowed_object_ids: [] }), 201);
  });

  test('a token for another service opens nothing: only audiences that the operator lists may be expected', async () => {
    const make = (expected_audience: string) =>
      service.call('POST', METHODS, {
        body: {
          name: uniqueName('m'),
          type: 'oidc_generic',
          app_connection_id: machine.id,
          config: oidcConfig({ expected_audience }),
        },
      });
    for (const other of ['https://other.example', `${AUDIENCE}/`, AUDIENCE.toUpperCase(), '*']) {
      await invalid(make(other), '/body/config/expected_audience');
      assert.ok((await make(other)).text.includes(`${AUDIENCE} or coffer`));
    }
    const { id, warnings } = await ok(make('coffer'), 201);
    assert.deepEqual(warnings, []);
    const logIn = async () => logInWith(service, { method_id: id, oidc_token: await oidcToken({ aud: 'coffer' }) });
    await ok(logIn());
    // The operator removes an audience, or the method is of a release that accepted any.
    const { addresses } = service.app.kernel;
    mock.method(addresses, 'refusalOfAudience', () => 'must be another');
    try {
      await deniedFor(service, logIn(), /expected_audience must be another/);
      const read = await ok(service.call('GET', `${METHODS}/${id}`));
      assert.deepEqual(read.warnings, ['Every login is refused: expected_audience must be another.']);
    } finally {
      mock.restoreAll();
    }
    await ok(logIn());
  });

  test('a reviewer’s token is never shown, stored where it goes, and sent nowhere else', async () => {
    const config = {
      issuer: cluster.url,
      ca_cert_pem: cluster.caPem,
      allowed_namespaces: ['shop'],
      allowed_sa_names: ['checkout'],
    };
    const reviewer = await cluster.token(cluster.url, 'coffer', 'reviewer');
    const made = await addMethod('k8s_sa', { ...config, token_reviewer_jwt: reviewer });
    const put = (body: object) => service.call('PUT', `${METHODS}/${made.id}`, { body });
    const shown = [
      made,
      await ok(service.call('GET', `${METHODS}/${made.id}`)),
      await ok(service.call('GET', METHODS)),
    ];
    assert.ok(!JSON.stringify(shown).includes(reviewer));
    assert.deepEqual(made.secrets_set, ['token_reviewer_jwt']);
    const { database: db } = service.app.kernel;
    const rows = await db.read.selectFrom('workload_methods').selectAll().execute();
    assert.ok(!rows.some((row) => JSON.stringify(row).includes(reviewer)), 'stored as it is');

    await ok(put({ config: { ...config, allowed_sa_names: ['checkout', 'basket'] } }));
    const logIn = async () =>
      logInWith(service, {
        method_id: made.id,
        k8s_token: await cluster.token(AUDIENCE, 'shop', 'basket', { exp: seconds(600_000) }),
      });
    await ok(logIn());
    assert.equal(cluster.requests[0]?.bearer, reviewer);
    for (const moved of [
      { api_server_url: 'https://evil.example' },
      { issuer: 'https://evil.example' },
      { ca_cert_pem: `${cluster.caPem}\n${cluster.caPem}` },
    ]) {
      await invalid(put({ config: { ...config, ...moved } }), '/body/config/token_reviewer_jwt');
    }
    const both = { ...config, allowed_sa_names: ['checkout', 'basket'] };
    await ok(put({ config: { ...both, api_server_url: cluster.url, token_reviewer_jwt: reviewer } }));
    await ok(logIn());
  });

  test('methods and connections of another tenant do not exist', async () => {
    const tenant = await addTenant(service);
    const token = tenant.owner.token;
    const { id } = await addMethod('oidc_generic', oidcConfig());
    for (const [method, body] of [['GET'], ['PUT', { name: 'x' }], ['DELETE']] as const) {
      await refused(service.call(method, `${METHODS}/${id}`, { token, ...(body && { body }) }), 404, 'NOT_FOUND');
    }
    const body = { name: 'theirs', type: 'oidc_generic', app_connection_id: machine.id, config: oidcConfig() };
    await refused(service.call('POST', METHODS, { token, body }), 404, 'NOT_FOUND');
    const vaultOfTheirs = await addVault(service, {}, token);
    const own = await addConnection(service, vaultOfTheirs, {}, token);
    const theirs = await addMethod('oidc_generic', oidcConfig(), { app_connection_id: own.id }, token);
    await refused(service.call('GET', `${METHODS}/${theirs.id}`), 404, 'NOT_FOUND');
    const listed = await allPages(service, METHODS, 'methods', { token });
    assert.deepEqual(
      listed.map((one) => one.id),
      [theirs.id],
    );
    // Its token opens nothing here, though the vault's name is known.
    const { cv_jwt } = await ok(logInWith(service, { method_id: theirs.id, oidc_token: await oidcToken() }));
    await refused(readAs(cv_jwt), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('a caller without permission to change the connection or to share its vaults makes no method for it', async () => {
    const member = await addPerson(service, { role: 'member' });
    const body = () => ({
      name: uniqueName('m'),
      type: 'oidc_generic',
      app_connection_id: machine.id,
      config: oidcConfig(),
    });
    const make = (token: string) => service.call('POST', METHODS, { token, body: body() });
    await refused(make(member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const restricted = await addToken(service, service.adminToken, { scope: { vaults: [vault], actions: ['*'] } });
    await refused(make(restricted.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('nothing of a credential is in the logs or the audit log', async () => {
    const { id } = await addMethod('oidc_generic', oidcConfig());
    const good = await oidcToken();
    const { cv_jwt } = await ok(logInWith(service, { method_id: id, oidc_token: good }));
    const bad = 'verysecret.verysecret.verysecret';
    await refused(logInWith(service, { method_id: id, oidc_token: bad }), 401, 'LOGIN_DENIED');
    const raw = `{"method_id": ${id}, "oidc_token": "verysecret`;
    await refused(logInWith(service, raw), 400, 'INVALID_REQUEST');
    await refused(logInWith(service, { method_id: id, oidc_token: { verysecret: 1 } }), 422, 'VALIDATION_FAILED');
    const audit = await ok(service.call('GET', '/v1/audit?limit=200'));
    const texts = [service.logs.join('\n'), JSON.stringify(audit)];
    for (const text of texts) {
      for (const secret of ['verysecret', good.split('.')[2] ?? '', cv_jwt.split('.')[2]])
        assert.ok(!text.includes(secret));
    }
  });

  test('logins are limited by address', async () => {
    const headers = fromElsewhere();
    const answers = await Promise.all(
      Array.from({ length: 70 }, () => logInWith(service, { method_id: 1, oidc_token: 'x.y.z' }, headers)),
    );
    assert.equal(answers.filter(({ status }) => status === 429).length, 10);
  });
});
