import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { subjectsOf } from '../../server/src/features/sessions/back-off.ts';
import { SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { json, newIssuerKey, OutsideIssuer, signed } from '../support/external-issuer.ts';
import { exchange, OUTSIDE_ENV } from '../support/external-logins.ts';
import { addConnection, type Machine } from '../support/machines.ts';
import { overtaken } from '../support/overtaken.ts';
import {
  addPerson,
  addTenant,
  ok,
  type Person,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause } from '../support/process.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

const SUBJECT = 'repo:acme/app:ref:refs/heads/main';
const EXCHANGERS = 3;
const issuer = await OutsideIssuer.start();
const key = await newIssuerKey('k', 'RS256');
after(() => issuer.close());

/** What a sign-in or an exchange that was under way must not be given, once what it rests on is revoked. */
onBothDatabases('a sign-in under way', (kind) => {
  let service: Service;
  let databaseUrl: string | undefined;
  let tenant: Tenant;
  let owner: string;

  before(async () => {
    databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(kind, { env: OUTSIDE_ENV, ...(databaseUrl !== undefined && { databaseUrl }) });
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    owner = tenant.owner.token;
    issuer.keys = [key.jwk];
    issuer.instead.clear();
  });

  const send = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { token: owner, ...(body !== undefined && { body }) });
  const suspend = () => service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } });
  const activate = () => service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'active' } });
  const rowsOf = async (table: 'tokens' | 'connection_tokens') => {
    const { read } = service.app.kernel.database;
    return (await read.selectFrom(table).select('token_id').where('tenant_id', '=', tenant.id).execute()).length;
  };

  describe('with a password', () => {
    let person: Person;
    beforeEach(async () => {
      person = await addPerson(service, { tenant });
      // Leaves the row that counts tries, which the next one waits for.
      await refused(tryLogIn(service, { ...person, password: 'not the password' }), 401, 'LOGIN_DENIED');
    });

    const endings: [string, () => Promise<Answer>][] = [
      ['was disabled', () => send('PATCH', `/v1/users/${person.id}`, { status: 'disabled' })],
      ['was deleted', () => send('DELETE', `/v1/users/${person.id}`)],
      ['has another password', () => send('PATCH', `/v1/users/${person.id}`, { password: 'another long password' })],
      ['belongs to a tenant that was suspended', suspend],
    ];
    for (const [how, overtake] of endings) {
      test(`gives no session of an account that ${how}`, async () => {
        const before = await rowsOf('tokens');
        const [account] = subjectsOf(tenant.id, person.email, '127.0.0.1');
        assert.ok(account !== undefined);
        const needed = { table: 'login_failures', where: { subject_hash: account.hash } };
        const change = () => tryLogIn(service, person);
        await refused(overtaken(service, databaseUrl, { needed, change, overtake }), 401, 'LOGIN_DENIED');
        assert.equal(await rowsOf('tokens'), before);
      });
    }
  });

  describe('with an identity from outside', () => {
    let vault: string;
    let machine: Machine;
    let federation: string;
    beforeEach(async () => {
      vault = await addVault(service, {}, owner);
      await addSecret(service, vault, 'db', {}, owner);
      machine = await addConnection(service, vault, {}, owner);
      const body = {
        name: uniqueName('federation'),
        provider: 'custom',
        issuer: issuer.url,
        jwks_url: issuer.jwksUrl,
        subject_pattern: SUBJECT,
      };
      const { id } = await ok(send('POST', `/app-connections/${machine.id}/federations`, body), 201);
      federation = `/app-connections/${machine.id}/federations/${id}`;
    });

    const idToken = () => {
      const now = Math.floor(service.clock.now() / SECOND_MS);
      return signed(key, { iss: issuer.url, aud: OUTSIDE_ENV.CV_AUDIENCE, sub: SUBJECT, iat: now, exp: now + 600 });
    };
    const connectionPath = () => `/v1/app-connections/${machine.id}`;

    const endings: [string, () => Promise<Answer>][] = [
      ['the connection is disabled', () => send('PATCH', connectionPath(), { status: 'disabled' })],
      ['the connection is deleted', () => send('DELETE', connectionPath())],
      ['the federation is disabled', () => send('PUT', federation, { enabled: false, subject_pattern: SUBJECT })],
      ['the federation is deleted', () => send('DELETE', federation)],
      ['the tenant is suspended', suspend],
    ];
    for (const [how, overtake] of endings) {
      test(`gives no token while ${how}`, async () => {
        let done: Answer | undefined;
        issuer.instead.set('/keys', async (_, response) => {
          done = await overtake();
          json(response, { keys: issuer.keys });
        });
        await refused(exchange(service, machine.client_id, await idToken()), 401, 'LOGIN_DENIED');
        assert.ok(done !== undefined && (done.status === 200 || done.status === 204), 'it was done meanwhile');
        assert.equal(await rowsOf('connection_tokens'), 0);
      });
    }

    const sets: [string, () => Promise<Answer>][] = [
      ['the federation is deleted', () => send('DELETE', federation)],
      ['the connection is deleted', () => send('DELETE', connectionPath())],
    ];
    for (const [how, revoke] of sets) {
      test(`in a loop keeps no token when ${how}`, async () => {
        const minted: string[] = [];
        const mint = async () => {
          for (;;) {
            const { status, body } = await exchange(service, machine.client_id, await idToken());
            if (status !== 200) return;
            minted.push(body.access_token);
          }
        };
        const minters = Array.from({ length: EXCHANGERS }, mint);
        while (minted.length === 0) await pause(5);
        await ok(revoke(), 200);
        await Promise.all(minters);
        for (const token of minted) {
          await refused(service.call('GET', secretUrl(vault, 'db'), { token }), 401, 'INVALID_TOKEN');
        }
      });
    }

    test('is given one again once the tenant is active again', async () => {
      await ok(suspend());
      await refused(exchange(service, machine.client_id, await idToken()), 401, 'LOGIN_DENIED');
      await ok(activate());
      await ok(exchange(service, machine.client_id, await idToken()));
    });
  });
});
