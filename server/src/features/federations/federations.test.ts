import assert from 'node:assert/strict';
import { createHmac, X509Certificate } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  assembled,
  json,
  newIssuerKey,
  OutsideIssuer,
  publicPem,
  signed,
} from '../../../../test/support/external-issuer.ts';
import { deniedFor, entryOf, exchange, fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import {
  addConnection,
  clientHeaders,
  type Machine,
  newDpopKey,
  proofBy,
  tlsCall,
} from '../../../../test/support/machines.ts';
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
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

/** Pipelines that exchange the id_token of their CI system for a certificate and a token. */

const AUDIENCE = OUTSIDE_ENV.CV_AUDIENCE;
const SUBJECT = 'repo:acme/app:ref:refs/heads/main';
const provider = await OidcIssuer.start();
const issuer = await OutsideIssuer.start();
const key = await newIssuerKey('k', 'RS256');
after(() => {
  provider.close();
  issuer.close();
});

onSqliteAtLanding('federations', (database) => {
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
    issuer.keys = [key.jwk];
    issuer.instead.clear();
    issuer.requests.length = 0;
  });

  const pathOf = (connection: number | string, id?: number | string) =>
    `/app-connections/${connection}/federations${id === undefined ? '' : `/${id}`}`;
  const fields = (more: object = {}) => ({
    name: uniqueName('federation'),
    provider: 'custom',
    issuer: issuer.url,
    jwks_url: issuer.jwksUrl,
    subject_pattern: SUBJECT,
    ...more,
  });
  /** A connection of its own with one federation. */
  const federated = async (more: object = {}, connection: Record<string, unknown> = {}) => {
    const own = await addConnection(service, vault, connection);
    const federation = await ok(service.call('POST', pathOf(own.id), { body: fields(more) }), 201);
    return { own, federation };
  };
  const claims = (change: Record<string, unknown> = {}) => {
    const all = { iss: issuer.url, aud: AUDIENCE, sub: SUBJECT, iat: seconds(), exp: seconds(600_000), ...change };
    return JSON.parse(JSON.stringify({ run_id: '42', ...all }));
  };
  const idToken = (change: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
    signed(key, claims(change), header);
  const readAs = (token: string, headers: Record<string, string> = {}): Promise<Answer> =>
    service.call('GET', secretUrl(vault, 'db/main'), { token, headers });

  test('an id_token becomes a certificate and a token of the connection, which end together', async () => {
    const { own, federation } = await federated({ token_ttl_seconds: 600 });
    const started = service.clock.now();
    const answer = await exchange(service, own.client_id, await idToken());
    const took = service.clock.now() - started;
    const { certificate, private_key, ca_chain, client_id, access_token, expires_at } = await ok(
      Promise.resolve(answer),
    );
    assert.equal(client_id, own.client_id);
    const life = Date.parse(expires_at) - service.clock.now();
    assert.ok(life > 570_000 && life <= 600_000, `${life}`);
    const parsed = new X509Certificate(certificate);
    const [authority = ''] = ca_chain.split(/(?<=-----END CERTIFICATE-----\n)/);
    assert.ok(parsed.verify(new X509Certificate(authority).publicKey));
    assert.match(parsed.subjectAltName ?? '', new RegExp(own.client_id));
    assert.ok(Math.abs(parsed.validToDate.getTime() - Date.parse(expires_at)) <= 1000 + took);
    assert.match(private_key, /BEGIN PRIVATE KEY/);

    await ok(readAs(access_token));
    const entry = await entryOf(service, answer);
    assert.deepEqual(
      [entry.action, entry.decision, entry.actor.kind, entry.actor.id, entry.actor.key],
      [
        'federation_exchanged',
        'allow',
        'app_connection',
        own.client_id,
        `federation ${federation.id}: ${SUBJECT} run 42`,
      ],
    );
    service.clock.advance(601_000);
    await refused(readAs(access_token), 401, 'INVALID_TOKEN');
  });

  test('by the number of the connection, and as a bearer token', async () => {
    const { own } = await federated();
    await ok(exchange(service, own.id, await idToken()));
    const headers = fromElsewhere();
    const path = `/app-connections/${own.client_id}/federated-token`;
    await ok(service.call('POST', path, { token: await idToken(), headers, body: {} }));
    await ok(service.call('POST', `/v1${path}`, { token: await idToken(), headers }));
    await ok(service.call('POST', path, { token: 'something else', headers, body: { id_token: await idToken() } }));
    await invalid(service.call('POST', path, { token: null, headers, body: {} }), '/body/id_token');
  });

  test('an issuer that is found by discovery, and rotates its keys', async () => {
    const own = await addConnection(service, vault);
    const body = { name: 'p', provider: 'custom', issuer: provider.url, subject_pattern: 'workload' };
    await ok(service.call('POST', pathOf(own.id), { body }), 201);
    const fresh = await startService(database, { env: OUTSIDE_ENV });
    try {
      const theirVault = await addVault(fresh);
      const theirs = await addConnection(fresh, theirVault);
      await ok(fresh.call('POST', pathOf(theirs.id), { body }), 201);
      const attempt = async () => exchange(fresh, theirs.client_id, await provider.token(AUDIENCE));
      await ok(attempt());
      await provider.rotate();
      await ok(attempt());
      await provider.rotate();
      await deniedFor(fresh, attempt(), /no such key/, { code: 'JWKS_KEY_NOT_FOUND' });
      fresh.clock.advance(31_000);
      await ok(attempt());
    } finally {
      await fresh.close();
    }
  });

  test('keys are cached for five minutes', async () => {
    const tenant = await addTenant(service);
    const theirVault = await addVault(service, {}, tenant.owner.token);
    const own = await addConnection(service, theirVault, {}, tenant.owner.token);
    await ok(service.call('POST', pathOf(own.id), { token: tenant.owner.token, body: fields() }), 201);
    const attempt = async () => exchange(service, own.client_id, await idToken());
    await ok(attempt());
    service.clock.advance(5 * MINUTE_MS - 10_000);
    await ok(attempt());
    assert.equal(issuer.timesRequested('/keys'), 1);
    service.clock.advance(11_000);
    await ok(attempt());
    assert.equal(issuer.timesRequested('/keys'), 2);
  });

  test('concurrent exchanges lose nothing', async () => {
    const { own } = await federated();
    const token = await idToken();
    const all = await Promise.all(Array.from({ length: 20 }, () => ok(exchange(service, own.client_id, token))));
    const serials = new Set(all.map(({ certificate }) => new X509Certificate(certificate).serialNumber));
    assert.equal(serials.size, 20);
    await Promise.all(all.map(({ access_token }) => ok(readAs(access_token))));
    const { read } = service.app.kernel.database;
    const ofThis = (table: 'connection_tokens' | 'certificates') =>
      read.selectFrom(table).select('connection_no').where('connection_no', '=', own.id).execute();
    assert.equal((await ofThis('connection_tokens')).length, 20);
    assert.equal((await ofThis('certificates')).length, 21, 'and the one it was made with');
  });

  describe('tokens that are refused, each with its true reason', () => {
    let own: Machine;
    before(async () => {
      ({ own } = await federated({ claims: { repository_id: '7', protected: true } }));
    });
    const good = { repository_id: '7', protected: true };
    const hmac = async (alg: 'HS256' | 'HS512') => {
      const body = assembled({ alg, kid: 'k', typ: 'JWT' }, claims(good)).slice(0, -1);
      return `${body}.${createHmac(`sha${alg.slice(2)}`, publicPem(key))
        .update(body)
        .digest('base64url')}`;
    };
    const mine = newIssuerKey('k', 'RS256');
    const cases: [string, () => Promise<string>, RegExp, string?][] = [
      ['alg none', async () => assembled({ alg: 'none' }, claims(good), 'x'), /algorithm is not accepted/],
      ['alg none without a signature', async () => assembled({ alg: 'none' }, claims(good)), /not a signed JWT/],
      ['HS256 with the public key', () => hmac('HS256'), /algorithm is not accepted/],
      ['HS512 with the public key', () => hmac('HS512'), /algorithm is not accepted/],
      ['another key of the same id', async () => signed(await mine, claims(good)), /signature is wrong/],
      ['an unknown key id', () => idToken(good, { kid: 'x' }), /no such key/, 'JWKS_KEY_NOT_FOUND'],
      [
        'an unknown key id and a subject that does not match, told apart from one that does by nothing',
        () => idToken({ ...good, sub: 'somebody-else' }, { kid: 'x' }),
        /no such key/,
        'JWKS_KEY_NOT_FOUND',
      ],
      ['SQL as a key id', () => idToken(good, { kid: "' OR 1=1 --" }), /no such key/, 'JWKS_KEY_NOT_FOUND'],
      ['a path as a key id', () => idToken(good, { kid: '../../keys' }), /no such key/, 'JWKS_KEY_NOT_FOUND'],
      ['a key set of its own', () => idToken(good, { jku: `${issuer.url}/keys` }), /header has jku/],
      ['a certificate of its own', () => idToken(good, { x5u: issuer.url }), /header has x5u/],
      ['a key of its own', async () => signed(await mine, claims(good), { jwk: (await mine).jwk }), /header has jwk/],
      ['another audience', () => idToken({ ...good, aud: 'https://other.example' }), /another audience/],
      ['several audiences', () => idToken({ ...good, aud: [AUDIENCE, 'x'] }), /several audiences/],
      ['no audience', () => idToken({ ...good, aud: undefined }), /another audience/],
      ['a time of issue in the future', () => idToken({ ...good, iat: seconds(120_000) }), /in the future/],
      ['no end', () => idToken({ ...good, exp: undefined }), /no valid expiry time/],
      ['an end in the past', () => idToken({ ...good, exp: seconds(-1000) }), /has expired/],
      ['more than ten minutes old', () => idToken({ ...good, iat: seconds(-601_000) }), /too long ago/],
      ['no time of issue', () => idToken({ ...good, iat: undefined }), /no valid time of issue/],
      ['the issuer with a slash', () => idToken({ ...good, iss: `${issuer.url}/` }), /no federation .* this issuer/],
      ['the issuer in other case', () => idToken({ ...good, iss: issuer.url.toUpperCase() }), /no federation/],
      ['another issuer', () => idToken({ ...good, iss: 'https://evil.example' }), /no federation/],
      [
        'another subject',
        () => idToken({ ...good, sub: 'repo:evil/app:ref:refs/heads/main' }),
        /subject does not match/,
      ],
      ['a longer subject', () => idToken({ ...good, sub: `${SUBJECT}2` }), /subject does not match/],
      ['the subject in other case', () => idToken({ ...good, sub: SUBJECT.toUpperCase() }), /subject does not match/],
      ['a wildcard as the subject', () => idToken({ ...good, sub: '**' }), /subject does not match/],
      ['no subject', () => idToken({ ...good, sub: undefined }), /no subject/],
      ['another claim', () => idToken({ ...good, repository_id: '8' }), /claim repository_id has another value/],
      [
        'a claim of another type',
        () => idToken({ ...good, repository_id: 7 }),
        /claim repository_id has another value/,
      ],
      ['a claim as text', () => idToken({ ...good, protected: 'true' }), /claim protected has another value/],
      ['a missing claim', () => idToken({ repository_id: '7' }), /claim protected has another value/],
      ['too long', async () => `${'x'.repeat(16_000)}.${'y'.repeat(380)}.z`, /malformed/],
    ];
    for (const [name, token, reason, code] of cases) {
      test(name, async () => {
        service.clock.advance(31_000);
        await deniedFor(service, exchange(service, own.client_id, await token()), reason, code ? { code } : {});
      });
    }
    test('and a good one is not', async () => {
      await ok(exchange(service, own.client_id, await idToken(good)));
    });
  });

  test('key sets that are huge, slow to change, doubled or redirect let nobody in', async () => {
    const cases: [Parameters<typeof issuer.instead.set>[1], RegExp, string?][] = [
      [(_, r) => json(r, { keys: [key.jwk, { ...key.jwk }] }), /several keys with this id/, 'JWKS_KEY_NOT_FOUND'],
      [(_, r) => json(r, { keys: [key.jwk], more: 'x'.repeat(300_000) }), /too large/],
      [(_, r) => r.writeHead(301, { location: '/keys' }).end(), /redirect/],
      [(_, r) => r.writeHead(200, { 'content-type': 'text/plain' }).end('{}'), /not JSON/],
      [(_, r) => r.writeHead(500).end(), /status 500/],
    ];
    for (const [answer, reason, code] of cases) {
      const jwks_url = `${issuer.url}/${uniqueName('keys')}`;
      issuer.instead.set(new URL(jwks_url).pathname, answer);
      const { own } = await federated({ jwks_url });
      await deniedFor(service, exchange(service, own.client_id, await idToken()), reason, code ? { code } : {});
    }
  });

  test('a connection that is unknown, has no federation, or is another tenant’s takes the same answer', async () => {
    const token = await idToken();
    const none = await addConnection(service, vault);
    const messages = new Set<string>();
    for (const [id, reason] of [
      ['00000000-0000-0000-0000-000000000000', /no such connection/],
      ['999999', /no such connection/],
      ['x', /no such connection/],
      [none.client_id, /no federation/],
    ] as const) {
      const work = exchange(service, id, token);
      await deniedFor(service, work, reason);
      messages.add((await work).body.error.message);
    }
    assert.equal(messages.size, 1);
    const tenant = await addTenant(service);
    const theirVault = await addVault(service, {}, tenant.owner.token);
    const theirs = await addConnection(service, theirVault, {}, tenant.owner.token);
    const options = { token: tenant.owner.token, body: fields() };
    await ok(service.call('POST', pathOf(theirs.id), options), 201);
    for (const id of [theirs.client_id, theirs.id]) {
      assert.equal((await ok(exchange(service, id, token))).client_id, theirs.client_id);
      const denied = exchange(service, id, await idToken({ sub: 'other' }));
      await deniedFor(service, denied, /subject does not match/, { token: tenant.owner.token });
      const { details } = await entryOf(service, await denied, tenant.owner.token);
      assert.deepEqual(details, { presented_subject: 'other' });
    }
    const long = exchange(service, theirs.id, await idToken({ sub: `a\nb${'x'.repeat(900)}` }));
    const { details } = await entryOf(service, await long, tenant.owner.token);
    assert.equal(details.presented_subject, `a\ufffdb${'x'.repeat(253)}`);

    // Of one that is deleted its tenant learns which, and nobody else; of one that never was, who runs the installation.
    await ok(service.call('DELETE', `/v1/app-connections/${theirs.id}`, { token: tenant.owner.token }));
    const gone = await exchange(service, theirs.client_id, token);
    assert.deepEqual((await entryOf(service, gone, tenant.owner.token)).details, { connection: theirs.client_id });
    const headers = clientHeaders(theirs);
    const requests = await service.call('GET', '/v1/vaults/x/secrets/y', { token: null, headers });
    assert.equal(requests.status, 401);
    const entry = await entryOf(service, requests, tenant.owner.token);
    assert.deepEqual([entry.actor.id, entry.decision], [theirs.client_id, 'deny']);
    const client_id = '00000000-0000-4000-8000-000000000001';
    const never = await service.call('GET', '/v1/vaults/x/secrets/y', {
      token: null,
      headers: clientHeaders({ ...theirs, client_id }),
    });
    assert.deepEqual([never.status, never.text.replace(/req_\w+/, '')], [401, requests.text.replace(/req_\w+/, '')]);
    assert.deepEqual((await entryOf(service, never)).details, { client_id });
  });

  test('disabling, changing or deleting a federation ends exchanges and what it issued, and no other', async () => {
    const { own, federation } = await federated();
    const kept = await ok(
      service.call('POST', pathOf(own.id), { body: fields({ subject_pattern: 'repo:acme/two:x' }) }),
      201,
    );
    const attempt = async (sub = SUBJECT) => exchange(service, own.client_id, await idToken({ sub }));
    const other = await ok(attempt('repo:acme/two:x'));
    const steps: [string, object | undefined, RegExp][] = [
      ['PUT', { enabled: false }, /it is disabled/],
      ['PUT', { enabled: true, subject_pattern: 'repo:acme/three:x' }, /subject does not match/],
      ['DELETE', undefined, /subject does not match/],
    ];
    for (const [method, body, reason] of steps) {
      const reset = { enabled: true, subject_pattern: SUBJECT };
      await ok(service.call('PUT', pathOf(own.id, federation.id), { body: reset }));
      const { access_token } = await ok(attempt());
      await ok(readAs(access_token));
      await ok(service.call(method, pathOf(own.id, federation.id), body && { body }), 200);
      await deniedFor(service, attempt(), reason);
      await refused(readAs(access_token), 401, 'INVALID_TOKEN');
      await ok(readAs(other.access_token));
    }
    await ok(service.call('DELETE', `/v1/app-connections/${own.id}`), 200);
    await refused(readAs(other.access_token), 401, 'INVALID_TOKEN');
    await deniedFor(service, attempt('repo:acme/two:x'), /no such connection/);
    assert.ok(kept.id);
  });

  test('who was let in a moment before the federation was deleted gets nothing', async () => {
    const jwks_url = `${issuer.url}/${uniqueName('keys')}`;
    const requests = Promise.withResolvers<() => void>();
    issuer.instead.set(new URL(jwks_url).pathname, (_, response) =>
      requests.resolve(() => json(response, { keys: [key.jwk] })),
    );
    const { own, federation } = await federated({ jwks_url });
    const work = exchange(service, own.client_id, await idToken());
    const answer = await requests.promise;
    await ok(service.call('DELETE', pathOf(own.id, federation.id)), 200);
    answer();
    await deniedFor(service, work, /federation changed meanwhile/);
    const { read } = service.app.kernel.database;
    const rows = await read.selectFrom('connection_tokens').selectAll().where('connection_no', '=', own.id).execute();
    const certificates = await read
      .selectFrom('certificates')
      .selectAll()
      .where('connection_no', '=', own.id)
      .execute();
    assert.deepEqual([rows.length, certificates.length], [0, 1]);
  });

  test('addresses and keys are requested once the pipeline has proven who it is', async () => {
    const dpop = await newDpopKey();
    const { own } = await federated({}, { ip_allowlist: ['192.0.2.0/24'], require_dpop: true, dpop_jkt: dpop.jkt });
    const there = { 'x-forwarded-for': '192.0.2.7' };
    await deniedFor(service, exchange(service, own.client_id, await idToken({ aud: 'x' })), /another audience/);
    const from = exchange(service, own.client_id, await idToken());
    await deniedFor(service, from, /ip_not_allowed/, { code: 'IP_NOT_ALLOWED', status: 403 });
    await refused(exchange(service, own.client_id, await idToken(), there), 403, 'DPOP_REQUIRED');
    const htu = `${service.url}/app-connections/${own.client_id}/federated-token`;
    const proof = await proofBy(dpop, { htm: 'POST', htu, at: service.clock.now() });
    const { access_token } = await ok(exchange(service, own.client_id, await idToken(), { ...there, dpop: proof }));
    await refused(readAs(access_token, there), 401, 'INVALID_TOKEN');
  });

  test('only an audience that the operator lists replaces that of the service', async () => {
    const own = await addConnection(service, vault);
    const body = { name: 'ci', provider: 'github', subject_pattern: SUBJECT };
    const make = (audience: string) => service.call('POST', pathOf(own.id), { body: { ...body, audience } });
    await invalid(make('https://github.com/acme'), '/body/audience');
    const { id } = await ok(make('coffer'), 201);
    const put = (audience: string | null) => service.call('PUT', pathOf(own.id, id), { body: { audience } });
    await invalid(put('https://github.com/acme'), '/body/audience');
    assert.equal((await ok(put(null))).audience, AUDIENCE);
  });

  test('federations are made, listed, read, changed and deleted, with what is known of their provider', async () => {
    const own = await addConnection(service, vault);
    const make = (body: object) => service.call('POST', pathOf(own.id), { body: { name: uniqueName('f'), ...body } });
    const subject_pattern = SUBJECT;
    const github = await ok(make({ provider: 'github', subject_pattern }), 201);
    assert.deepEqual(
      [github.issuer, github.jwks_url, github.audience, github.token_ttl_seconds, github.enabled, github.claims],
      ['https://token.actions.githubusercontent.com', null, AUDIENCE, 900, true, {}],
    );
    const gitlab = await ok(make({ provider: 'gitlab', subject_pattern: 'project_path:acme/app:*' }), 201);
    assert.deepEqual(
      [gitlab.issuer, gitlab.jwks_url],
      ['https://gitlab.com', 'https://gitlab.com/oauth/discovery/keys'],
    );
    const workspace = 'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc';
    const bitbucket = await ok(make({ provider: 'bitbucket', issuer: workspace, subject_pattern: '{7a}:*' }), 201);
    assert.equal(bitbucket.jwks_url, `${workspace}/keys.json`);
    const jenkins = {
      provider: 'jenkins',
      issuer: 'https://ci.example/oidc',
      subject_pattern: 'https://ci.example/job/*/',
    };
    assert.equal((await ok(make(jenkins), 201)).jwks_url, 'https://ci.example/oidc/jwks');
    const teamcity = { provider: 'teamcity', issuer: 'https://tc.example', subject_pattern: 'project:shop:**' };
    assert.equal((await ok(make(teamcity), 201)).jwks_url, 'https://tc.example/.well-known/jwks.json');

    const all = await allPages(service, `${pathOf(own.client_id)}?limit=2`, 'federations');
    assert.equal(all.length, 5);
    assert.deepEqual(await ok(service.call('GET', pathOf(own.client_id, github.id))), github);
    const put = (body: object) => service.call('PUT', pathOf(own.id, gitlab.id), { body });
    const moved = await ok(put({ issuer: 'https://gitlab.acme.example' }));
    assert.equal(moved.jwks_url, 'https://gitlab.acme.example/oauth/discovery/keys', 'it follows the issuer');
    assert.equal(moved.subject_pattern, gitlab.subject_pattern);
    await refused(put({ name: github.name }), 409, 'ALREADY_EXISTS');
    await invalid(put({ provider: 'github' }), '/body/provider');
    await ok(service.call('DELETE', pathOf(own.id, gitlab.id)), 200);
    for (const id of [String(gitlab.id), '0', 'x'])
      await refused(service.call('GET', pathOf(own.id, id)), 404, 'NOT_FOUND');
    await refused(service.call('GET', pathOf(machine.id, github.id)), 404, 'NOT_FOUND');
  });

  test('what could let in more than it seems is refused', async () => {
    const make = (body: object) => service.call('POST', pathOf(machine.id), { body: { ...fields(), ...body } });
    const patterns = [
      '*',
      '**',
      '*:*',
      'repo:*',
      'repo:acme*',
      'repo:acme*/app:x',
      'repo:**',
      'r*',
      'a***b',
      'a b',
      '',
    ];
    for (const subject_pattern of patterns) await invalid(make({ subject_pattern }), '/body/subject_pattern');
    const cases: [object, string][] = [
      [{ provider: 'jenkins', issuer: undefined }, '/body/issuer'],
      [{ provider: 'bitbucket' }, '/body/issuer'],
      [{ issuer: 'http://u:p@x.example' }, '/body/issuer'],
      [{ issuer: 'https://x.example/?a' }, '/body/issuer'],
      [{ jwks_url: 'file:///etc/passwd' }, '/body/jwks_url'],
      [{ claims: { iss: 'x' } }, '/body/claims/iss'],
      [{ claims: { sub: 'x' } }, '/body/claims/sub'],
      [{ claims: { a: ['x'] } }, '/body/claims/a'],
      [{ claims: { 'a b': { any: 'thing' } } }, '/body/claims/?'],
      [{ claims: { ['a'.repeat(129)]: ['x'] } }, '/body/claims/?'],
      [{ token_ttl_seconds: 299 }, '/body/token_ttl_seconds'],
      [{ token_ttl_seconds: 3601 }, '/body/token_ttl_seconds'],
      [{ provider: 'travis' }, '/body/provider'],
      [{ more: 1 }, '/body/more'],
    ];
    for (const [body, pointer] of cases) await invalid(make(body), pointer);
    const pinned = { subject_pattern: 'repo:acme*/**', claims: { repository_owner_id: '7' } };
    const { id } = await ok(make(pinned), 201);
    await invalid(service.call('PUT', pathOf(machine.id, id), { body: { claims: {} } }), '/body/subject_pattern');
  });

  test('subjects are matched as the pattern says, with wildcards and without their tricks', async () => {
    const { own } = await federated({ subject_pattern: 'repo:acme/*:ref:refs/heads/**' });
    const attempt = async (sub: string) => (await exchange(service, own.client_id, await idToken({ sub }))).status;
    assert.equal(await attempt('repo:acme/app:ref:refs/heads/a/b'), 200);
    for (const sub of [
      'repo:acme-evil/app:ref:refs/heads/main',
      'repo:acme/app:pull_request:ref:refs/heads/main',
      'repo:acme/app/x:ref:refs/heads/main',
      'repo:evil/x:repo:acme/app:ref:refs/heads/main',
      'repo:acme/app:ref:refs/tags/v1|repo:acme/app:ref:refs/heads/main',
    ]) {
      assert.equal(await attempt(sub), 401, sub);
    }
  });

  test('federations of another tenant do not exist, and rights to the connection’s vaults are requested', async () => {
    const { own, federation } = await federated();
    const tenant = await addTenant(service);
    for (const id of [own.id, own.client_id]) {
      const token = tenant.owner.token;
      await refused(service.call('GET', pathOf(id), { token }), 404, 'NOT_FOUND');
      await refused(service.call('POST', pathOf(id), { token, body: fields() }), 404, 'NOT_FOUND');
      await refused(service.call('GET', pathOf(id, federation.id), { token }), 404, 'NOT_FOUND');
      await refused(service.call('DELETE', pathOf(id, federation.id), { token }), 404, 'NOT_FOUND');
    }
    const member = await addPerson(service, { role: 'member' });
    const options = { token: member.token, body: fields() };
    await refused(service.call('POST', pathOf(own.id), options), 403, 'INSUFFICIENT_PRIVILEGE');
    const restricted = await addToken(service, service.adminToken, { scope: { vaults: [vault], actions: ['*'] } });
    const limited = service.call('POST', pathOf(own.id), { token: restricted.token, body: fields() });
    await refused(limited, 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('no token, key or id_token is in the logs or the audit log', async () => {
    const { own } = await federated();
    const good = await idToken();
    const { access_token, private_key } = await ok(exchange(service, own.client_id, good));
    await refused(exchange(service, own.client_id, 'verysecret.verysecret.verysecret'), 401, 'LOGIN_DENIED');
    const texts = [service.logs.join('\n'), JSON.stringify(await ok(service.call('GET', '/v1/audit?limit=200')))];
    const secrets = ['verysecret', good.split('.')[2], access_token.split('.')[2], private_key.split('\n')[1]];
    for (const text of texts) for (const secret of secrets) assert.ok(!text.includes(String(secret)));
  });

  test('an exchange late in the life of a connection is one like the first', async () => {
    const { own } = await federated();
    service.clock.advance(HOUR_MS);
    await ok(exchange(service, own.client_id, await idToken()));
  });
});

onSqliteAtLanding('certificates of federations', (database) => {
  let service: Service;
  let vault: string;

  before(async () => {
    const { CV_TRUSTED_PROXIES: _, ...env } = OUTSIDE_ENV;
    service = await startService(database, { env });
    vault = await addVault(service);
    await addSecret(service, vault, 'db/main');
    issuer.keys = [key.jwk];
  });
  after(() => service.close());

  /** The client id of a connection, and what a pipeline gets for it. */
  const exchanged = async (mtls_required: boolean, times: number) => {
    const own = await addConnection(service, vault, { mtls_required });
    const body = {
      name: 'f',
      provider: 'custom',
      issuer: issuer.url,
      jwks_url: issuer.jwksUrl,
      subject_pattern: SUBJECT,
    };
    await ok(service.call('POST', `/app-connections/${own.id}/federations`, { body }), 201);
    const now = Math.floor(service.clock.now() / SECOND_MS);
    const token = await signed(key, { iss: issuer.url, aud: AUDIENCE, sub: SUBJECT, iat: now, exp: now + 60 });
    return Promise.all(Array.from({ length: times }, () => ok(exchange(service, own.client_id, token))));
  };

  test('the certificate is enough where one is, until it ends with the token', async () => {
    const [shown] = await exchanged(false, 1);
    const path = `/app-connections/fetch/${shown.client_id}/${vault}/db/main`;
    assert.equal((await tlsCall(service, shown, path)).status, 200);
    service.clock.advance(901_000);
    assert.equal((await tlsCall(service, shown, path)).status, 401);
  });

  test('what is issued for a job renews nothing, and ends with its federation', async () => {
    const [shown, other] = await exchanged(false, 2);
    const url = `/v1/app-connections/${shown.client_id}/rotate`;
    await refused(service.call('POST', url, { token: shown.access_token, body: {} }), 403, 'INSUFFICIENT_PRIVILEGE');
    const renewed = await tlsCall(service, shown, url, { method: 'POST' });
    assert.deepEqual([renewed.status, renewed.body.error?.code], [403, 'INSUFFICIENT_PRIVILEGE']);
    const path = `/app-connections/fetch/${shown.client_id}/${vault}/db/main`;
    assert.equal((await tlsCall(service, shown, path)).status, 200);
    const federations = `/app-connections/${shown.client_id}/federations`;
    const [{ id }] = (await ok(service.call('GET', federations))).federations;
    await ok(service.call('DELETE', `${federations}/${id}`), 200);
    for (const one of [shown, other]) {
      assert.equal((await tlsCall(service, one, path)).body.error.code, 'INVALID_TOKEN');
    }
  });

  test('where the connection asks for a certificate, the token is worth nothing without the one it came with', async () => {
    const [first, second] = await exchanged(true, 2);
    const path = secretUrl(vault, 'db/main');
    await refused(service.call('GET', path, { token: first.access_token }), 403, 'CERTIFICATE_REQUIRED');
    const headers = { authorization: `Bearer ${first.access_token}` };
    assert.equal((await tlsCall(service, first, path, { headers })).status, 200);
    assert.equal((await tlsCall(service, second, path, { headers })).body.error.code, 'CERTIFICATE_REQUIRED');
  });
});
