import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { issueToken } from '../../server/src/features/tokens/index.ts';
import { insertToken } from '../../server/src/features/tokens/storage/index.ts';
import { findUser } from '../../server/src/features/users/storage/index.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { addConnection, callAs, newDpopKey, proofBy } from '../support/machines.ts';
import { type NeededRow, overtaken } from '../support/overtaken.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  logIn,
  ok,
  type Person,
  refused,
  type Tenant,
  uniqueName,
} from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause } from '../support/process.ts';
import { recorded } from '../support/rows.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, readValue, secretUrl } from '../support/vaults.ts';

const NEW_PASSWORD = 'a password that only the owner knows';
const ROUNDS = 2;
const MINTERS = 3;

/** What the holder of a credential must not achieve once it is revoked, at any timing. */
onBothDatabases('who is revoked', (kind) => {
  let service: Service;
  let databaseUrl: string | undefined;
  let tenant: Tenant;
  let owner: string;
  let vault: string;
  let thief: Person;

  before(async () => {
    databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(kind, databaseUrl === undefined ? {} : { databaseUrl });
  });
  after(() => service.close());

  /** A tenant of its own, with a member who may write in one vault. */
  async function begin(): Promise<void> {
    tenant = await addTenant(service);
    owner = tenant.owner.token;
    vault = await addVault(service, {}, owner);
    await addSecret(service, vault, 'db', { value: 'before' }, owner);
    thief = await addPerson(service, { tenant });
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: thief.id, role: 'writer' }), 201);
  }

  const send = (method: string, path: string, body?: unknown, token = owner) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const patchThief = (body: object) => send('PATCH', `/v1/users/${thief.id}`, body);
  const meWith = async (token: string) => (await service.call('GET', '/auth/me', { token })).status;
  const secretRow = (): NeededRow => ({ table: 'secrets', where: { tenant_id: tenant.id, path: 'db' } });
  const value = () => readValue(service, vault, 'db', { token: owner });

  describe('while a change waits', () => {
    const write = (token: string) => () => send('PUT', secretUrl(vault, 'db'), { value: 'after' }, token);

    const endings: [string, () => Promise<() => Promise<Answer>>, number, string][] = [
      [
        'by its token',
        async () => {
          const { tokens } = await ok(service.call('GET', '/auth/tokens', { token: thief.token }));
          const pat = tokens.find((one: { kind: string }) => one.kind === 'pat');
          return () => send('DELETE', `/auth/tokens/${pat.id}`);
        },
        401,
        'INVALID_TOKEN',
      ],
      ['by a new password', async () => () => patchThief({ password: NEW_PASSWORD }), 401, 'INVALID_TOKEN'],
      ['by being disabled', async () => () => patchThief({ status: 'disabled' }), 401, 'INVALID_TOKEN'],
      ['by being deleted', async () => () => send('DELETE', `/v1/users/${thief.id}`), 401, 'INVALID_TOKEN'],
      [
        'with the whole tenant',
        async () => () => service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } }),
        401,
        'INVALID_TOKEN',
      ],
      [
        'by losing the membership',
        async () => () => send('DELETE', `/v1/vaults/${vault}/members/${thief.id}`),
        403,
        'INSUFFICIENT_PRIVILEGE',
      ],
    ];
    for (const [how, prepare, status, code] of endings) {
      test(`writes no secret, ${how}`, async () => {
        await begin();
        const overtake = await prepare();
        const change = write(thief.token);
        await refused(overtaken(service, databaseUrl, { needed: secretRow(), change, overtake }), status, code);
        if (how === 'with the whole tenant') {
          await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'active' } }));
        }
        assert.equal(await value(), 'before');
      });
    }

    test('writes no secret as a connection whose client secret was replaced, or that was disabled', async () => {
      await begin();
      for (const overtake of ['rotate', 'disable']) {
        const machine = await addConnection(service, vault, { scopes: ['secrets:*'] }, owner);
        const url = `/v1/app-connections/${machine.id}`;
        const answer = overtaken(service, databaseUrl, {
          needed: secretRow(),
          change: () => callAs(service, machine, 'PUT', secretUrl(vault, 'db'), { body: { value: 'after' } }),
          overtake: () =>
            overtake === 'rotate'
              ? send('POST', `${url}/rotate`, { client_secret: true })
              : send('PATCH', url, { status: 'disabled' }),
        });
        await refused(answer, 401, 'INVALID_TOKEN');
        assert.equal(await value(), 'before');
      }
    });

    test('makes no token with the rights of before', async () => {
      await begin();
      const answer = overtaken(service, databaseUrl, {
        needed: { table: 'tokens', where: { tenant_id: tenant.id, user_id: thief.id, kind: 'pat' } },
        change: () => send('POST', '/auth/tokens', { name: 'x' }, thief.token),
        // Not by the token's own row, which the change holds or waits for.
        overtake: () => service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } }),
      });
      await refused(answer, 401, 'INVALID_TOKEN');
    });

    /** Requested by an admin with a token of their own; `approving` is the decision of the owner. */
    async function asksToAttach() {
      const asker = await addColleague(service, tenant.id, 'admin');
      const stolen = await ok(send('POST', '/auth/tokens', { name: 'stolen' }, asker.token), 201);
      const statement = [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }];
      const document = { version: '2026-01-01', statement };
      const name = uniqueName('policy');
      await ok(send('POST', '/v1/policies', { name, document }), 201);
      const body = { principal: { user: thief.id } };
      const { approval_id } = await ok(send('POST', `/v1/policies/${name}/attach`, body, stolen.token), 202);
      const url = `/approvals/${approval_id}`;
      const { digest } = await ok(send('GET', url));
      return {
        needed: { table: 'policies', where: { tenant_id: tenant.id, name } },
        approving: () => send('POST', `${url}/approve`, { digest }),
        revoking: () => send('DELETE', `/auth/tokens/${stolen.id}`, undefined, asker.token),
        status: async () => (await ok(send('GET', url))).status,
        attachments: async () => (await ok(send('GET', `/v1/policies/${name}`))).attachments.length,
      };
    }

    test('has nothing carried out by an approval that waits', async () => {
      await begin();
      const { needed, approving, revoking, status, attachments } = await asksToAttach();
      const answer = overtaken(service, databaseUrl, { needed, change: approving, overtake: revoking });
      assert.match((await refused(answer, 409, 'VERSION_CONFLICT')).message, /cancelled/);
      assert.deepEqual([await status(), await attachments()], ['cancelled', 0]);
    });

    test('does not stop the approval of what somebody else requested', async () => {
      await begin();
      const other = await addPerson(service, { tenant });
      const { needed, approving, status, attachments } = await asksToAttach();
      const overtake = () => send('PATCH', `/v1/users/${other.id}`, { status: 'disabled' });
      await ok(overtaken(service, databaseUrl, { needed, change: approving, overtake }));
      assert.deepEqual([await status(), await attachments()], ['completed', 1]);
    });

    test('does not stop the change of a caller whose rights are as they were', async () => {
      await begin();
      const other = await addPerson(service, { tenant });
      const change = write(thief.token);
      const overtake = () => send('PATCH', `/v1/users/${other.id}`, { status: 'disabled' });
      await ok(overtaken(service, databaseUrl, { needed: secretRow(), change, overtake }));
      assert.equal(await value(), 'after');
    });

    test('counts the proof of a bound token once, though its change is decided on twice', async () => {
      await begin();
      const key = await newDpopKey();
      const token = (await ok(send('POST', '/auth/tokens', { name: 'bound', dpop_jkt: key.jkt }, thief.token), 201))
        .token;
      const url = secretUrl(vault, 'db');
      const claims = { htm: 'PUT', htu: `${service.url}${url}`, token, at: service.clock.now() };
      const headers = { authorization: `DPoP ${token}`, dpop: await proofBy(key, claims) };
      const other = await addPerson(service, { tenant });
      const change = () => service.call('PUT', url, { token: null, headers, body: { value: 'after' } });
      const overtake = () => send('PATCH', `/v1/users/${other.id}`, { status: 'disabled' });
      if (kind === 'postgres') await ok(overtaken(service, databaseUrl, { needed: secretRow(), change, overtake }));
      // On SQLite the proof itself waits for its turn, so the change is decided on once.
      else await ok(change());
      await refused(change(), 401, 'INVALID_DPOP_PROOF');
      assert.equal(await value(), 'after');
    });

    test('does not stop a change that ends its own credential', async () => {
      await begin();
      const session = await logIn(service, thief);
      await ok(send('POST', '/auth/logout', undefined, session), 204);
      assert.equal(await meWith(session), 401);
    });
  });

  describe('who makes tokens in a loop', () => {
    /** Makes tokens with a stolen session while `act` is done; answers all that were made. */
    async function mintedThrough(session: string, act: () => Promise<unknown>): Promise<string[]> {
      const minted: string[] = [];
      let isOver = false;
      let attempts = 0;
      const mint = async () => {
        while (!isOver) {
          attempts++;
          const { status, body } = await send('POST', '/auth/tokens', { name: 'loop' }, session);
          if (status === 201) minted.push(body.token);
          else if (status === 401) return;
        }
      };
      let areRefused = false;
      const minters = Promise.all(Array.from({ length: MINTERS }, mint)).then(() => {
        areRefused = true;
      });
      while (minted.length === 0) await pause(5);
      await pause(Math.random() * 60);
      await act();
      const before = attempts;
      await until('nobody goes on', () => areRefused || attempts >= before + 2 * MINTERS);
      isOver = true;
      await minters;
      return minted;
    }
    const assertDead = async (tokens: readonly string[]) => {
      for (const token of tokens) assert.equal(await meWith(token), 401);
    };

    test('keeps none through a new password', async () => {
      await begin();
      for (let round = 0; round < ROUNDS; round++) {
        const session = await logIn(service, thief);
        const password = `${NEW_PASSWORD} ${round}`;
        await assertDead(await mintedThrough(session, () => ok(patchThief({ password }))));
        thief = { ...thief, password };
      }
    });

    test('keeps none through being disabled, also once they are enabled again', async () => {
      await begin();
      for (let round = 0; round < ROUNDS; round++) {
        const session = await logIn(service, thief);
        const minted = await mintedThrough(session, () => ok(patchThief({ status: 'disabled' })));
        await ok(patchThief({ status: 'active' }));
        await assertDead(minted);
      }
    });

    test('keeps none through being deleted', async () => {
      await begin();
      const session = await logIn(service, thief);
      await assertDead(await mintedThrough(session, () => ok(send('DELETE', `/v1/users/${thief.id}`), 200)));
    });

    test('keeps none through the owner’s own change of password that ends all tokens', async () => {
      await begin();
      const [stolen, own] = [await logIn(service, thief), await logIn(service, thief)];
      const body = { current_password: thief.password, new_password: NEW_PASSWORD, revoke_tokens: true };
      await assertDead(await mintedThrough(stolen, () => ok(send('POST', '/auth/password', body, own), 204)));
      assert.equal(await meWith(own), 200, 'who changed it goes on');
    });

    test('has no token that was stored behind the back of the revocation', async () => {
      await begin();
      const { kernel } = service.app;
      const facts = { tenantId: tenant.id, userId: thief.id, kind: 'pat', name: 'late' } as const;
      const issued = await issueToken(kernel, { ...facts, expiresAt: kernel.clock.now() + DAY_MS });
      const { promise: isRevoked, resolve: tell } = Promise.withResolvers<void>();
      const { promise: isStored, resolve: stored } = Promise.withResolvers<void>();
      const storing = recorded(kernel, tenant.id, async (tx) => {
        const row = await findUser(tx, tenant.id, thief.id);
        assert.ok(row !== undefined);
        await insertToken(tx, issued.row, row);
        stored();
        // SQLite revokes only after this is committed.
        if (kind === 'postgres') await isRevoked;
      });
      await isStored;
      await ok(patchThief({ password: NEW_PASSWORD }));
      tell();
      await storing;
      assert.equal(await meWith(issued.token), 401);
    });
  });
});
