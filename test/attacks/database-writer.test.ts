import assert from 'node:assert/strict';
import { generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { SYSTEM_TENANT } from '../../server/src/kernel/storage/tables.ts';
import { type Attacker, attackerOf, type Row } from '../support/attacker.ts';
import { addConnection, callAs } from '../support/machines.ts';
import { addColleague, addPerson, addTenant, addToken, ok, type Person, type Tenant } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addPolicy, addSecret, addVault, secretUrl } from '../support/vaults.ts';

const FORGED = /a row was not written by the service|a response was cut off/;

/** What a writer of the database without the root key must not achieve. */
onBothDatabases('anyone who writes to the database', (kind) => {
  let service: Service;
  let attacker: Attacker;
  let tenant: Tenant;
  let token: string;

  before(async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(kind, { ...(databaseUrl !== undefined && { databaseUrl }) });
    attacker = await attackerOf(kind, service, databaseUrl);
    service.expectErrorLogs(FORGED);
  });
  after(async () => {
    await attacker.close();
    await service.close();
  });

  /** Each begins with a tenant that nobody touched. */
  async function begin(): Promise<void> {
    tenant = await addTenant(service);
    token = tenant.owner.token;
  }

  /** What is cached is only believed until something changes: everybody is resolved anew. */
  async function noticed(): Promise<void> {
    const { epoch } = await attacker.row('tenants', { tenant_id: tenant.id });
    await attacker.update('tenants', { tenant_id: tenant.id }, { epoch: Number(epoch) + 1 });
    await addVault(service);
  }

  const verified = (by = token) => ok(service.call('GET', '/v1/audit/verify', { token: by }));

  async function assertNamed(table: string, row: string, problem: string, by = token): Promise<void> {
    const { valid, rows } = await verified(by);
    assert.equal(valid, false);
    const named = rows.problems.filter((one: Row) => one['table'] === table && one['row'] === row);
    assert.deepEqual(named, [{ table, row, problem }], JSON.stringify(rows.problems));
  }

  async function untouched(): Promise<void> {
    assert.deepEqual((await verified()).rows.problems, []);
  }

  const isRefused = ({ status }: Answer) => assert.ok(status === 500 || status === 401 || status === 403, `${status}`);
  const me = (by: string) => service.call('GET', '/auth/me', { token: by });

  describe('does not become an owner', () => {
    before(begin);

    test('by a signing key and a token of their own making', async () => {
      const [model] = await attacker.rows('signing_keys');
      const { installation_id } = await attacker.row('installation', {});
      const { publicKey, privateKey } = generateKeyPairSync('ed25519');
      const kid = newId('key');
      const jti = newId('token');
      const now = service.clock.now();
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const seconds = Math.floor(now / 1000);
      const claims = { sub: tenant.owner.id, jti, exp: seconds + 3600, tid: tenant.id, kind: 'pat', iat: seconds };
      const signed = `${part({ alg: 'EdDSA', kid, typ: 'JWT' })}.${part({ ...claims, iss: `urn:coffer:${installation_id}` })}`;
      const forged = `cv_pat_${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
      const jwk = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' });
      await attacker.insert('signing_keys', { ...model, kid, public_jwk: jwk, sealed_private: randomBytes(64) });
      const [own] = await attacker.rows('tokens', { tenant_id: tenant.id });
      const token_hash = hash('sha256', forged, 'buffer');
      await attacker.insert('tokens', { ...own, token_id: jti, token_hash, expires_at: now + DAY_MS });
      await noticed();
      assert.equal((await me(forged)).status, 401);
      const { keys } = await ok(service.call('GET', '/.well-known/jwks.json'));
      assert.ok(!keys.some((key: Row) => key['kid'] === kid));
      await assertNamed('tokens', jti, 'forged');
      await assertNamed('signing_keys', kid, 'forged', service.adminToken);
      await attacker.delete('signing_keys', { kid });
      await attacker.delete('tokens', { token_id: jti });
      await untouched();
    });

    test('by giving an account a higher role, or another password', async () => {
      const member = await addColleague(service, tenant.id, 'member');
      const row = await attacker.row('users', { user_id: member.id });
      for (const change of [{ role: 'owner' }, { password_hash: 'argon2id$m=8,t=1,p=1$AA==$AA==' }]) {
        await attacker.update('users', { user_id: member.id }, change);
        await noticed();
        isRefused(await me(member.token));
        await assertNamed('users', member.id, 'forged');
        await attacker.update(
          'users',
          { user_id: member.id },
          { role: row['role'], password_hash: row['password_hash'] },
        );
      }
      await noticed();
      assert.equal((await me(member.token)).status, 200);
      await untouched();
    });

    test('by exchanging the rows of two people', async () => {
      const [member, admin] = [
        await addColleague(service, tenant.id, 'member'),
        await addColleague(service, tenant.id, 'admin'),
      ];
      const { user_id: _, ...other } = await attacker.row('users', { user_id: admin.id });
      const { row_mac, role } = other;
      await attacker.update('users', { user_id: member.id }, { row_mac, role });
      await noticed();
      isRefused(await me(member.token));
      await assertNamed('users', member.id, 'forged');
    });

    test('by making the tenant the one that runs the installation', async () => {
      await attacker.update('tenants', { tenant_id: tenant.id }, { is_operator: 1 });
      await noticed();
      isRefused(await service.call('GET', '/v1/tenants', { token }));
      await attacker.update('tenants', { tenant_id: tenant.id }, { is_operator: 0 });
      await noticed();
      assert.equal((await me(token)).status, 200);
    });

    test('by taking away the MACs, as if they had never been there', async () => {
      const member = await addColleague(service, tenant.id, 'member');
      await attacker.update('users', { user_id: member.id }, { role: 'owner', row_mac: null });
      await noticed();
      isRefused(await me(member.token));
    });
  });

  describe('gains no access', () => {
    let member: { id: string; token: string };
    let vault: string;

    before(async () => {
      await begin();
      member = await addColleague(service, tenant.id, 'member');
      vault = await addVault(service, {}, token);
      await addSecret(service, vault, 'db/password', {}, token);
    });

    const read = () => service.call('GET', secretUrl(vault, 'db/password'), { token: member.token });
    const vaultRow = () => attacker.row('vaults', { tenant_id: tenant.id, name: vault });

    async function inserted(table: string, row: Row, name: string): Promise<void> {
      await attacker.insert(table, { ...row, tenant_id: tenant.id, row_mac: randomBytes(36) });
      await noticed();
      isRefused(await read());
      await assertNamed(table, name, 'forged');
      const key = Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value === 'string'));
      await attacker.delete(table, { tenant_id: tenant.id, ...key });
      await noticed();
      assert.equal((await read()).status, 403);
      await untouched();
    }

    test('by joining a vault', async () => {
      const { vault_id } = await vaultRow();
      const joined = { vault_id, principal_kind: 'user', principal_id: member.id, role: 'reader', added_at: 1 };
      await inserted('vault_members', joined, `${vault_id} user ${member.id}`);
    });

    test('by joining a group', async () => {
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: 'readers' } }), 201);
      await inserted(
        'group_members',
        { group_id: group.id, user_id: member.id, added_at: 1 },
        `${group.id} ${member.id}`,
      );
    });

    test('by attaching a policy, or by writing another one into an attached policy', async () => {
      const name = await addPolicy(
        service,
        { user: tenant.owner.id },
        [{ action: ['secrets:read'], resource: ['vault/**'] }],
        token,
      );
      const attached = { principal_kind: 'user', principal_id: member.id, policy_name: name };
      await inserted('policy_attachments', { ...attached, attached_at: 1 }, `user ${member.id} ${name}`);
      const harmless = await addPolicy(
        service,
        { user: member.id },
        [{ action: ['users:list'], resource: ['user'] }],
        token,
      );
      const { document } = await attacker.row('policies', { tenant_id: tenant.id, name });
      await attacker.update('policies', { tenant_id: tenant.id, name: harmless }, { document });
      await noticed();
      isRefused(await read());
      await assertNamed('policies', harmless, 'forged');
    });
  });

  describe('does not turn machines round', () => {
    before(begin);

    test('by setting the secret of a connection, or what it may reach', async () => {
      const vault = await addVault(service, {}, token);
      const machine = await addConnection(service, vault, {}, token);
      const where = { tenant_id: tenant.id, client_id: machine.client_id };
      const before = await attacker.row('app_connections', where);
      assert.equal((await callAs(service, machine, 'GET', `/v1/vaults/${vault}/secrets`)).status, 200);
      for (const change of [
        { secret_hash: hash('sha256', 'mine', 'buffer') },
        { allowed_paths: '["**"]' },
        { vault_ids: '[]' },
      ]) {
        await attacker.update('app_connections', where, change);
        await noticed();
        isRefused(await callAs(service, machine, 'GET', `/v1/vaults/${vault}/secrets`));
        await assertNamed('app_connections', String(machine.id), 'forged');
        const column = Object.keys(change)[0] as string;
        await attacker.update('app_connections', where, { [column]: before[column] });
      }
      await noticed();
      assert.equal((await callAs(service, machine, 'GET', `/v1/vaults/${vault}/secrets`)).status, 200);
      await untouched();
    });

    test('by exchanging two encryption keys', async () => {
      for (const name of ['mine', 'theirs'])
        await ok(service.call('POST', '/eaas/keys', { token, body: { name } }), 201);
      const [mine, theirs] = [
        await attacker.row('eaas_keys', { tenant_id: tenant.id, name: 'mine' }),
        await attacker.row('eaas_keys', { tenant_id: tenant.id, name: 'theirs' }),
      ];
      await attacker.update('eaas_keys', { tenant_id: tenant.id, name: 'mine' }, { key_id: theirs['key_id'] });
      await noticed();
      isRefused(await service.call('POST', '/eaas/keys/mine/encrypt', { token, body: { plaintext: 'x' } }));
      await assertNamed('eaas_keys', 'mine', 'forged');
      await attacker.update('eaas_keys', { tenant_id: tenant.id, name: 'mine' }, { key_id: mine['key_id'] });
    });
  });

  describe('serves nobody another secret', () => {
    let vault: string;
    let other: string;
    const read = (path: string, query = '') => service.call('GET', `${secretUrl(vault, path)}${query}`, { token });

    before(async () => {
      await begin();
      vault = await addVault(service, {}, token);
      other = await addVault(service, {}, token);
      for (const path of ['a', 'b', 'c']) await addSecret(service, vault, path, { value: `first ${path}` }, token);
      await addSecret(service, other, 'a', { value: 'of another vault' }, token);
    });

    const rowAt = async (path: string) => {
      const { vault_id } = await attacker.row('vaults', { tenant_id: tenant.id, name: vault });
      return attacker.row('secrets', { tenant_id: tenant.id, vault_id, path });
    };

    test('by putting an old value into a new version', async () => {
      const old = await rowAt('a');
      await ok(service.call('PUT', secretUrl(vault, 'a'), { token, body: { value: 'second a' } }));
      const { sealed, sealed_version, secret_id } = old;
      const now = await rowAt('a');
      await attacker.update('secrets', { secret_id }, { sealed, sealed_version });
      await attacker.update('secret_versions', { secret_id, version: 2 }, { sealed, sealed_version });
      await noticed();
      isRefused(await read('a'));
      isRefused(await read('a', '?version=2'));
      // It is streamed, so it can only be cut off.
      await assert.rejects(service.call('GET', `/v1/vaults/${vault}/aggregate`, { token }));
      await assertNamed('secrets', String(secret_id), 'forged');
      await attacker.update('secrets', { secret_id }, { sealed: now['sealed'], sealed_version: 2 });
      await noticed();
      assert.equal((await ok(read('a'))).value, 'second a');
    });

    test('by putting the whole old row back: that is served, and named', async () => {
      const old = await rowAt('b');
      await ok(service.call('PUT', secretUrl(vault, 'b'), { token, body: { value: 'second b' } }));
      await attacker.update('secrets', { secret_id: old['secret_id'] }, old);
      await noticed();
      await assertNamed('secrets', String(old['secret_id']), 'rolled_back');
    });

    test('by moving it to another path, or taking away a tag', async () => {
      const { secret_id } = await rowAt('c');
      for (const change of [{ path: 'public/c' }, { path: 'c', tags: '["open"]' }]) {
        await attacker.update('secrets', { secret_id }, change);
        await noticed();
        isRefused(await read(String(change.path)));
        await assertNamed('secrets', String(secret_id), 'forged');
      }
      await attacker.update('secrets', { secret_id }, { path: 'c', tags: '[]' });
      await noticed();
      assert.equal((await ok(read('c'))).value, 'first c');
    });

    test('by exchanging the names of two vaults', async () => {
      const names = { tenant_id: tenant.id };
      await attacker.update('vaults', { ...names, name: vault }, { name: 'between' });
      await attacker.update('vaults', { ...names, name: other }, { name: vault });
      await attacker.update('vaults', { ...names, name: 'between' }, { name: other });
      await noticed();
      isRefused(await read('a'));
      await assertNamed('vaults', vault, 'forged');
      await assertNamed('vaults', other, 'forged');
    });
  });

  describe('does not decide for others', () => {
    test('by writing a decision on what waits for approval', async () => {
      await begin();
      const admin = await addColleague(service, tenant.id, 'admin');
      const vault = await addVault(service, { environment: 'production' }, token);
      const waiting = await ok(service.call('DELETE', `/v1/vaults/${vault}`, { token }), 202);
      const decided = {
        level_index: 0,
        level: 'manager',
        approver_id: admin.id,
        approver_name: '',
        decision: 'approved',
      };
      const row = { tenant_id: tenant.id, approval_id: waiting.approval_id, ...decided, reason: '', decided_at: 1 };
      await attacker.insert('approval_decisions', { ...row, row_mac: randomBytes(36) });
      isRefused(
        await service.call('POST', `/approvals/${waiting.approval_id}/approve`, {
          token: admin.token,
          body: { digest: 'whatever it is' },
        }),
      );
      await assertNamed('approval_decisions', `${waiting.approval_id} 0`, 'forged');
    });
  });

  describe('takes nothing back unseen', () => {
    let member: Person;

    before(async () => {
      await begin();
      member = await addPerson(service, { tenant });
    });

    test('a token that was revoked: its old row is named', async () => {
      const made = await addToken(service, member.token);
      const alive = await attacker.row('tokens', { token_id: made.id });
      await ok(service.call('DELETE', `/auth/tokens/${made.id}`, { token: member.token }), 200);
      await attacker.update('tokens', { token_id: made.id }, { revoked_at: null });
      await noticed();
      isRefused(await me(made.token));
      await assertNamed('tokens', made.id, 'forged');
      await attacker.update('tokens', { token_id: made.id }, alive);
      await assertNamed('tokens', made.id, 'rolled_back');
    });

    test('a deny that was attached: that it is gone is named, and a policy that is gone closes', async () => {
      const name = await addPolicy(
        service,
        { user: member.id },
        [{ effect: 'deny', action: ['users:*'], resource: ['user'] }],
        token,
      );
      const policy = await attacker.row('policies', { tenant_id: tenant.id, name });
      await attacker.delete('policies', { tenant_id: tenant.id, name });
      await noticed();
      isRefused(await me(member.token));
      await assertNamed('policies', name, 'missing');
      await attacker.insert('policies', policy);
      await attacker.delete('policy_attachments', { tenant_id: tenant.id, policy_name: name });
      await assertNamed('policy_attachments', `user ${member.id} ${name}`, 'missing');
    });

    test('a group that was deleted: its row that is put back is named', async () => {
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: 'gone' } }), 201);
      const row = await attacker.row('groups', { group_id: group.id });
      await ok(service.call('DELETE', `/v1/groups/${group.id}`, { token }), 200);
      await attacker.insert('groups', row);
      await assertNamed('groups', group.id, 'resurrected');
    });
  });

  test('counts each refusal in a metric', async () => {
    const { text } = await service.call('GET', '/metrics');
    assert.match(text, /cv_forged_rows_total\{table="users"\} [1-9]/);
    assert.ok((await attacker.rows('signing_keys', { tenant_id: SYSTEM_TENANT })).length > 0);
  });
});
