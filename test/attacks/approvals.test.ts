import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PENDING_BY_REQUESTER_MAX } from '../../server/src/features/approvals/approval-queue.ts';
import { HOUR_MS } from '../../server/src/kernel/base/clock.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  addToken,
  approve,
  approved,
  type Colleague,
  invalid,
  logIn,
  ok,
  openSession,
  refused,
  type Tenant,
  uniqueName,
} from '../support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addTotp } from '../support/totp.ts';
import { addVault, runJobs } from '../support/vaults.ts';

const documentOf = (action: string, resource: string) => ({
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: [action], resource: [resource] }],
});

onBothDatabases('what approvals must not let anybody achieve', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const as = (token: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.call(method, path, { token, headers, ...(body !== undefined && { body }) });
  const audited = async (token: string, query: string): Promise<Answer['body'][]> =>
    (await ok(as(token, 'GET', `/v1/audit?limit=1000&${query}`))).entries;
  const newPolicy = async (token: string, document: object = documentOf('audit:read', 'audit')) => {
    const name = uniqueName('policy');
    await ok(as(token, 'POST', '/v1/policies', { name, document }), 201);
    return name;
  };

  describe('one person alone', () => {
    const productionVault = async ({ owner }: Tenant) => {
      const name = uniqueName('live');
      await ok(as(owner.token, 'POST', '/v1/vaults', { name, environment: 'production' }), 201);
      return name;
    };
    /** Before there is a second admin, the only one adds members at once. */
    const managed = async (tenant: Tenant, managers: readonly Colleague[]) => {
      const name = await productionVault(tenant);
      for (const { id } of managers) {
        const members = `/v1/vaults/${name}/members`;
        await ok(as(tenant.owner.token, 'POST', members, { user: id, role: 'manager' }), 201);
      }
      service.clock.advance(1);
      return name;
    };
    const askToDelete = async (name: string, token: string) =>
      String((await ok(as(token, 'DELETE', `/v1/vaults/${name}`), 202)).approval_id);
    const isThere = async (name: string, token: string) =>
      (await as(token, 'GET', `/v1/vaults/${name}`)).status === 200;

    test('deciding both levels of a deletion while a manager is there', async () => {
      const tenant = await addTenant(service);
      const mia = await addColleague(service, tenant.id, 'member');
      const name = await managed(tenant, [mia]);
      const admin = await addColleague(service, tenant.id, 'admin');
      const id = await askToDelete(name, tenant.owner.token);
      const { message } = await refused(approve(service, id, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.match(message, /manager of the vault/);
      assert.equal(await isThere(name, tenant.owner.token), true);
      assert.equal((await ok(approve(service, id, mia.token))).status, 'pending');
      const done = await ok(approve(service, id, admin.token));
      assert.deepEqual([done.status, done.single_approver, done.self_approved], ['completed', false, false]);
    });

    test('deciding both levels while another admin is there, who is not the requester', async () => {
      const tenant = await addTenant(service);
      const mia = await addColleague(service, tenant.id, 'member');
      const name = await managed(tenant, [mia]);
      const admin = await addColleague(service, tenant.id, 'admin');
      // A manager asks: the owner, who manages it too, and the admin are the two who are left.
      const id = await askToDelete(name, mia.token);
      await refused(approve(service, id, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal((await ok(approve(service, id, tenant.owner.token))).status, 'pending');
      await refused(approve(service, id, tenant.owner.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(approve(service, id, mia.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal(await isThere(name, tenant.owner.token), true);
      const done = await ok(approve(service, id, admin.token));
      assert.deepEqual([done.status, done.single_approver], ['completed', false]);
    });

    test('acting alone without a trace: two admins and no manager but the requester', async () => {
      const tenant = await addTenant(service);
      const name = await productionVault(tenant);
      const admin = await addColleague(service, tenant.id, 'admin');
      const id = await askToDelete(name, tenant.owner.token);
      const done = await ok(approve(service, id, admin.token));
      assert.deepEqual([done.status, done.single_approver, done.self_approved], ['completed', true, false]);
      assert.deepEqual(
        done.levels.map((level: Answer['body']) => level.decided_by.id),
        [admin.id, admin.id],
      );
      const [entry] = await audited(tenant.owner.token, 'action=approvals:approve');
      assert.equal(entry.details.single_approver, true);
    });

    test('being prevented from deciding by managers who are gone', async () => {
      const tenant = await addTenant(service);
      const [disabled, deleted] = [
        await addColleague(service, tenant.id, 'member'),
        await addColleague(service, tenant.id, 'member'),
      ];
      const name = await managed(tenant, [disabled, deleted]);
      const { token } = tenant.owner;
      await ok(as(token, 'PATCH', `/v1/users/${disabled.id}`, { status: 'disabled' }));
      await ok(as(token, 'DELETE', `/v1/users/${deleted.id}`), 200);
      const admin = await addColleague(service, tenant.id, 'admin');
      const done = await ok(approve(service, await askToDelete(name, token), admin.token));
      assert.deepEqual([done.status, done.single_approver], ['completed', true]);
    });

    test('deciding as a manager, or as the only admin, on what they requested themselves', async () => {
      const tenant = await addTenant(service);
      const mia = await addColleague(service, tenant.id, 'member');
      const name = await managed(tenant, [mia]);
      const id = await askToDelete(name, tenant.owner.token);
      // The only admin is the requester: the manager decides first, and the admin's own call is the second.
      await refused(approve(service, id, tenant.owner.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal((await ok(approve(service, id, mia.token))).status, 'pending');
      await refused(approve(service, id, mia.token), 403, 'INSUFFICIENT_PRIVILEGE');
      const done = await ok(approve(service, id, tenant.owner.token));
      assert.deepEqual([done.status, done.self_approved, done.single_approver], ['completed', true, false]);
    });

    test('getting rid of the manager who has to decide', async () => {
      const tenant = await addTenant(service);
      const mia = await addColleague(service, tenant.id, 'member');
      const name = await managed(tenant, [mia]);
      const admin = await addColleague(service, tenant.id, 'admin');
      await askToDelete(name, tenant.owner.token);
      const member = `/v1/vaults/${name}/members/${mia.id}`;
      await refused(as(admin.token, 'DELETE', member), 409, 'IN_USE');
      await refused(as(admin.token, 'PATCH', member, { role: 'reader' }), 409, 'IN_USE');
    });
  });

  describe('an approver who is misled', () => {
    const office = async () => {
      const tenant = await addTenant(service);
      const admin = await addColleague(service, tenant.id, 'admin');
      const member = await addColleague(service, tenant.id, 'member');
      return { tenant, token: tenant.owner.token, admin, member };
    };

    test('approving everything as “version 2”', async () => {
      const { token, admin, member } = await office();
      const harmless = documentOf('vaults:list', 'vault/dev');
      const name = await newPolicy(token, harmless);
      const attach = as(token, 'POST', `/v1/policies/${name}/attach`, { principal: { user: member.id } });
      await approved(service, attach, admin.token);
      const document = documentOf('*', '*');
      const { approval_id } = await ok(as(token, 'PUT', `/v1/policies/${name}`, { document }), 202);
      const { request } = await ok(as(admin.token, 'GET', `/approvals/${approval_id}`));
      assert.deepEqual([request.method, request.path], ['PUT', `/v1/policies/${name}`]);
      assert.deepEqual(request.body, { document });
      assert.deepEqual(request.differences[0], { what: 'document', before: harmless, after: document });
      assert.deepEqual(request.differences[1].before, [{ kind: 'user', id: member.id }]);
      assert.equal(request.names[member.id], member.email);
    });

    test('approving what they did not read', async () => {
      const { token, admin, member } = await office();
      const ask = async () => {
        const path = `/v1/policies/${await newPolicy(token)}/attach`;
        return String((await ok(as(token, 'POST', path, { principal: { user: member.id } }), 202)).approval_id);
      };
      const [one, other] = [await ask(), await ask()];
      const path = `/approvals/${one}/approve`;
      await invalid(as(admin.token, 'POST', path, {}), '/body/digest');
      await invalid(as(admin.token, 'POST', path, { digest: '' }), '/body/digest');
      const { digest } = await ok(as(admin.token, 'GET', `/approvals/${other}`));
      const { message } = await refused(as(admin.token, 'POST', path, { digest }), 409, 'VERSION_CONFLICT');
      assert.match(message, /GET \/approvals/);
      assert.equal((await ok(as(admin.token, 'GET', `/approvals/${one}`))).status, 'pending');
      const { digest: own } = await ok(as(admin.token, 'GET', `/approvals/${one}`));
      assert.equal((await ok(as(admin.token, 'POST', path, { digest: own }))).status, 'completed');
      const decided = await audited(token, 'action=approvals:approve');
      assert.ok(decided.some((entry) => entry.status === 200 && entry.details.digest === own));
    });

    test('approving another change than they were shown', async () => {
      const { tenant, token, admin, member } = await office();
      const other = await addColleague(service, tenant.id, 'admin');
      const rename = { name: 'Harmless', role: 'auditor' };
      const { approval_id } = await ok(as(token, 'PATCH', `/v1/users/${member.id}`, rename), 202);
      const { request, digest } = await ok(as(admin.token, 'GET', `/approvals/${approval_id}`));
      assert.deepEqual(request.differences, [
        { what: 'name', before: '', after: 'Harmless' },
        { what: 'role', before: 'member', after: 'auditor' },
      ]);
      await ok(as(other.token, 'PATCH', `/v1/users/${member.id}`, { name: 'Somebody else by now' }));
      const answer = await ok(as(admin.token, 'POST', `/approvals/${approval_id}/approve`, { digest }));
      assert.deepEqual([answer.status, answer.failure.code], ['failed', 'VERSION_CONFLICT']);
      assert.equal((await ok(as(token, 'GET', `/v1/users/${member.id}`))).role, 'member');
    });

    test('reading a credential that is part of it, while it waits or afterwards', async () => {
      const { token, admin } = await office();
      const password = `never seen ${uniqueName('word')}`;
      const body = { email: `${uniqueName('new')}@example.com`, role: 'auditor', password };
      const { approval_id } = await ok(as(token, 'POST', '/v1/users', body), 202);
      const waiting = await as(admin.token, 'GET', `/approvals/${approval_id}`);
      assert.deepEqual(waiting.body.request.body, { ...body, password: '[redacted]' });
      const done = await approve(service, approval_id, admin.token);
      const later = await as(admin.token, 'GET', `/approvals/${approval_id}`);
      assert.deepEqual(later.body.request, waiting.body.request, 'what was approved can still be read');
      for (const { text } of [waiting, done, later]) assert.ok(!text.includes(password));
    });
  });

  describe('who was revoked', () => {
    const office = async () => {
      const tenant = await addTenant(service);
      const boss = await addPerson(service, { tenant, role: 'admin' });
      const admin = await addColleague(service, tenant.id, 'admin');
      return { tenant, boss, admin, owner: tenant.owner };
    };
    const evil = () => ({ email: `${uniqueName('evil')}@example.com`, role: 'admin' });
    const assertCancelled = async (id: string, by: { token: string }, because: string) => {
      await refused(approve(service, id, by.token), 409, 'VERSION_CONFLICT');
      const shown = await ok(as(by.token, 'GET', `/approvals/${id}`));
      assert.deepEqual([shown.status, shown.cancelled_because], ['cancelled', because]);
      const listed = await ok(as(by.token, 'GET', '/approvals?status=cancelled'));
      assert.ok(listed.approvals.some((approval: Answer['body']) => approval.id === id));
      const open = await ok(as(by.token, 'GET', '/approvals?status=pending'));
      assert.ok(open.approvals.every((approval: Answer['body']) => approval.id !== id));
    };

    test('having carried out what a revoked token requested', async () => {
      const { boss, admin, owner } = await office();
      const session = await logIn(service, boss);
      const thief = await addToken(service, session);
      const { approval_id } = await ok(as(thief.token, 'POST', '/v1/users', evil()), 202);
      await ok(as(boss.token, 'DELETE', `/auth/tokens/${thief.id}`), 200);
      await assertCancelled(approval_id, admin, 'credential_revoked');
      service.clock.advance(HOUR_MS);
      await runJobs(service);
      await assertCancelled(approval_id, owner, 'credential_revoked');
      const row = await service.app.kernel.database.read
        .selectFrom('approvals')
        .selectAll()
        .where('approval_id', '=', approval_id)
        .executeTakeFirstOrThrow();
      assert.deepEqual([row.status, row.sealed_input], ['cancelled', null]);
      const entries = await audited(owner.token, 'action=approvals:cancel');
      assert.equal(entries.length, 1);
      assert.deepEqual(
        [entries[0].resource, entries[0].details.because, entries[0].details.requested_by],
        [`approval/${approval_id}`, 'credential_revoked', boss.id],
      );
      assert.equal((await ok(as(owner.token, 'GET', '/v1/audit/verify'))).valid, true);
    });

    test('having carried out what a token made with a revoked one requested', async () => {
      const { boss, admin } = await office();
      const parent = await addToken(service, boss.token);
      const child = await addToken(service, parent.token);
      const { approval_id } = await ok(as(child.token, 'POST', '/v1/users', evil()), 202);
      await ok(as(boss.token, 'DELETE', `/auth/tokens/${parent.id}`), 200);
      await assertCancelled(approval_id, admin, 'credential_revoked');
    });

    test('having carried out what an ended session requested', async () => {
      const { boss, admin } = await office();
      const stolen = await logIn(service, boss);
      const { approval_id } = await ok(as(stolen, 'POST', '/v1/users', evil()), 202);
      const change = { current_password: boss.password, new_password: 'another one by now' };
      await ok(as(boss.token, 'POST', '/auth/password', change), 204);
      await assertCancelled(approval_id, admin, 'credential_revoked');
    });

    test('having carried out what a disabled account requested', async () => {
      const { boss, admin, owner } = await office();
      const { approval_id } = await ok(as(boss.token, 'POST', '/v1/users', evil()), 202);
      const farewell = as(owner.token, 'PATCH', `/v1/users/${boss.id}`, { status: 'disabled' });
      await approved(service, farewell, admin.token);
      await assertCancelled(approval_id, admin, 'account_ended');
    });

    test('a vault that waits for them for ever', async () => {
      const { boss, admin, owner } = await office();
      const name = uniqueName('live');
      await ok(as(owner.token, 'POST', '/v1/vaults', { name, environment: 'production' }), 201);
      const token = await addToken(service, boss.token);
      await ok(as(token.token, 'DELETE', `/v1/vaults/${name}`), 202);
      assert.equal((await ok(as(admin.token, 'GET', `/v1/vaults/${name}`))).status, 'pending_deletion');
      await ok(as(boss.token, 'DELETE', `/auth/tokens/${token.id}`), 200);
      service.clock.advance(HOUR_MS);
      await runJobs(service);
      const { status, approval_id } = await ok(as(admin.token, 'GET', `/v1/vaults/${name}`));
      assert.deepEqual([status, approval_id], ['active', null]);
    });

    test('but what an expired token requested still is carried out', async () => {
      const { boss, admin } = await office();
      const brief = await addToken(service, boss.token, { ttl_days: 1 });
      const { approval_id } = await ok(as(brief.token, 'POST', '/v1/users', evil()), 202);
      service.clock.advance(30 * HOUR_MS);
      await refused(as(brief.token, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
      assert.equal((await ok(approve(service, approval_id, admin.token))).status, 'completed');
    });
  });

  describe('a member who floods it', () => {
    test('filling the queue with requests that differ in a header', async () => {
      const tenant = await addTenant(service);
      const member = await addPerson(service, { tenant });
      await addTotp(service, member.id);
      const session = await openSession(service, member.id, { isFactorShown: true });
      const ids = new Set<string>();
      for (let i = 0; i < 30; i++) {
        const headers = { 'if-match': `"v${i + 1}"`, 'x-anything': String(i) };
        ids.add((await ok(as(session, 'DELETE', '/auth/mfa/totp', undefined, headers), 202)).approval_id);
      }
      assert.equal(ids.size, 1);
    });

    test(`having more than ${PENDING_BY_REQUESTER_MAX} requests wait`, async () => {
      const tenant = await addTenant(service);
      const admin = await addColleague(service, tenant.id, 'admin');
      const { token } = tenant.owner;
      const ask = () => as(token, 'POST', '/v1/users', { email: `${uniqueName('new')}@example.com`, role: 'auditor' });
      const all = await Promise.all(Array.from({ length: PENDING_BY_REQUESTER_MAX + 10 }, ask));
      const accepted = all.filter(({ status }) => status === 202);
      assert.equal(accepted.length, PENDING_BY_REQUESTER_MAX);
      const { message } = await refused(ask(), 409, 'IN_USE');
      assert.match(message, /reject/);
      const other = { email: `${uniqueName('new')}@example.com`, role: 'auditor' };
      await ok(as(admin.token, 'POST', '/v1/users', other), 202);
      const [first] = accepted;
      await ok(as(token, 'POST', `/approvals/${first?.body.approval_id}/reject`, {}));
      await ok(ask(), 202);
    });

    test('keeping its owner from asking, with what a token requested that is revoked', async () => {
      const tenant = await addTenant(service);
      await addColleague(service, tenant.id, 'admin');
      const { token } = tenant.owner;
      const ask = (by: string, email = `${uniqueName('new')}@example.com`) =>
        as(by, 'POST', '/v1/users', { email, role: 'auditor' });
      const stolen = await ok(as(token, 'POST', '/auth/tokens', { name: 'stolen' }), 201);
      const own = await ok(ask(token), 202);
      const email = `${uniqueName('new')}@example.com`;
      const requested = [await ok(ask(stolen.token, email), 202)];
      while (requested.length < PENDING_BY_REQUESTER_MAX - 1) requested.push(await ok(ask(stolen.token), 202));
      await refused(ask(token), 409, 'IN_USE');
      await ok(as(token, 'DELETE', `/auth/tokens/${stolen.id}`));
      const again = await ok(ask(token, email), 202);
      assert.ok(
        requested.every(({ approval_id }) => approval_id !== again.approval_id),
        'it is asked for anew',
      );
      for (let i = 2; i < PENDING_BY_REQUESTER_MAX; i++) await ok(ask(token), 202);
      await refused(ask(token), 409, 'IN_USE');
      const statusOf = async (id: string) => (await ok(as(token, 'GET', `/approvals/${id}`))).status;
      assert.equal(await statusOf(own.approval_id), 'pending');
      const { entries } = await ok(as(token, 'GET', '/v1/audit?action=approvals:cancel&limit=100'));
      assert.equal(entries.length, requested.length);
      for (const { approval_id } of requested) assert.equal(await statusOf(approval_id), 'cancelled');
    });

    test('keeping a vault from being deleted, with what a token requested that is revoked', async () => {
      const tenant = await addTenant(service);
      await addColleague(service, tenant.id, 'admin');
      const { token } = tenant.owner;
      const vault = await addVault(service, { environment: 'production' }, token);
      const stolen = await ok(as(token, 'POST', '/auth/tokens', { name: 'stolen' }), 201);
      const first = await ok(as(stolen.token, 'DELETE', `/v1/vaults/${vault}`), 202);
      await ok(as(token, 'DELETE', `/auth/tokens/${stolen.id}`));
      const second = await ok(as(token, 'DELETE', `/v1/vaults/${vault}`), 202);
      assert.notEqual(second.approval_id, first.approval_id);
      const { status, approval_id } = await ok(as(token, 'GET', `/v1/vaults/${vault}`));
      assert.deepEqual([status, approval_id], ['pending_deletion', second.approval_id]);
    });
  });
});
