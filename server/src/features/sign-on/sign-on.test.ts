import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { json, newIssuerKey, OutsideIssuer, signed } from '../../../../test/support/external-issuer.ts';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import {
  addPerson,
  addTenant,
  approved,
  ok,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, confirm, type Device, finish, poll, sendForm, startDevice } from '../../../../test/support/sign-on.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';

/** People who sign in with the OpenID provider of their organization, for their command line. */

const idp = await OidcIssuer.start();
/** Answers whatever a test wants, which a real provider would not. */
const forger = await OutsideIssuer.start();
const key = await newIssuerKey('k', 'RS256');
after(() => {
  idp.close();
  forger.close();
});

onSqliteAtLanding('sign-on', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    await idp.register(service.url);
  });
  after(() => service.close());
  beforeEach(() => {
    forger.keys = [key.jwk];
    forger.instead.clear();
    const sub = uniqueName('subject');
    idp.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada', groups: [] };
  });

  const fields = (more: object = {}) => ({
    name: 'idp',
    issuer: idp.url,
    client_id: 'coffer',
    client_secret: 'coffer-client-secret',
    default_role: 'member',
    ...more,
  });
  const addProvider = async (more: object = {}): Promise<Tenant> => {
    const tenant = await addTenant(service);
    await ok(service.call('POST', '/auth/sso/providers', { token: tenant.owner.token, body: fields(more) }), 201);
    return tenant;
  };
  const change = (tenant: Tenant, body: object) =>
    ok(service.call('PATCH', '/auth/sso/providers/idp', { token: tenant.owner.token, body }));
  /** The whole way of a person: the last answer of their browser. */
  const signIn = async (tenant: Tenant, device?: Device): Promise<{ answer: Answer; device: Device }> => {
    const own = device ?? (await startDevice(service, { provider: 'idp', tenant: tenant.name }));
    const { cookie, authorizationUrl } = await begin(service, 'idp', own, tenant.name);
    return { answer: await finish(service, await idp.signIn(authorizationUrl), cookie), device: own };
  };
  const sessionOf = async (tenant: Tenant): Promise<string> => {
    const { answer, device } = await signIn(tenant);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.text, /Return to the command line/);
    const { status, token } = await ok(poll(service, device));
    assert.equal(status, 'approved');
    return token;
  };
  const me = (token: string) => ok(service.call('GET', '/auth/me', { token }));
  const reasonOf = async (tenant: Tenant, answer: Answer): Promise<string> => {
    await refused(Promise.resolve(answer), 401, 'LOGIN_DENIED');
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=20', { token: tenant.owner.token }));
    const id = answer.headers.get('x-request-id');
    return entries.find((entry: { request_id: string }) => entry.request_id === id)?.reason ?? '';
  };

  describe('a person', () => {
    test('gets an account at the first sign-in, and the same one at the next', async () => {
      const tenant = await addProvider();
      const [one, two] = [await sessionOf(tenant), await sessionOf(tenant)];
      const [first, second] = [await me(one), await me(two)];
      assert.equal(first.user.id, second.user.id);
      assert.deepEqual(
        [first.user.email, first.user.name, first.user.role, first.tenant.name, first.credential.kind],
        [idp.account['email'], 'Ada', 'member', tenant.name, 'session'],
      );
      const { users } = await ok(service.call('GET', '/v1/users', { token: tenant.owner.token }));
      assert.equal(users.length, 2);
      assert.equal(users.find(({ id }: { id: string }) => id === first.user.id)?.has_password, false);
      const path = '/v1/audit?action=auth:sso_sign_in';
      const { entries } = await ok(service.call('GET', path, { token: tenant.owner.token }));
      assert.deepEqual(
        entries.map(({ decision, details }: Answer['body']) => [decision, details.subject, details.created]),
        [
          ['allow', idp.account.sub, false],
          ['allow', idp.account.sub, true],
        ],
      );
      assert.ok(!service.logs.some((line) => line.includes('coffer-client-secret') || line.includes(one)));
    });

    test('has the role and groups that the provider says, at each sign-in anew', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: 'deployers' } }), 201);
      const mapping = { role_mapping: { Admins: 'admin', Audit: 'auditor' }, group_mapping: { Ops: 'deployers' } };
      await ok(service.call('POST', '/auth/sso/providers', { token, body: fields(mapping) }), 201);
      const members = async () =>
        (await ok(service.call('GET', `/v1/groups/${group.id}/members`, { token }))).members.map(
          ({ user_id }: { user_id: string }) => user_id,
        );
      const { user } = await me(await sessionOf(tenant));
      assert.deepEqual([user.role, await members()], ['member', []]);
      idp.account = { ...idp.account, groups: ['Audit', 'Admins', 'Ops', 'Other'] };
      const session = await sessionOf(tenant);
      assert.deepEqual([(await me(session)).user.role, await members()], ['admin', [user.id]]);
      idp.account = { ...idp.account, groups: 'Audit' };
      await sessionOf(tenant);
      assert.deepEqual([(await me(session)).user.role, await members()], ['auditor', []]);
    });

    test('joins groups of their own tenant only', async () => {
      const [tenant, other] = [await addTenant(service), await addTenant(service)];
      await ok(service.call('POST', '/v1/groups', { token: other.owner.token, body: { name: 'theirs' } }), 201);
      const body = fields({ group_mapping: { Ops: 'theirs' } });
      const { token } = tenant.owner;
      await refused(service.call('POST', '/auth/sso/providers', { token, body }), 422, 'VALIDATION_FAILED');
    });

    test('without a role is refused, and gets no account', async () => {
      const tenant = await addProvider({ default_role: null, role_mapping: { Staff: 'member' } });
      const { answer, device } = await signIn(tenant);
      assert.match(await reasonOf(tenant, answer), /no role/);
      assert.equal((await ok(poll(service, device))).status, 'pending');
      const { users } = await ok(service.call('GET', '/v1/users', { token: tenant.owner.token }));
      assert.equal(users.length, 1);
      idp.account = { ...idp.account, groups: ['Staff'] };
      await sessionOf(tenant);
    });

    test('whose groups give no role any more loses the role and the mapped groups, and is refused', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: 'deployers' } }), 201);
      const mapping = { default_role: null, role_mapping: { Admins: 'admin' }, group_mapping: { Ops: 'deployers' } };
      await ok(service.call('POST', '/auth/sso/providers', { token, body: fields(mapping) }), 201);
      idp.account = { ...idp.account, groups: ['Admins', 'Ops'] };
      const session = await sessionOf(tenant);
      assert.equal((await me(session)).user.role, 'admin');
      idp.account = { ...idp.account, groups: [] };
      assert.match(await reasonOf(tenant, (await signIn(tenant)).answer), /no role/);
      const { user } = await me(session);
      assert.equal(user.role, 'member');
      await refused(service.call('GET', '/v1/users', { token: session }), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.deepEqual((await ok(service.call('GET', `/v1/groups/${group.id}/members`, { token }))).members, []);
      const { entries } = await ok(service.call('GET', '/v1/audit?action=auth:sso_role_removed', { token }));
      assert.deepEqual(
        entries.map(({ resource, details }: Answer['body']) => [resource, details.former_role, details.left]),
        [[`user/${user.id}`, 'admin', ['deployers']]],
      );
      await ok(service.call('PATCH', `/v1/users/${user.id}`, { token, body: { role: 'owner' } }));
      assert.match(await reasonOf(tenant, (await signIn(tenant)).answer), /no role/);
      assert.equal((await me(session)).user.role, 'owner', 'an owner stays an owner');
      assert.equal((await ok(service.call('GET', '/v1/audit/verify', { token }))).valid, true);
    });

    test('who was disabled stays out, also between the confirmation and the poll', async () => {
      const tenant = await addProvider();
      const { user } = await me(await sessionOf(tenant));
      const { device } = await signIn(tenant);
      const body = { status: 'disabled' };
      await ok(service.call('PATCH', `/v1/users/${user.id}`, { token: tenant.owner.token, body }));
      await refused(poll(service, device), 401, 'LOGIN_DENIED');
      assert.match(await reasonOf(tenant, (await signIn(tenant)).answer), /disabled/);
    });

    test('is not another one with the same e-mail address', async () => {
      const tenant = await addProvider();
      await sessionOf(tenant);
      idp.account = { ...idp.account, sub: uniqueName('thief') };
      const { answer, device } = await signIn(tenant);
      assert.match(await reasonOf(tenant, answer), /belongs to another account/);
      assert.match(answer.body.error.message, /already an account with your e-mail address/);
      assert.equal((await ok(poll(service, device))).status, 'pending');
      idp.account = { ...idp.account, sub: uniqueName('thief'), email: tenant.owner.email };
      assert.match(await reasonOf(tenant, (await signIn(tenant)).answer), /belongs to another account/);
    });

    test('needs an e-mail address that the provider does not call unverified', async () => {
      const tenant = await addProvider();
      for (const email_verified of [false, 'false', '', 0, null, 'yes', 1, ['true'], {}]) {
        idp.account = { ...idp.account, email_verified };
        const { answer } = await signIn(tenant);
        assert.match(await reasonOf(tenant, answer), /no verified e-mail/, JSON.stringify(email_verified));
      }
    });

    test('signs in after the provider rotated its keys', async () => {
      const tenant = await addProvider();
      await sessionOf(tenant);
      await idp.rotate();
      await sessionOf(tenant);
    });
  });

  describe('what must not work', () => {
    test('a state or code that is used again', async () => {
      const tenant = await addProvider();
      const device = await startDevice(service);
      const { cookie, authorizationUrl } = await begin(service, 'idp', device, tenant.name);
      const callback = await idp.signIn(authorizationUrl);
      assert.equal((await finish(service, callback, cookie)).status, 200);
      const { code = '', state = '', iss = '' } = Object.fromEntries(new URL(callback).searchParams);
      const again = await confirm(service, new URL(callback).pathname, { code, state, iss }, cookie);
      assert.match(await reasonOf(tenant, again), /state was used/);
      // The same code in another sign-in, with its own state.
      const other = await startDevice(service);
      const next = await begin(service, 'idp', other, tenant.name);
      const fresh = new URL(next.authorizationUrl).searchParams.get('state') ?? '';
      const replayed = await confirm(service, new URL(callback).pathname, { code, state: fresh, iss }, next.cookie);
      assert.match(await reasonOf(tenant, replayed), /invalid_grant/);
      assert.equal((await ok(poll(service, other))).status, 'pending');
    });

    test('two that finish the same sign-in at once: one does', async () => {
      const tenant = await addProvider();
      const { cookie, authorizationUrl } = await begin(service, 'idp', await startDevice(service), tenant.name);
      const { pathname, searchParams } = new URL(await idp.signIn(authorizationUrl));
      const answer = Object.fromEntries(searchParams);
      const both = [1, 2, 3].map(() => confirm(service, pathname, answer, cookie));
      assert.deepEqual((await Promise.all(both)).map(({ status }) => status).sort(), [200, 401, 401]);
    });

    test('the state of another browser, no cookie, a changed cookie, one that has expired', async () => {
      const tenant = await addProvider();
      const [mine, theirs] = [
        await begin(service, 'idp', await startDevice(service), tenant.name),
        await begin(service, 'idp', await startDevice(service), tenant.name),
      ];
      const callback = await idp.signIn(theirs.authorizationUrl);
      const denied = async (answer: Answer) => refused(Promise.resolve(answer), 401, 'LOGIN_DENIED');
      await denied(await finish(service, callback, mine.cookie));
      await denied(await finish(service, callback, ''));
      await denied(await finish(service, callback, `${theirs.cookie.slice(0, -4)}AAAA`));
      await denied(await finish(service, callback, `${theirs.cookie}; ${mine.cookie}`));
      const { code = '', state = '' } = Object.fromEntries(new URL(callback).searchParams);
      await denied(await confirm(service, new URL(callback).pathname, { code, state }, mine.cookie));
      service.clock.advance(10 * MINUTE_MS + 1);
      await denied(await finish(service, callback, theirs.cookie));
    });

    test('a callback alone signs nobody in', async () => {
      const tenant = await addProvider();
      const device = await startDevice(service);
      const { cookie, authorizationUrl } = await begin(service, 'idp', device, tenant.name);
      const { pathname, search } = new URL(await idp.signIn(authorizationUrl));
      const headers = { ...fromElsewhere(), cookie };
      const shown = await service.call('GET', `${pathname}${search}&session_state=x`, { token: null, headers });
      assert.equal(shown.status, 200, shown.text);
      assert.match(shown.text, /Is this your command line\?/);
      assert.ok(!shown.text.includes(device.user_code), 'somebody who has no command line cannot type it');
      assert.equal((await ok(poll(service, device))).status, 'pending');
    });

    test('a provider that is disabled, changed or deleted meanwhile', async () => {
      const tenant = await addProvider();
      const begun = async () => begin(service, 'idp', await startDevice(service), tenant.name);
      const one = await begun();
      const callback = await idp.signIn(one.authorizationUrl);
      await change(tenant, { enabled: false });
      assert.match(await reasonOf(tenant, await finish(service, callback, one.cookie)), /disabled/);
      const { user_code } = await startDevice(service);
      const refusal = await sendForm(service, '/auth/sso/idp', { user_code, tenant: tenant.name });
      assert.match(await reasonOf(tenant, refusal), /disabled/);
      await change(tenant, { enabled: true });
      const two = await begun();
      const second = await idp.signIn(two.authorizationUrl);
      await change(tenant, { default_role: 'auditor' });
      assert.match(await reasonOf(tenant, await finish(service, second, two.cookie)), /changed meanwhile/);
    });

    test('a command line after the sessions of its person were ended', async () => {
      const tenant = await addProvider();
      const { user } = await me(await sessionOf(tenant));
      const { device } = await signIn(tenant);
      for (const status of ['disabled', 'active']) {
        await ok(service.call('PATCH', `/v1/users/${user.id}`, { token: tenant.owner.token, body: { status } }));
      }
      await refused(poll(service, device), 401, 'LOGIN_DENIED');
      await sessionOf(tenant);
    });

    test('the provider of another tenant', async () => {
      const [tenant, other] = [await addProvider(), await addTenant(service)];
      const { user_code } = await startDevice(service);
      const refusal = await sendForm(service, '/auth/sso/idp', { user_code, tenant: other.name });
      assert.match(await reasonOf(other, refusal), /no such provider/);
      const path = '/auth/sso/providers/idp';
      await refused(service.call('GET', path, { token: other.owner.token }), 404, 'NOT_FOUND');
      await refused(service.call('DELETE', path, { token: other.owner.token }), 404, 'NOT_FOUND');
      await sessionOf(tenant);
    });

    test('guessing codes', async () => {
      const tenant = await addProvider();
      const headers = fromElsewhere();
      const guess = () => sendForm(service, '/auth/sso/idp', { user_code: 'BBBB-BBBB', tenant: tenant.name }, headers);
      const statuses: number[] = [];
      for (let i = 0; i < 25; i++) statuses.push((await guess()).status);
      assert.equal(statuses[0], 401);
      assert.ok(statuses.includes(429), `${statuses}`);
    });
  });

  describe('a provider that lies', () => {
    const seconds = () => Math.floor(Date.now() / 1000);
    /** What the forger signs; the nonce is the right one unless a test says otherwise. */
    const attempt = async (claims: Record<string, unknown>, more: { iss?: string; signer?: typeof key } = {}) => {
      const tenant = await addProvider({ issuer: forger.url });
      const discovery = {
        issuer: forger.url,
        jwks_uri: forger.jwksUrl,
        authorization_endpoint: `${forger.url}/authorize`,
        token_endpoint: `${forger.url}/token`,
        authorization_response_iss_parameter_supported: true,
        id_token_signing_alg_values_supported: ['RS256'],
      };
      forger.instead.set('/.well-known/openid-configuration', (_, response) => json(response, discovery));
      const device = await startDevice(service);
      const { cookie, authorizationUrl } = await begin(service, 'idp', device, tenant.name);
      const { nonce, state = '', redirect_uri = '' } = Object.fromEntries(new URL(authorizationUrl).searchParams);
      const all = {
        iss: forger.url,
        aud: 'coffer',
        sub: 'somebody',
        email: `${uniqueName('x')}@acme.example`,
        groups: [],
        nonce,
        iat: seconds(),
        exp: seconds() + 300,
        ...claims,
      };
      const id_token = await signed(more.signer ?? key, JSON.parse(JSON.stringify(all)));
      forger.instead.set('/token', (_, response) =>
        json(response, { access_token: 'x', token_type: 'Bearer', expires_in: 60, id_token }),
      );
      const form = { code: 'c', state, iss: more.iss ?? forger.url };
      return { tenant, device, answer: await confirm(service, new URL(redirect_uri).pathname, form, cookie) };
    };

    test('is believed if everything is right', async () => {
      const { answer, device } = await attempt({});
      assert.equal(answer.status, 200, answer.text);
      assert.equal((await ok(poll(service, device))).status, 'approved');
    });

    const lies: [string, () => Promise<{ tenant: Tenant; device: Device; answer: Answer }>][] = [
      ['wrong nonce', () => attempt({ nonce: 'another' })],
      ['no nonce', () => attempt({ nonce: undefined })],
      ['wrong audience', () => attempt({ aud: 'another' })],
      ['wrong issuer in the token', () => attempt({ iss: idp.url })],
      ['mix-up: wrong issuer in the answer', () => attempt({}, { iss: idp.url })],
      ['expired', () => attempt({ iat: seconds() - 900, exp: seconds() - 600 })],
    ];
    for (const [name, lie] of lies) {
      test(name, async () => {
        const { tenant, device, answer } = await lie();
        assert.match(await reasonOf(tenant, answer), /provider: /);
        assert.equal((await ok(poll(service, device))).status, 'pending');
      });
    }

    test('a signature by another key', async () => {
      const { tenant, answer } = await attempt({}, { signer: await newIssuerKey('k', 'RS256') });
      assert.match(await reasonOf(tenant, answer), /provider: /);
    });
  });

  test('pages hold no script, and only forms of this service', async () => {
    const tenant = encodeURIComponent('a"><script>');
    await refused(service.call('GET', `/auth/sso/x?tenant=${tenant}`, { token: null }), 422, 'VALIDATION_FAILED');
    const shown = await service.call('GET', '/auth/sso/x?tenant=acme', { token: null, headers: fromElsewhere() });
    assert.equal(shown.status, 200);
    assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none'.*form-action 'self'/);
    assert.ok(!/<script|style=/i.test(shown.text));
    const { answer } = await begin(service, 'idp', await startDevice(service), (await addProvider()).name);
    const flags = answer.headers.get('set-cookie') ?? '';
    assert.match(flags, /^__Host-coffer-sso=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/);
  });

  test('a browser gets a page for an error, and others get JSON', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const call = (headers: object) =>
      fetch(`${service.url}/auth/sso/callback/t/idp?code=c&state=s`, { headers: { ...fromElsewhere(), ...headers } });
    const page = await call({ accept });
    const text = await page.text();
    assert.deepEqual([page.status, page.headers.get('content-type')], [401, 'text/html; charset=utf-8']);
    assert.match(text, /<h1>This did not work<\/h1>[\s\S]*start it again from your command line/);
    assert.ok(text.includes(page.headers.get('x-request-id') ?? 'none'));
    assert.ok(!/<script|style=/i.test(text));
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    const json = await call({});
    assert.equal(((await json.json()) as Answer['body']).error.code, 'LOGIN_DENIED');
    const api = await fetch(`${service.url}/auth/sso/providers`, { headers: { ...fromElsewhere(), accept } });
    assert.match(api.headers.get('content-type') ?? '', /^application\/json/, 'only where pages are served');
  });

  test('with required, passwords are for owners only', async () => {
    const tenant = await addProvider();
    const [person, owner] = [await addPerson(service, { tenant }), await addPerson(service, { tenant, role: 'owner' })];
    const invited = { email: `${uniqueName('invited')}@acme.example`, invite: true };
    const { invitation } = await ok(
      service.call('POST', '/v1/users', { token: tenant.owner.token, body: invited }),
      201,
    );
    await ok(tryLogIn(service, person, {}, fromElsewhere()));
    const asked = { token: tenant.owner.token, body: { required: true } };
    await approved(service, service.call('PATCH', '/auth/sso/providers/idp', asked), owner.token);
    const refusal = await refused(tryLogIn(service, person, {}, fromElsewhere()), 401, 'LOGIN_DENIED');
    assert.match(JSON.stringify(refusal), /identity provider/);
    const wrong = await tryLogIn(service, { ...person, password: 'a wrong guess' }, {}, fromElsewhere());
    assert.doesNotMatch(wrong.text, /identity provider/, 'only for whoever knows the password');
    await ok(tryLogIn(service, owner, {}, fromElsewhere()));
    const body = { token: invitation.token, password: 'a password of their own' };
    await refused(service.call('POST', '/auth/accept-invite', { token: null, body }), 401, 'LOGIN_DENIED');
    const looked = { token: null, body: { token: invitation.token } };
    await refused(service.call('POST', '/auth/read-invite', looked), 401, 'LOGIN_DENIED');
    await sessionOf(tenant);
  });
});
