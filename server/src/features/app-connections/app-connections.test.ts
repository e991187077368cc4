import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  addConnection,
  callAs,
  clientHeaders,
  type Machine,
  tlsAgent,
  tlsCall,
} from '../../../../test/support/machines.ts';
import { addPerson, addTenant, done, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { CLIENT_SECRET } from './client-secret.ts';

onSqliteAtLanding('app connections', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    await addSecret(service, vault, 'db/main');
    await addSecret(service, vault, 'db/replica/one');
    await addSecret(service, vault, 'other');
  });
  after(() => service.close());

  const secret = (path: string) => secretUrl(vault, path);
  const statusAs = async (machine: Machine, path: string) => (await callAs(service, machine, 'GET', path)).status;
  const patch = (machine: Machine, body: object) =>
    ok(service.call('PATCH', `/v1/app-connections/${machine.id}`, { body }));

  async function audited(action: string, machine: Machine) {
    const { entries } = await ok(service.call('GET', `/v1/audit?action=${action}&limit=100`));
    return entries.filter((e: { resource: string }) => e.resource === `app-connection/${machine.id}`);
  }

  test('reads what it is given and nothing else, and is recorded by its client id', async () => {
    const machine = await addConnection(service, vault, { allowed_paths: ['db/*'] });
    assert.ok(CLIENT_SECRET.matches(machine.client_secret));
    assert.match(machine.client_secret, /^Svc_/);
    assert.equal(await statusAs(machine, secret('db/main')), 200);
    assert.equal(await statusAs(machine, secret('db/replica/one')), 200);
    assert.equal(await statusAs(machine, secret('other')), 403);
    assert.equal(await statusAs(machine, secret('db')), 403);
    assert.equal(await statusAs(machine, secret('db/never-was')), 404);
    assert.equal(await statusAs(machine, secretUrl('another-vault', 'db/main')), 403);
    const listed = await callAs(service, machine, 'GET', `/v1/vaults/${vault}/secrets`);
    assert.deepEqual(
      listed.body.secrets.map((s: { path: string }) => s.path),
      ['db/main', 'db/replica/one'],
    );
    const { entries } = await ok(service.call('GET', `/v1/audit?actor=${machine.client_id}&limit=1`));
    const { kind, id, name, key } = entries[0].actor;
    assert.deepEqual(
      { kind, id, name, key },
      {
        kind: 'app_connection',
        id: machine.client_id,
        name: machine.name,
        key: machine.client_id,
      },
    );
  });

  test('changes nothing unless its scopes say so, and is not accepted where people are', async () => {
    const machine = await addConnection(service, vault, { allowed_paths: ['mine/*'] });
    const create = { body: { path: 'mine/new', value: 'x' } };
    assert.equal((await callAs(service, machine, 'POST', `/v1/vaults/${vault}/secrets`, create)).status, 403);
    await patch(machine, { scopes: ['secrets:*'] });
    assert.equal((await callAs(service, machine, 'POST', `/v1/vaults/${vault}/secrets`, create)).status, 201);
    const { entries } = await ok(
      service.call('GET', `/v1/audit?actor=${machine.client_id}&action=secrets:create&limit=5`),
    );
    assert.equal(entries[0].resource, `vault/${vault}/mine/new`);
    for (const path of ['/auth/me', '/v1/users', '/v1/policies', '/v1/app-connections', '/v1/audit']) {
      assert.equal(await statusAs(machine, path), 403, path);
    }
  });

  test('aggregate outside its scope is VAULT_OUT_OF_SCOPE, wherever that is', async () => {
    const machine = await addConnection(service, vault, { allowed_paths: ['db/*'] });
    const within = await callAs(service, machine, 'GET', `/v1/vaults/${vault}/aggregate?prefix=db/`);
    assert.equal(within.body.secrets.length, 2);
    for (const url of [`/v1/vaults/${vault}/aggregate?prefix=other`, '/v1/vaults/never-was/aggregate']) {
      const answer = await callAs(service, machine, 'GET', url);
      assert.equal(answer.status, 409);
      assert.equal(answer.body.error.code, 'VAULT_OUT_OF_SCOPE');
    }
  });

  test('an environment of its own keeps it from secrets of another', async () => {
    const development = await addVault(service, { environment: 'development' });
    await addSecret(service, development, 'a');
    await addSecret(service, development, 'b', { environment: 'staging' });
    const machine = await addConnection(service, development, { environment: 'dev' });
    assert.equal(await statusAs(machine, secretUrl(development, 'a')), 200);
    assert.equal(await statusAs(machine, secretUrl(development, 'b')), 403);
    const listed = await callAs(service, machine, 'GET', `/v1/vaults/${development}/secrets`);
    assert.equal(listed.body.secrets.length, 1);
  });

  test('a policy attached to it allows more, but never elsewhere', async () => {
    const machine = await addConnection(service, vault, { allowed_paths: ['db/*'] });
    const name = uniqueName('policy');
    const statement = [{ effect: 'allow', action: ['secrets:*'], resource: ['*'] }];
    await ok(
      service.call('POST', '/v1/policies', { body: { name, document: { version: '2026-01-01', statement } } }),
      201,
    );
    const body = { principal: { app_connection: String(machine.id) } };
    await ok(service.call('POST', `/v1/policies/${name}/attach`, { body }));
    assert.equal((await callAs(service, machine, 'GET', `${secret('db/main')}/versions`)).status, 200);
    assert.equal(await statusAs(machine, secret('other')), 403, 'its paths are the most it can have');
    assert.equal(await statusAs(machine, secretUrl('another-vault', 'db/main')), 403);
    const asked = {
      principal: { app_connection: machine.client_id },
      action: 'secrets:delete',
      resource: `vault/${vault}/db/main`,
    };
    const simulated = await ok(service.call('POST', '/v1/policies/simulate', { body: asked }));
    assert.equal(simulated.decision, 'allow');
    await ok(service.call('DELETE', `/v1/app-connections/${machine.id}`), 200);
    const { attachments } = await ok(service.call('GET', `/v1/policies/${name}`));
    assert.deepEqual(attachments, [], 'what is gone keeps nothing');
  });

  test('every change is effective on the next request, and each has its own name in the log', async () => {
    const machine = await addConnection(service, vault, { allowed_paths: ['db/*'] });
    await patch(machine, { allowed_paths: ['other'] });
    assert.equal(await statusAs(machine, secret('db/main')), 403);
    assert.equal(await statusAs(machine, secret('other')), 200);
    await patch(machine, { concurrent_session_limit: 5, concurrent_session_action: 'evict_oldest' });
    await patch(machine, { ip_allowlist: ['203.0.113.0/24'] });
    const elsewhere = await callAs(service, machine, 'GET', secret('other'));
    assert.equal(elsewhere.body.error.code, 'IP_NOT_ALLOWED');
    await patch(machine, { ip_allowlist: null, require_dpop: true, mtls_required: true });
    await patch(machine, { require_dpop: false, mtls_required: false });
    await patch(machine, { status: 'disabled' });
    assert.equal(await statusAs(machine, secret('other')), 401);
    await patch(machine, { status: 'active' });
    assert.equal(await statusAs(machine, secret('other')), 200);
    for (const [action, count] of Object.entries({
      connection_created: 1,
      cert_issued: 1,
      connection_updated: 7,
      path_added: 1,
      path_removed: 1,
      concurrent_policy_changed: 1,
      dpop_toggled: 2,
    })) {
      assert.equal((await audited(action, machine)).length, count, action);
    }
    await ok(service.call('DELETE', `/v1/app-connections/${machine.id}`), 200);
    assert.equal(await statusAs(machine, secret('other')), 401);
    assert.equal((await audited('connection_deleted', machine)).length, 1);
    assert.equal((await audited('cert_revoked', machine)).length, 1);
  });

  test('a new secret replaces the old one at once, or after the overlap requested', async () => {
    const machine = await addConnection(service, vault);
    const rotate = (body: object) => ok(service.call('POST', `/v1/app-connections/${machine.id}/rotate`, { body }));
    const first = await rotate({ client_secret: true });
    assert.equal(first.certificate, null);
    assert.equal(await statusAs(machine, secret('other')), 401);
    const newer = { ...machine, client_secret: first.client_secret };
    assert.equal(await statusAs(newer, secret('other')), 200);
    const second = await rotate({ client_secret: true, overlap_seconds: 60 });
    const newest = { ...machine, client_secret: second.client_secret };
    assert.equal(await statusAs(newer, secret('other')), 200);
    assert.equal(await statusAs(newest, secret('other')), 200);
    service.clock.advance(61_000);
    assert.equal(await statusAs(newer, secret('other')), 401);
    assert.equal(await statusAs(newest, secret('other')), 200);
    const both = await rotate({});
    assert.match(both.client_secret, /^Svc_/);
    assert.match(both.certificate, /BEGIN CERTIFICATE/);
    const neither = await service.call('POST', `/v1/app-connections/${machine.id}/rotate`, {
      body: { client_secret: false, certificate: false },
    });
    assert.equal(neither.status, 422);
  });

  test('a connection renews its own certificate, and neither its secret nor another’s', async () => {
    const machine = await addConnection(service, vault);
    const other = await addConnection(service, vault);
    const url = (m: Machine) => `/v1/app-connections/${m.id}/rotate`;
    const renewed = await callAs(service, machine, 'POST', url(machine), { body: {} });
    assert.equal(renewed.status, 200);
    assert.equal(renewed.body.client_secret, null);
    const again = { body: {}, headers: { 'idempotency-key': uniqueName('key') } };
    const first = await callAs(service, machine, 'POST', url(machine), again);
    assert.equal((await callAs(service, machine, 'POST', url(machine), again)).text, first.text);
    assert.match(renewed.body.certificate, /BEGIN CERTIFICATE/);
    assert.equal((await callAs(service, machine, 'POST', url(machine), { body: { client_secret: true } })).status, 403);
    assert.equal((await callAs(service, machine, 'POST', url(other), { body: {} })).status, 403);
    assert.equal((await callAs(service, machine, 'POST', url({ ...other, id: 999_999 }), { body: {} })).status, 403);
  });

  describe('certificates', () => {
    test('mTLS: its own certificate opens, no other does, and revocation holds on an open connection', async () => {
      const machine = await addConnection(service, vault, { mtls_required: true });
      const other = await addConnection(service, vault, { mtls_required: true });
      const headers = clientHeaders(machine);
      const { tls_url } = await ok(service.call('GET', `/v1/app-connections/${machine.id}`));
      const me = await ok(service.call('GET', '/auth/me'));
      assert.deepEqual([machine['tls_url'], tls_url, me.tls_url], Array(3).fill(service.tlsUrl));
      assert.equal((await callAs(service, machine, 'GET', secret('other'))).body.error.code, 'CERTIFICATE_REQUIRED');
      assert.equal(
        (await tlsCall(service, null, secret('other'), { headers })).body.error.code,
        'CERTIFICATE_REQUIRED',
      );
      assert.equal(
        (await tlsCall(service, other, secret('other'), { headers })).body.error.code,
        'CERTIFICATE_REQUIRED',
      );
      const agent = tlsAgent(service, machine);
      assert.equal((await tlsCall(service, machine, secret('other'), { headers, agent })).status, 200);
      const serial = new X509Certificate(machine.certificate).serialNumber;
      const revoke = `/v1/app-connections/${machine.id}/certificates/${serial}/revoke`;
      assert.equal(
        (await service.call('POST', revoke.replace(`/${machine.id}/`, `/${other.id}/`), { body: {} })).status,
        404,
      );
      await ok(service.call('POST', revoke, { body: { reason: 'lost' } }), 204);
      const refused = await tlsCall(service, machine, secret('other'), { headers, agent });
      assert.equal(refused.body.error.code, 'CERTIFICATE_REQUIRED');
      agent.destroy();
      const { entries } = await ok(service.call('GET', `/v1/audit?actor=${machine.client_id}&limit=1`));
      assert.match(entries[0].reason, /certificate: revoked: lost/);
    });

    test('its certificates are listed, page by page, with those that were replaced or revoked', async () => {
      const machine = await addConnection(service, vault, { mtls_required: true });
      const other = await addConnection(service, vault, { mtls_required: true });
      const body = { certificate: true, overlap_seconds: 30 };
      const next = await ok(service.call('POST', `/v1/app-connections/${machine.id}/rotate`, { body }));
      const serialOf = (pem: string) => new X509Certificate(pem).serialNumber.toLowerCase().padStart(32, '0');
      const path = `/v1/app-connections/${machine.id}/certificates`;
      await ok(service.call('POST', `${path}/${serialOf(next.certificate)}/revoke`, { body: { reason: 'lost' } }), 204);
      const first = await ok(service.call('GET', `${path}?limit=1`));
      const cursor = encodeURIComponent(first.next_cursor);
      const second = await ok(service.call('GET', `${path}?limit=1&cursor=${cursor}`));
      assert.equal(second.next_cursor, null);
      const listed = new Map([...first.certificates, ...second.certificates].map((each) => [each.serial, each]));
      assert.deepEqual(
        [...listed.keys()].sort(),
        [machine, next].map(({ certificate }) => serialOf(certificate)).sort(),
      );
      const replaced = listed.get(serialOf(machine.certificate));
      assert.equal(Date.parse(replaced.revoked_at) > service.clock.now(), true);
      assert.equal(replaced.is_exchanged, false);
      assert.equal(listed.get(serialOf(next.certificate)).reason, 'lost');
      const ofAnother = `/v1/app-connections/${other.id}/certificates`;
      assert.equal((await ok(service.call('GET', ofAnother))).certificates.length, 1);
      assert.equal((await service.call('GET', `${ofAnother}?cursor=${cursor}`)).status, 422);
      assert.equal((await service.call('GET', '/v1/app-connections/999999/certificates')).status, 404);
    });

    test('a rotated certificate ends after the overlap', async () => {
      const machine = await addConnection(service, vault, { mtls_required: true });
      const headers = clientHeaders(machine);
      const body = { certificate: true, overlap_seconds: 30 };
      const next = await ok(service.call('POST', `/v1/app-connections/${machine.id}/rotate`, { body }));
      const status = async (shown: typeof next) => (await tlsCall(service, shown, secret('other'), { headers })).status;
      assert.equal(await status(machine), 200);
      assert.equal(await status(next), 200);
      service.clock.advance(31_000);
      assert.equal(await status(machine), 403);
      assert.equal(await status(next), 200);
    });

    test('fetch by name needs nothing but the certificate, and only for its own client id', async () => {
      const machine = await addConnection(service, vault, { mtls_required: true, allowed_paths: ['db/*'] });
      const other = await addConnection(service, vault, { mtls_required: true });
      const url = `/app-connections/fetch/${machine.client_id}/${vault}/db/main`;
      const fetched = await tlsCall(service, machine, url);
      assert.equal(fetched.status, 200);
      assert.equal(fetched.body.value, 'value of db/main');
      assert.equal((await tlsCall(service, machine, url.replace('db/main', 'other'))).status, 403);
      const unknown = url.replace(machine.client_id, '00000000-0000-4000-8000-000000000000');
      assert.equal((await tlsCall(service, other, url)).status, 401, 'as for a client that does not exist');
      assert.equal((await tlsCall(service, other, unknown)).status, 401);
      assert.equal((await tlsCall(service, null, url)).status, 401);
      assert.equal((await tlsCall(service, machine, secret('db/main'))).status, 401, 'elsewhere it is not enough');
      const crossed = await tlsCall(service, other, url, { headers: clientHeaders(other) });
      assert.equal(crossed.status, 403, 'another client’s headers');
    });

    test('a CSR keeps the key with its owner', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'coffer-csr-'));
      const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'csr.pem')];
      const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=anything'];
      execFileSync('openssl', ['req', '-new', ...curve, ...files], { stdio: 'ignore' });
      const csr_pem = readFileSync(join(folder, 'csr.pem'), 'utf8');
      const machine = await addConnection(service, vault, { mtls_required: true, csr_pem });
      assert.equal(machine.private_key, null);
      const shown = { certificate: machine.certificate, private_key: readFileSync(join(folder, 'key.pem'), 'utf8') };
      rmSync(folder, { recursive: true });
      const read = await tlsCall(service, shown, secret('other'), { headers: clientHeaders(machine) });
      assert.equal(read.status, 200);
      const bad = await service.call('POST', '/v1/app-connections', {
        body: { name: uniqueName('c'), vault, csr_pem: 'x' },
      });
      assert.equal(bad.status, 422);
    });

    test('an external CA takes the place of ours', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'coffer-ca-'));
      const at = (name: string) => join(folder, name);
      const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
      openssl(
        'req',
        '-x509',
        ...key,
        '-subj',
        '/CN=Their CA',
        '-keyout',
        at('ca.key'),
        '-out',
        at('ca.pem'),
        '-days',
        '30',
      );
      const machine = await addConnection(service, vault, {
        mtls_required: true,
        external_ca_pem: readFileSync(at('ca.pem'), 'utf8'),
      });
      assert.equal(machine.certificate, null);
      const leaf = (name: string) => {
        openssl('req', ...key, '-subj', `/CN=${name}`, '-keyout', at('leaf.key'), '-out', at('leaf.csr'));
        const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-days', '10', '-out', at('leaf.pem')];
        openssl('x509', '-req', '-in', at('leaf.csr'), ...signed);
        return { certificate: readFileSync(at('leaf.pem'), 'utf8'), private_key: readFileSync(at('leaf.key'), 'utf8') };
      };
      const headers = clientHeaders(machine);
      assert.equal((await tlsCall(service, leaf(machine.client_id), secret('other'), { headers })).status, 200);
      assert.equal((await tlsCall(service, leaf('somebody-else'), secret('other'), { headers })).status, 403);
      rmSync(folder, { recursive: true });
      const own = await addConnection(service, vault, { mtls_required: true });
      const ours = { certificate: own.certificate, private_key: own.private_key };
      assert.equal((await tlsCall(service, ours, secret('other'), { headers })).status, 403);
      const bad = { body: { name: uniqueName('c'), vault, external_ca_pem: own.certificate } };
      assert.equal((await service.call('POST', '/v1/app-connections', bad)).status, 422, 'a leaf is no CA');
    });
  });

  describe('sessions', () => {
    test('beyond the limit a new one is rejected, until an old one has ended', async () => {
      const machine = await addConnection(service, vault, {
        concurrent_session_limit: 1,
        concurrent_session_ttl_seconds: 60,
        mtls_required: false,
      });
      const headers = clientHeaders(machine);
      assert.equal(await statusAs(machine, secret('other')), 200, 'by its address');
      const byCertificate = await tlsCall(service, machine, secret('other'), { headers });
      assert.equal(byCertificate.body.error.code, 'SESSION_LIMIT');
      assert.equal(await statusAs(machine, secret('other')), 200, 'the first goes on');
      service.clock.advance(61_000);
      assert.equal((await tlsCall(service, machine, secret('other'), { headers })).status, 200);
      assert.equal(await statusAs(machine, secret('other')), 403);
    });

    test('evict_oldest lets the new one in and keeps the old one out', async () => {
      const machine = await addConnection(service, vault, {
        concurrent_session_limit: 1,
        concurrent_session_action: 'evict_oldest',
        concurrent_session_ttl_seconds: 60,
      });
      const headers = clientHeaders(machine);
      assert.equal(await statusAs(machine, secret('other')), 200);
      service.clock.advance(1000);
      assert.equal((await tlsCall(service, machine, secret('other'), { headers })).status, 200);
      assert.equal(await statusAs(machine, secret('other')), 403);
      assert.equal((await tlsCall(service, machine, secret('other'), { headers })).status, 200);
    });

    for (const [action, expected] of [
      ['reject', [200, 403]],
      ['evict_oldest', [403, 200]],
    ] as const) {
      test(`a lower limit counts for those that are there: ${action}`, async () => {
        const machine = await addConnection(service, vault, {
          concurrent_session_limit: 2,
          concurrent_session_action: action,
          concurrent_session_ttl_seconds: 60,
        });
        const headers = clientHeaders(machine);
        const older = () => statusAs(machine, secret('other'));
        const newer = async () => (await tlsCall(service, machine, secret('other'), { headers })).status;
        assert.equal(await older(), 200);
        service.clock.advance(1000);
        assert.equal(await newer(), 200);
        await patch(machine, { concurrent_session_limit: 1 });
        assert.deepEqual([await older(), await newer()], expected);
        assert.deepEqual([await older(), await newer()], expected, 'and go on so');
        service.clock.advance(61_000);
        assert.equal(await newer(), 200, 'after a while without a request it is a new one');
      });
    }
  });

  describe('what must not happen', () => {
    test('a guesser learns nothing: unknown client, wrong secret and bad forms are one answer', async () => {
      const machine = await addConnection(service, vault);
      const wrong = await addConnection(service, vault);
      const unknown = '00000000-0000-4000-8000-000000000000';
      const cases: Record<string, Record<string, string>> = {
        'wrong secret': { ...clientHeaders(machine), 'x-client-secret': wrong.client_secret },
        'unknown client': { ...clientHeaders(machine), 'x-client-id': unknown },
        'no id': { 'x-client-secret': machine.client_secret },
        'no secret': { 'x-client-id': machine.client_id },
        'a secret whose checksum is wrong': {
          ...clientHeaders(machine),
          'x-client-secret': `${machine.client_secret}x`,
        },
        'two ids': { ...clientHeaders(machine), 'x-client-id': `${machine.client_id}, ${machine.client_id}` },
        'another case': { ...clientHeaders(machine), 'x-client-id': machine.client_id.toUpperCase() },
      };
      /** By what was sent, which the guesser knows: what is told of client headers is not what is told of tokens. */
      const answers = new Map<boolean, Set<string>>();
      for (const [name, headers] of Object.entries(cases)) {
        const { status, body } = await service.call('GET', secret('other'), { token: null, headers });
        assert.equal(status, 401, name);
        const { request_id: _, ...rest } = body.error;
        const isClient = headers['x-client-secret'] !== undefined && headers['authorization'] === undefined;
        assert.equal(/Bearer/.test(rest.message), !isClient, name);
        answers.set(isClient, (answers.get(isClient) ?? new Set()).add(JSON.stringify(rest)));
      }
      assert.deepEqual(
        [...answers.values()].map(({ size }) => size),
        [1, 1],
      );
      // Two credentials are told as such, whether or not they are valid.
      for (const [id, token] of [
        [machine.client_id, service.adminToken],
        [unknown, 'nothing'],
      ]) {
        const headers = { ...clientHeaders(machine), 'x-client-id': String(id), authorization: `Bearer ${token}` };
        const { message } = await refused(
          service.call('GET', secret('other'), { token: null, headers }),
          401,
          'INVALID_TOKEN',
        );
        assert.match(message, /two credentials: send one/);
      }
      service.clock.advance(60_000);
    });

    test('another tenant has no such connection, by number, client id or vault', async () => {
      const machine = await addConnection(service, vault);
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      for (const id of [String(machine.id), machine.client_id]) {
        for (const [method, suffix, body] of [
          ['GET', '', undefined],
          ['PATCH', '', { description: 'mine' }],
          ['DELETE', '', undefined],
          ['POST', '/rotate', {}],
        ] as const) {
          const { status } = await service.call(method, `/v1/app-connections/${id}${suffix}`, { token, body });
          assert.equal(status, 404, `${method} ${id}${suffix}`);
        }
      }
      const { vault_ids } = await ok(service.call('GET', `/v1/app-connections/${machine.id}`));
      const body = { name: 'theirs', vault_ids };
      assert.equal((await service.call('POST', '/v1/app-connections', { token, body })).status, 404);
    });

    test('who may make connections but not share a vault cannot reach into it by one', async () => {
      const person = await addPerson(service, { role: 'member' });
      const name = uniqueName('policy');
      const statement = [{ effect: 'allow', action: ['app_connections:*'], resource: ['*'] }];
      await ok(
        service.call('POST', '/v1/policies', { body: { name, document: { version: '2026-01-01', statement } } }),
        201,
      );
      await ok(service.call('POST', `/v1/policies/${name}/attach`, { body: { principal: { user: person.id } } }));
      const { vault_ids } = await addConnection(service, vault);
      for (const where of [
        { vault },
        { vault: 'never-was' },
        { vault_ids },
        { vault_ids: ['vault_00000000000000000000000000'] },
      ]) {
        const body = { name: uniqueName('c'), ...where };
        const { status } = await service.call('POST', '/v1/app-connections', { token: person.token, body });
        assert.equal(status, 403, JSON.stringify(where));
      }
      const machine = await addConnection(service, vault, { allowed_paths: ['nothing'] });
      const widen = { token: person.token, body: { allowed_paths: ['*'] } };
      assert.equal((await service.call('PATCH', `/v1/app-connections/${machine.id}`, widen)).status, 403);
      const hidden = { token: person.token, body: { status: 'disabled', allowed_paths: ['*'] } };
      assert.equal((await service.call('PATCH', `/v1/app-connections/${machine.id}`, hidden)).status, 403);
      const asked: [string, object][] = [
        [`/v1/app-connections/${machine.id}/rotate`, { client_secret: true }],
        [`/v1/app-connections/${machine.client_id}/rotate`, { certificate: true }],
        [`/app-connections/${machine.id}/export-zip`, { password: 'correct horse battery' }],
      ];
      for (const [path, body] of asked) {
        assert.equal((await service.call('POST', path, { token: person.token, body })).status, 403, path);
      }
      assert.equal(await statusAs(machine, secret('nothing')), 404);
    });

    test('nor its policies: who takes over a connection needs the right to give them', async () => {
      const person = await addPerson(service, { role: 'member' });
      const own = await addVault(service);
      const add = async (statement: object[], principal: object) => {
        const name = uniqueName('policy');
        const document = { version: '2026-01-01', statement };
        await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
        await done(service, service.call('POST', `/v1/policies/${name}/attach`, { body: { principal } }), 200);
      };
      const manage = { effect: 'allow', action: ['app_connections:*'], resource: ['*'] };
      const share = { effect: 'allow', action: ['members:add'], resource: [`vault/${own}`] };
      await add([manage, share], { user: person.id });
      const [mine, foreign, rich] = [
        await addConnection(service, own),
        await addConnection(service, vault),
        await addConnection(service, own),
      ];
      await add([{ effect: 'allow', action: ['eaas:decrypt'], resource: ['*'] }], { app_connection: rich.client_id });
      const status = async (method: string, path: string, body: object) =>
        (await service.call(method, `/v1/app-connections/${path}`, { token: person.token, body })).status;
      assert.equal(await status('POST', `${mine.id}/rotate`, {}), 200);
      assert.equal(
        await status('PATCH', `${foreign.id}`, { vault_ids: mine['vault_ids'] }),
        403,
        'away from its vault',
      );
      assert.equal(await status('POST', `${rich.id}/rotate`, {}), 403);
      assert.equal(await status('PATCH', `${rich.id}`, { mtls_required: true }), 403);
    });

    test('a deny holds by number and by client id, whichever it names', async () => {
      const connections = [await addConnection(service, vault), await addConnection(service, vault)];
      const [first, second] = connections.map(({ id, client_id }) => [String(id), client_id]) as [string[], string[]];
      const person = await addPerson(service, { role: 'admin' });
      const name = uniqueName('policy');
      const denied = [`app-connection/${first[0]}`, `app-connection/${second[1]}`];
      const statement = [{ effect: 'deny', action: ['app_connections:*', 'federations:*'], resource: denied }];
      const document = { version: '2026-01-01', statement };
      await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
      const attach = service.call('POST', `/v1/policies/${name}/attach`, { body: { principal: { user: person.id } } });
      await done(service, attach, 200);
      for (const called of [...first, ...second]) {
        const asked: [string, string, object?][] = [
          ['GET', `/v1/app-connections/${called}`],
          ['PATCH', `/v1/app-connections/${called}`, { name: uniqueName('c') }],
          ['POST', `/v1/app-connections/${called}/rotate`, {}],
          ['POST', `/app-connections/${called}/export-zip`, { password: 'correct horse battery' }],
          ['GET', `/app-connections/${called}/federations`],
          ['DELETE', `/v1/app-connections/${called}`],
        ];
        for (const [method, path, body] of asked) {
          const { status } = await service.call(method, path, { token: person.token, ...(body && { body }) });
          assert.equal(status, 403, `${method} ${path}`);
        }
      }
    });

    test('bad input changes nothing and says what is wrong', async () => {
      const count = async () =>
        (await ok(service.call('GET', '/v1/app-connections?limit=1000'))).app_connections.length;
      const before = await count();
      for (const [field, value] of [
        ['allowed_paths', ['/leading']],
        ['allowed_paths', ['a/../b']],
        ['allowed_paths', ['a//b']],
        ['ip_allowlist', ['10.0.0.1/8']],
        ['ip_allowlist', ['nonsense']],
        ['ip_allowlist', []],
        ['external_ca_pem', 'nonsense'],
        ['scopes', ['users:create']],
        ['scopes', []],
        ['environment', 'moon'],
        ['dpop_jkt', 'short'],
        ['concurrent_session_limit', 0],
        ['certificate_ttl_days', 91],
        ['unknown', true],
      ] as const) {
        const body = { name: uniqueName('c'), vault, [field]: value };
        const { status } = await service.call('POST', '/v1/app-connections', { body });
        assert.equal(status, 422, `${field} ${JSON.stringify(value)}`);
      }
      const unusable = { name: uniqueName('c'), vault, mtls_required: false, require_dpop: true };
      assert.equal((await service.call('POST', '/v1/app-connections', { body: unusable })).status, 422);
      assert.equal(await count(), before);
      const taken = await addConnection(service, vault);
      const again = { name: taken.name, vault };
      assert.equal(
        (await service.call('POST', '/v1/app-connections', { body: again })).body.error.code,
        'ALREADY_EXISTS',
      );
    });

    test('X-Forwarded-For from an untrusted peer does not help against the address list', async () => {
      const machine = await addConnection(service, vault, { ip_allowlist: ['203.0.113.7'] });
      const headers = { 'x-forwarded-for': '203.0.113.7' };
      const answer = await callAs(service, machine, 'GET', secret('other'), { headers });
      assert.equal(answer.body.error.code, 'IP_NOT_ALLOWED');
      const mapped = await addConnection(service, vault, { ip_allowlist: ['::ffff:127.0.0.1'] });
      assert.equal(await statusAs(mapped, secret('other')), 200, 'a mapped address is the address');
    });

    test('secrets and keys are in no log, and in no audit entry', async () => {
      const machine = await addConnection(service, vault);
      await statusAs({ ...machine, client_secret: `${machine.client_secret.slice(0, -1)}!` }, secret('other'));
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=200'));
      const written = JSON.stringify(entries) + service.logs.join('');
      assert.doesNotMatch(written, /Svc_|PRIVATE KEY/);
    });
  });

  test('auto-paths lists what each connection fetches, page by page, and only what one may see', async () => {
    const own = await addVault(service);
    for (const path of ['a/1', 'a/2', 'a/3', 'b']) await addSecret(service, own, path);
    const machine = await addConnection(service, own, { allowed_paths: ['a/*'] });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = await ok(
        service.call('GET', `/app-connections/auto-paths?limit=2&client_id=${machine.client_id}${more}`),
      );
      seen.push(...page.paths.map((p: { path: string }) => p.path));
      cursor = page.next_cursor;
    } while (cursor !== null);
    const at = `/app-connections/fetch/${machine.client_id}/${own}`;
    assert.deepEqual(seen, [`${at}/a/1`, `${at}/a/2`, `${at}/a/3`]);
  });
});
