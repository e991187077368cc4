import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { addConnection } from '../../../../test/support/machines.ts';
import { untilBlocked } from '../../../../test/support/overtaken.ts';
import {
  addColleague,
  addTenant,
  addToken,
  allPages,
  approve,
  approved,
  type Colleague,
  invalid,
  ok,
  openSession,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { asTheService, behindItsBack } from '../../../../test/support/rows.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addVault, runJobs } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { TOTP } from '../mfa/factors/index.ts';
import { ATTACHMENTS } from '../policies/index.ts';
import { PENDING_MAX } from './approval-queue.ts';
import { APPROVALS } from './index.ts';

const DOCUMENT = {
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }],
};

/** A tenant whose owner asks and whose admin decides; what is asked is nearly always to attach a policy to the member. */
interface Office {
  tenant: Tenant;
  owner: Tenant['owner'];
  admin: Colleague;
  member: Colleague;
}

onBothDatabases('approvals', (database, { rule }) => {
  let service: Service;
  before(async () => {
    // Connections enough for what happens at once here to happen at once there.
    const pool = database === 'postgres' ? { CV_DATABASE_POOL: '14' } : {};
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1', ...pool } });
  });
  after(() => service.close());

  const office = async (): Promise<Office> => {
    const tenant = await addTenant(service);
    const admin = await addColleague(service, tenant.id, 'admin');
    const member = await addColleague(service, tenant.id, 'member');
    return { tenant, owner: tenant.owner, admin, member };
  };
  const newPolicy = async ({ owner: { token } }: Office, document: object = DOCUMENT) => {
    const name = uniqueName('policy');
    await ok(service.call('POST', '/v1/policies', { token, body: { name, document } }), 201);
    return name;
  };
  const attach = (name: string, user: string, token: string, headers: Record<string, string> = {}) =>
    service.call('POST', `/v1/policies/${name}/attach`, { token, headers, body: { principal: { user } } });
  const attachments = async (name: string, { owner: { token } }: Office): Promise<unknown[]> =>
    (await ok(service.call('GET', `/v1/policies/${name}`, { token }))).attachments;
  /** Something that waits: its id, and the policy it is about. */
  const asked = async (there: Office, by: { token: string } = there.owner) => {
    const name = await newPolicy(there);
    const { approval_id } = await ok(attach(name, there.member.id, by.token), 202);
    return { id: String(approval_id), name };
  };
  const read = (id: string, { token }: { token: string }) => service.call('GET', `/approvals/${id}`, { token });
  const reject = (id: string, { token }: { token: string }, body: object = {}) =>
    service.call('POST', `/approvals/${id}/reject`, { token, body });
  const listed = async ({ token }: { token: string }, query = ''): Promise<Answer['body'][]> =>
    allPages(service, `/approvals${query}`, 'approvals', { token });
  const audited = async (action: string, { owner: { token } }: Office): Promise<Answer['body'][]> =>
    (await ok(service.call('GET', `/v1/audit?action=${action}`, { token }))).entries;
  const rowOf = (id: string) =>
    service.app.kernel.database.read
      .selectFrom('approvals')
      .selectAll()
      .where('approval_id', '=', id)
      .executeTakeFirstOrThrow();
  const patchUser = (id: string, token: string, body: object) =>
    service.call('PATCH', `/v1/users/${id}`, { token, body });

  describe('with a second admin', () => {
    rule('a change that needs an approval waits for it, is described by its request, and is not made yet', async () => {
      const there = await office();
      const name = await newPolicy(there);
      const answer = await ok(attach(name, there.member.email, there.owner.token), 202);
      const { approval_id, expires_at, ...rest } = answer;
      assert.deepEqual(rest, { status: 'pending_approval', approval: 'rbac_change', resource: `policy/${name}` });
      assert.ok(Math.abs(Date.parse(expires_at) - service.clock.now() - 72 * HOUR_MS) < MINUTE_MS);
      assert.deepEqual(await attachments(name, there), []);
      const { created_at: _, expires_at: __, digest, ...approval } = await ok(read(approval_id, there.admin));
      assert.match(digest, /^[\w-]{43}$/);
      assert.deepEqual(approval, {
        id: approval_id,
        kind: 'rbac_change',
        operation: 'attachPolicy',
        resource: `policy/${name}`,
        details: { principal: { kind: 'user', id: there.member.id } },
        status: 'pending',
        requested_by: { id: there.owner.id, name: there.owner.email },
        decided_at: null,
        levels: [{ level: 'admin', decided_by: null, decision: null, reason: null, at: null }],
        self_approved: false,
        single_approver: false,
        cancelled_because: null,
        failure: null,
        can_approve: true,
        request: {
          method: 'POST',
          path: `/v1/policies/${name}/attach`,
          query: '',
          body: { principal: { user: there.member.email } },
          differences: [
            {
              what: `attachment of ${name}`,
              before: null,
              after: { kind: 'user', id: there.member.id, document: DOCUMENT },
            },
          ],
          names: { [there.member.id]: there.member.email },
        },
      });
    });

    test('the requester cannot approve; the other carries it out, once, and both are recorded', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      assert.equal((await ok(read(id, there.owner))).can_approve, false);
      await refused(approve(service, id, there.owner.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.deepEqual(await attachments(name, there), []);
      const answer = await approve(service, id, there.admin.token, { reason: 'agreed on the phone' });
      const approval = await ok(Promise.resolve(answer));
      assert.deepEqual([approval.status, approval.self_approved, approval.failure], ['completed', false, null]);
      assert.equal(approval.levels[0].decided_by.id, there.admin.id);
      assert.deepEqual([approval.levels[0].decision, approval.levels[0].reason], ['approved', 'agreed on the phone']);
      assert.equal(approval.decided_at, approval.levels[0].at);
      assert.deepEqual(await ok(read(id, there.owner)), approval);
      assert.equal((await attachments(name, there)).length, 1);
      await ok(service.call('GET', '/v1/audit?limit=1', { token: there.member.token }));

      const again = await refused(approve(service, id, there.admin.token), 409, 'VERSION_CONFLICT');
      assert.match(again.message, /already approved and executed/);
      await refused(reject(id, there.admin), 409, 'VERSION_CONFLICT');

      const [done, request] = await audited('policies:attach', there);
      assert.deepEqual([request.status, request.actor.id], [202, there.owner.id]);
      assert.equal(request.details.approval_id, id);
      assert.deepEqual([done.status, done.decision, done.actor.id], [200, 'allow', there.owner.id]);
      assert.equal(done.actor.key, request.actor.key);
      assert.deepEqual([done.details.approval_id, done.details.approved_by], [id, there.admin.id]);
      assert.equal(done.request_id, answer.headers.get('x-request-id'));
      const decisions = await audited('approvals:approve', there);
      const decided = decisions.find((entry) => entry.status === 200);
      assert.deepEqual([decided.actor.id, decided.resource], [there.admin.id, `approval/${id}`]);
      assert.deepEqual([decided.details.outcome, decided.details.reason], ['completed', 'agreed on the phone']);
      const { token } = there.owner;
      assert.equal((await ok(service.call('GET', '/v1/audit/verify', { token }))).valid, true);
    });

    test('eight who approve at once carry it out once', async () => {
      const there = await office();
      const others = [there.admin];
      while (others.length < 8) others.push(await addColleague(service, there.tenant.id, 'admin'));
      for (let round = 0; round < 3; round++) {
        const { id, name } = await asked(there);
        const answers = await Promise.all(others.map(({ token }) => approve(service, id, token)));
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
        assert.equal((await attachments(name, there)).length, 1);
        const entries = await audited('policies:attach', there);
        assert.equal(entries.filter((entry) => entry.details.approval_id === id && entry.status === 200).length, 1);
      }
    });

    test('approved and rejected at once, one of them counts', async () => {
      const there = await office();
      const other = await addColleague(service, there.tenant.id, 'admin');
      for (let round = 0; round < 5; round++) {
        const { id, name } = await asked(there);
        const tries = [approve(service, id, there.admin.token), reject(id, other)];
        const answers = await Promise.all(round % 2 === 0 ? tries : tries.toReversed());
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
        const { status } = await ok(read(id, there.owner));
        assert.equal((await attachments(name, there)).length, status === 'completed' ? 1 : 0);
        assert.ok(['completed', 'rejected'].includes(status));
      }
    });

    rule('rejected, it does not happen, and says why', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      const approval = await ok(reject(id, there.admin, { reason: 'not now' }));
      assert.deepEqual([approval.status, approval.levels[0].decision], ['rejected', 'rejected']);
      assert.equal(approval.levels[0].reason, 'not now');
      assert.match((await refused(approve(service, id, there.admin.token), 409, 'VERSION_CONFLICT')).message, /reject/);
      assert.deepEqual(await attachments(name, there), []);
      assert.equal((await rowOf(id)).sealed_input, null);
    });

    rule('the requester may withdraw a request, and then send it again', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      assert.equal((await ok(reject(id, there.owner))).status, 'rejected');
      const { approval_id } = await ok(attach(name, there.member.id, there.owner.token), 202);
      assert.notEqual(approval_id, id);
    });

    rule('nobody who is merely an admin of the past decides', async () => {
      const there = await office();
      const other = await addColleague(service, there.tenant.id, 'admin');
      const { id } = await asked(there);
      const demotion = patchUser(other.id, there.owner.token, { role: 'member' });
      await approved(service, demotion, there.admin.token);
      await refused(approve(service, id, other.token), 404, 'NOT_FOUND');
    });

    // A kill in the middle is the same: there is one commit, and what is not committed is not there.
    test('a decision that cannot be recorded carries nothing out, and can be repeated', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      service.expectErrorLogs(/"errcode":1811|"code":"23514"/);
      await forbidDecisions(true);
      const { status } = await approve(service, id, there.admin.token);
      await forbidDecisions(false);
      assert.equal(status, 500);
      assert.deepEqual(await attachments(name, there), []);
      assert.equal((await ok(read(id, there.admin))).status, 'pending');
      assert.equal((await ok(approve(service, id, there.admin.token))).status, 'completed');
      assert.equal((await attachments(name, there)).length, 1);
    });

    /** Everything before the insert of the decision works, the operation itself included. */
    const forbidDecisions = (isForbidden: boolean) =>
      service.app.kernel.database.transaction(async (tx) => {
        if (database === 'sqlite' && isForbidden) {
          await sql`create trigger no_decisions before insert on approval_decisions
            begin select raise(abort, 'not today'); end`.execute(tx);
        } else if (database === 'sqlite') await sql`drop trigger no_decisions`.execute(tx);
        else if (isForbidden) {
          await sql`alter table approval_decisions add constraint no_decisions check (level_index > 9) not valid`.execute(
            tx,
          );
        } else await sql`alter table approval_decisions drop constraint no_decisions`.execute(tx);
      });
  });

  describe('time', () => {
    const expired = async (there: Office) => {
      const made = await asked(there);
      service.clock.advance(72 * HOUR_MS);
      return made;
    };

    rule('after 72 hours it cannot be decided any more, whether or not the job has run', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      service.clock.advance(72 * HOUR_MS - MINUTE_MS);
      const late = await asked(there);
      service.clock.advance(MINUTE_MS);
      const decisions = [approve(service, id, there.admin.token), reject(id, there.admin), reject(id, there.owner)];
      for (const answer of decisions) {
        assert.match((await refused(answer, 409, 'VERSION_CONFLICT')).message, /expired/);
      }
      assert.equal((await ok(read(id, there.owner))).status, 'expired');
      assert.deepEqual(await attachments(name, there), []);
      const ids = async (query: string) => (await listed(there.admin, query)).map((row) => row.id);
      assert.deepEqual(await ids('?status=pending'), [late.id]);
      assert.deepEqual(await ids('?status=expired'), [id]);
      const again = await ok(attach(name, there.member.id, there.owner.token), 202);
      assert.notEqual(again.approval_id, id, 'what expired is asked for anew');
      assert.equal((await ok(approve(service, late.id, there.admin.token))).status, 'completed');
    });

    test('the job marks it, deletes the stored request, and records that', async () => {
      const there = await office();
      const { id } = await expired(there);
      await runJobs(service);
      const row = await rowOf(id);
      assert.deepEqual([row.status, row.sealed_input], ['expired', null]);
      assert.equal((await ok(read(id, there.owner))).status, 'expired');
      const [entry] = await audited('approvals:expire', there);
      assert.deepEqual([entry.actor.kind, entry.resource], ['system', `approval/${id}`]);
      assert.equal(entry.details.requested_by, there.owner.id);
    });
  });

  describe('where there is nobody else', () => {
    test('the only admin does everyday things at once, recorded as self-approved', async () => {
      const tenant = await addTenant(service);
      const member = await addColleague(service, tenant.id, 'member');
      const there = { tenant, owner: tenant.owner, admin: member, member };
      const name = await newPolicy(there);
      await ok(attach(name, member.id, tenant.owner.token));
      const [entry] = await audited('policies:attach', there);
      assert.deepEqual([entry.status, entry.details.self_approved], [200, true]);
      assert.deepEqual(await listed(tenant.owner), []);
    });

    rule('what somebody else asks for waits for the only admin, who is then the second person', async () => {
      const tenant = await addTenant(service);
      const deputy = await addColleague(service, tenant.id, 'member');
      const member = await addColleague(service, tenant.id, 'member');
      const there = { tenant, owner: tenant.owner, admin: deputy, member };
      const may = { effect: 'allow', action: ['policies:*'], resource: ['policy', 'policy/*'] };
      const rights = await newPolicy(there, { version: '2026-01-01', statement: [may] });
      await ok(attach(rights, deputy.id, tenant.owner.token));
      const { id, name } = await asked(there, deputy);
      await refused(approve(service, id, deputy.token), 403, 'INSUFFICIENT_PRIVILEGE');
      const approval = await ok(approve(service, id, tenant.owner.token));
      assert.deepEqual([approval.status, approval.self_approved], ['completed', false]);
      assert.equal((await attachments(name, there)).length, 1);
    });

    rule('an admin who never had a password or a token is nobody yet', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const body = { email: `${uniqueName('later')}@example.com`, role: 'admin' };
      const later = await ok(service.call('POST', '/v1/users', { token, body }), 201);
      const member = await addColleague(service, tenant.id, 'member');
      const there = { tenant, owner: tenant.owner, admin: member, member };
      await ok(attach(await newPolicy(there), member.id, token));
      await ok(patchUser(later.id, token, { password: 'now they can log in' }));
      await ok(attach(await newPolicy(there), member.id, token), 202);
    });

    rule('tokens that are revoked still make a second person: else one could be made to vanish', async () => {
      const there = await office();
      const { tokens } = await ok(
        service.call('GET', `/auth/tokens?user_id=${there.admin.id}`, { token: there.owner.token }),
      );
      for (const { id } of tokens) {
        await ok(service.call('DELETE', `/auth/tokens/${id}`, { token: there.owner.token }), 200);
      }
      await ok(attach(await newPolicy(there), there.member.id, there.owner.token), 202);
    });

    rule('who is left alone while it waits approves it in a second, separate call', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      await ok(patchUser(there.admin.id, await openSession(service, there.owner.id), { status: 'disabled' }));
      const approval = await ok(approve(service, id, there.owner.token));
      assert.deepEqual([approval.status, approval.self_approved], ['completed', true]);
      assert.equal((await attachments(name, there)).length, 1);
      const entries = await audited('approvals:approve', there);
      assert.ok(entries.some((e) => e.details.self_approved === true && e.resource === `approval/${id}`));
    });
  });

  /** No endpoint needs two levels yet: what waits is made to, in the database. The levels themselves: levels.test.ts. */
  describe('with two levels', () => {
    const askedTwice = async (there: Office) => {
      const made = await asked(there);
      await asTheService(service.app.kernel.database, (tx) =>
        APPROVALS.updateWhere(tx, (eb) => eb('approval_id', '=', made.id), { kind: 'vault_delete' }),
      );
      return made;
    };

    rule('two people approve, one after the other, and the second completes it', async () => {
      const there = await office();
      const other = await addColleague(service, there.tenant.id, 'admin');
      const { id, name } = await askedTwice(there);
      const half = await ok(approve(service, id, there.admin.token, { reason: 'first' }));
      assert.deepEqual([half.status, half.decided_at], ['pending', null]);
      assert.deepEqual(
        half.levels.map((level: Answer['body']) => [level.level, level.decided_by?.id ?? null]),
        [
          ['vault_manager', there.admin.id],
          ['admin', null],
        ],
      );
      assert.deepEqual(await attachments(name, there), []);
      for (const { token } of [there.admin, there.owner]) {
        await refused(approve(service, id, token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const whole = await ok(approve(service, id, other.token, { reason: 'second' }));
      assert.deepEqual([whole.status, whole.levels[1].decided_by.id], ['completed', other.id]);
      assert.equal((await attachments(name, there)).length, 1);
    });

    rule('an approver may still reject, and the request shows both decisions', async () => {
      const there = await office();
      await addColleague(service, there.tenant.id, 'admin');
      const { id } = await askedTwice(there);
      await ok(approve(service, id, there.admin.token));
      const { status, levels } = await ok(reject(id, there.admin));
      const decisions = levels.map((level: Answer['body']) => level.decision);
      assert.deepEqual([status, ...decisions], ['rejected', 'approved', 'rejected']);
    });

    rule('of two admins the other decides both; the only one decides both, self-approved', async () => {
      const there = await office();
      const two = await askedTwice(there);
      const byOther = await ok(approve(service, two.id, there.admin.token));
      assert.deepEqual([byOther.status, byOther.self_approved], ['completed', false]);
      const one = await askedTwice(there);
      await ok(patchUser(there.admin.id, await openSession(service, there.owner.id), { status: 'disabled' }));
      const bySelf = await ok(approve(service, one.id, there.owner.token));
      assert.deepEqual([bySelf.status, bySelf.self_approved], ['completed', true]);
      const ids = bySelf.levels.map((level: Answer['body']) => level.decided_by.id);
      assert.deepEqual(ids, [there.owner.id, there.owner.id]);
    });
  });

  describe('when it cannot be carried out any more', () => {
    const failsWith = async (
      there: Office,
      { id, name }: { id: string; name: string },
      code: string,
      by: Colleague,
    ) => {
      const approval = await ok(approve(service, id, by.token));
      assert.deepEqual([approval.status, approval.failure?.code], ['failed', code], JSON.stringify(approval));
      assert.equal(approval.levels[0].decision, 'approved');
      assert.equal((await rowOf(id)).sealed_input, null);
      const failed = (await audited('policies:attach', there)).find((entry) => entry.status >= 400);
      assert.deepEqual([failed.details.approval_id, failed.details.approved_by], [id, by.id]);
      await refused(approve(service, id, by.token), 409, 'VERSION_CONFLICT');
      return { name, failed };
    };

    rule('because the requester has lost the right', async () => {
      const there = await office();
      const asking = await addColleague(service, there.tenant.id, 'admin');
      const made = await asked(there, asking);
      await approved(service, patchUser(asking.id, there.owner.token, { role: 'member' }), there.admin.token);
      const { failed } = await failsWith(there, made, 'INSUFFICIENT_PRIVILEGE', there.admin);
      assert.deepEqual([failed.decision, failed.actor.id], ['deny', asking.id]);
      assert.deepEqual(await attachments(made.name, there), []);
    });

    rule('because the requester is disabled, or deleted', async () => {
      const there = await office();
      for (const leave of [
        (id: string) => patchUser(id, there.owner.token, { status: 'disabled' }),
        (id: string) => service.call('DELETE', `/v1/users/${id}`, { token: there.owner.token }),
      ]) {
        const asking = await addColleague(service, there.tenant.id, 'admin');
        const made = await asked(there, asking);
        await approved(service, leave(asking.id), there.admin.token);
        await refused(approve(service, made.id, there.admin.token), 409, 'VERSION_CONFLICT');
        const { status, cancelled_because } = await ok(read(made.id, there.owner));
        assert.deepEqual([status, cancelled_because], ['cancelled', 'account_ended']);
        assert.deepEqual(await attachments(made.name, there), []);
      }
    });

    rule('because what it is about is gone', async () => {
      const there = await office();
      const made = await asked(there);
      await ok(service.call('DELETE', `/v1/users/${there.member.id}`, { token: there.owner.token }), 200);
      await failsWith(there, made, 'NOT_FOUND', there.admin);
    });

    rule('because it was done already by another way', async () => {
      const there = await office();
      const [first, name] = await asked(there).then((made) => [made, made.name] as const);
      const second = await ok(attach(name, there.member.id, there.admin.token), 202);
      await ok(approve(service, first.id, there.admin.token));
      const { status, failure } = await ok(approve(service, second.approval_id, there.owner.token));
      assert.deepEqual([status, failure.code], ['failed', 'ALREADY_EXISTS']);
      assert.equal((await attachments(name, there)).length, 1);
    });

    test('because the policy was rewritten while it waited', async () => {
      const there = await office();
      const made = await asked(there);
      const everything = { effect: 'allow', action: ['*'], resource: ['*'] };
      const body = { document: { version: '2026-01-01', statement: [everything] } };
      await ok(service.call('PUT', `/v1/policies/${made.name}`, { token: there.owner.token, body }));
      await failsWith(there, made, 'VERSION_CONFLICT', there.admin);
      assert.deepEqual(await attachments(made.name, there), []);
    });

    test('because the group was filled while it waited', async () => {
      const there = await office();
      const { token } = there.owner;
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('group') } }), 201);
      const name = await newPolicy(there);
      const body = { principal: { group: group.name } };
      const { approval_id } = await ok(service.call('POST', `/v1/policies/${name}/attach`, { token, body }), 202);
      const joins = { token, body: { user_id: there.member.id } };
      await ok(service.call('POST', `/v1/groups/${group.id}/members`, joins), 201);
      await failsWith(there, { id: approval_id, name }, 'VERSION_CONFLICT', there.admin);
      assert.deepEqual(await attachments(name, there), []);
    });

    test('a group is not joined at the very moment it gets rights', async () => {
      const there = await office();
      const { token } = there.owner;
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('group') } }), 201);
      const name = await newPolicy(there);
      const body = { principal: { group: group.id } };
      const { approval_id } = await ok(service.call('POST', `/v1/policies/${name}/attach`, { token, body }), 202);
      // The same attachment, not committed: carrying out waits for it, having read who is in the group.
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const inTheWay = service.app.kernel.database.transaction(async (tx) => {
        const row = { principal_kind: 'group', principal_id: group.id, policy_name: name, attached_at: 0 } as const;
        await ATTACHMENTS.insert(tx, { tenant_id: there.tenant.id, ...row });
        await released;
        throw new CofferError('IN_USE', 'rolled back');
      });
      const approving = await untilBlocked(service, () => approve(service, approval_id, there.admin.token));
      const joins = { token, body: { user_id: there.member.id } };
      const joining = await untilBlocked(service, () => service.call('POST', `/v1/groups/${group.id}/members`, joins));
      release();
      await assert.rejects(inTheWay, /rolled back/);
      const outcome = `${(await approving()).body.status}, ${(await joining()).status}`;
      assert.ok(['completed, 202', 'failed, 201'].includes(outcome), outcome);
    });
  });

  describe('requested again', () => {
    rule('by the same person it is the same approval; by another, or about another, it is not', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      const twin = await addToken(service, there.owner.token);
      const idOf = async (answer: Promise<Answer>) => (await ok(answer, 202)).approval_id;
      const member = there.member.id;
      assert.equal(await idOf(attach(name, member, there.owner.token)), id);
      assert.equal(await idOf(attach(name, member, twin.token)), id, 'with whatever token');
      const spelled = { token: there.owner.token, body: { principal: { user: member } } };
      assert.equal(await idOf(service.call('POST', `/policies/${name}/attach`, spelled)), id, 'by either path');
      assert.notEqual(await idOf(attach(name, member, there.admin.token)), id);
      assert.notEqual(await idOf(attach(name, there.admin.id, there.owner.token)), id);
      assert.equal((await listed(there.owner)).length, 3);
    });

    test('twenty times at once, it is one', async () => {
      const there = await office();
      const name = await newPolicy(there);
      const { id: user } = there.member;
      const answers = await Promise.all(Array.from({ length: 20 }, () => attach(name, user, there.owner.token)));
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202]);
      assert.equal(new Set(answers.map(({ body }) => body.approval_id)).size, 1);
      assert.equal((await listed(there.owner)).length, 1);
    });

    rule('with an Idempotency-Key, the same 202 comes back, also after it was decided', async () => {
      const there = await office();
      const name = await newPolicy(there);
      const { id: user } = there.member;
      const key = { 'idempotency-key': uniqueName('once') };
      const first = await attach(name, user, there.owner.token, key);
      assert.deepEqual([first.status, first.headers.get('idempotency-replayed')], [202, null]);
      const replay = await attach(name, user, there.owner.token, key);
      assert.deepEqual([replay.status, replay.headers.get('idempotency-replayed')], [202, 'true']);
      assert.equal(replay.text, first.text);
      await ok(approve(service, first.body.approval_id, there.admin.token));
      assert.equal((await attach(name, user, there.owner.token, key)).text, first.text);
      assert.equal((await listed(there.owner)).length, 1);
    });

    rule('an Idempotency-Key on the decision replays it and carries nothing out again', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      const { digest } = await ok(read(id, there.admin));
      const decide = () =>
        service.call('POST', `/approvals/${id}/approve`, {
          token: there.admin.token,
          body: { digest },
          headers: { 'idempotency-key': `decide ${id}`.replace(' ', '-') },
        });
      const first = await decide();
      const again = await decide();
      assert.deepEqual([first.status, again.status, again.text], [200, 200, first.text]);
      assert.equal((await attachments(name, there)).length, 1);
    });

    test(`${PENDING_MAX} in a tenant are enough, and only those that wait count`, async () => {
      const there = await office();
      const { id } = await asked(there);
      const template = await rowOf(id);
      await asTheService(service.app.kernel.database, async (tx) => {
        for (let i = 1; i < PENDING_MAX; i++) {
          const approval_id = newId('approval', template.created_at);
          // Of one person there would not be so many.
          const requester_id = `somebody-${i}`;
          await APPROVALS.insert(tx, { ...template, approval_id, requester_id, input_mac: Buffer.from(`${i}`) });
        }
      });
      const name = await newPolicy(there);
      await refused(attach(name, there.member.id, there.owner.token), 409, 'IN_USE');
      assert.equal((await listed(there.owner, '?limit=1000')).length, PENDING_MAX);
      await ok(reject(id, there.owner));
      await ok(attach(name, there.member.id, there.owner.token), 202);
    });
  });

  describe('who sees and decides', () => {
    rule('another tenant’s approvals do not exist, whatever one is there', async () => {
      const [there, foreign] = [await office(), await office()];
      const { id, name } = await asked(there);
      const before = await ok(read(id, there.owner));
      for (const { token } of [foreign.owner, foreign.admin, { token: service.adminToken }]) {
        await refused(read(id, { token }), 404, 'NOT_FOUND');
        await refused(approve(service, id, token), 404, 'NOT_FOUND');
        await refused(reject(id, { token }), 404, 'NOT_FOUND');
        assert.ok((await listed({ token })).every((row) => row.id !== id));
      }
      assert.deepEqual(await ok(read(id, there.owner)), before);
      assert.deepEqual(await attachments(name, there), []);
    });

    rule('without a credential nothing can be read, decided or stopped', async () => {
      const there = await office();
      const { id, name } = await asked(there);
      const before = await rowOf(id);
      for (const token of [null, 'cv_pat_nonsense', there.admin.token.slice(0, -3)]) {
        for (const verb of ['approve', 'reject']) {
          const answer = service.call('POST', `/approvals/${id}/${verb}`, { token, body: { digest: 'x' } });
          await refused(answer, 401, 'INVALID_TOKEN');
        }
        await refused(service.call('GET', `/approvals/${id}`, { token }), 401, 'INVALID_TOKEN');
        await refused(service.call('GET', '/approvals', { token }), 401, 'INVALID_TOKEN');
      }
      assert.deepEqual(await rowOf(id), before);
      assert.deepEqual(await attachments(name, there), []);
    });

    rule('members see their own, auditors see all and decide nothing', async () => {
      const there = await office();
      const { member, admin, owner } = there;
      const other = await addColleague(service, there.tenant.id, 'member');
      const auditor = await addColleague(service, there.tenant.id, 'auditor');
      const { id } = await asked(there);
      // Own second factor: the one thing here that a member may ask for.
      const now = service.clock.now();
      const factor = {
        sealed_secret: Buffer.from('x'),
        confirmed_at: now,
        last_step: 0,
        created_at: now,
        trusted_at: null,
      };
      await asTheService(service.app.kernel.database, (tx) =>
        TOTP.insert(tx, { tenant_id: there.tenant.id, user_id: member.id, ...factor }),
      );
      const session = await openSession(service, member.id, { isFactorShown: true });
      const own = await ok(service.call('DELETE', '/auth/mfa/totp', { token: session }), 202);
      const idsOf = async (who: { token: string }) => (await listed(who)).map((row) => row.id);
      assert.deepEqual(await idsOf(member), [own.approval_id]);
      assert.deepEqual(await idsOf(other), []);
      for (const who of [auditor, admin, owner]) assert.deepEqual(await idsOf(who), [own.approval_id, id]);
      await ok(read(own.approval_id, member));
      for (const [who, hidden] of [
        [member, id],
        [other, id],
        [other, own.approval_id],
      ] as const) {
        await refused(read(hidden, who), 404, 'NOT_FOUND');
        await refused(approve(service, hidden, who.token), 404, 'NOT_FOUND');
        await refused(reject(hidden, who), 404, 'NOT_FOUND');
      }
      await refused(approve(service, own.approval_id, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(approve(service, id, auditor.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(reject(id, auditor), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal((await ok(read(id, owner))).status, 'pending');
    });

    rule('AppConnections have their names beside their ids and numbers, for who may see them', async () => {
      const there = await office();
      const { owner, admin, member } = there;
      const send = (method: string, path: string, body: object, token = owner.token) =>
        service.call(method, path, { token, body });
      const vault = await addVault(service, {}, owner.token);
      const { id: vaultId } = await ok(service.call('GET', `/v1/vaults/${vault}`, { token: owner.token }));
      const { id: number, client_id, name } = await addConnection(service, vault, {}, owner.token);
      const foreign = await addConnection(service, await addVault(service));
      const rights = await newPolicy(there, {
        version: '2026-01-01',
        statement: [{ effect: 'allow', action: ['policies:*'], resource: ['policy', 'policy/*'] }],
      });
      await approved(service, attach(rights, member.id, owner.token), admin.token);
      const namesOf = async (id: string, who: { token: string }) => (await ok(read(id, who))).request.names;

      for (const app_connection of [number, client_id]) {
        const policy = await newPolicy(there);
        const asking = send('POST', `/v1/policies/${policy}/attach`, { principal: { app_connection } }, member.token);
        const { approval_id } = await ok(asking, 202);
        const expected = { [client_id]: name, [String(app_connection)]: name, [vaultId]: vault };
        assert.deepEqual(
          await namesOf(approval_id, admin),
          expected,
          'the vaults are among the limits of the connection',
        );
        assert.deepEqual(await namesOf(approval_id, member), {}, 'who asked may not read connections');
        const told = await ok(read(approval_id, member));
        assert.deepEqual([told.request.differences, told.details], [[], {}], 'nor what the service looked up for it');
        assert.equal((await ok(read(approval_id, admin))).request.differences.length > 0, true);
        await ok(approve(service, approval_id, admin.token));
      }

      const live = await ok(send('POST', '/v1/vaults', { name: uniqueName('live'), environment: 'production' }), 201);
      const path = `/v1/app-connections/${number}`;
      const { approval_id: change } = await ok(send('PATCH', path, { vault_ids: [live.id] }), 202);
      const names = await namesOf(change, admin);
      assert.deepEqual([names[number], names[live.id]], [name, live.name]);
      const denied = await newPolicy(there, {
        version: '2026-01-01',
        statement: [{ effect: 'deny', action: ['app_connections:read'], resource: [`app-connection/${client_id}`] }],
      });
      await approved(service, attach(denied, admin.id, owner.token), admin.token);
      const fewer = await namesOf(change, admin);
      assert.deepEqual([fewer[number], fewer[live.id]], [undefined, live.name], 'denied by another of its names');
      assert.equal((await ok(approve(service, change, admin.token))).status, 'completed');

      const words = await newPolicy(there, {
        version: '2026-01-01',
        statement: [foreign.id, number].map((id) => ({
          effect: 'allow',
          action: ['app_connections:read'],
          resource: [`app-connection/${id}`],
        })),
      });
      const { approval_id: document } = await ok(attach(words, member.id, owner.token), 202);
      const found = await namesOf(document, owner);
      assert.deepEqual(found, { [number]: name, [member.id]: member.email }, 'nothing of another tenant');
    });

    rule('a token with a ceiling decides nothing', async () => {
      const there = await office();
      const { id } = await asked(there);
      const ceilings = [
        { scope: { actions: ['approvals:*'] } },
        { scope: { vaults: ['ci'] } },
        { ip_allowlist: ['127.0.0.1'] },
      ];
      for (const ceiling of ceilings) {
        const { token } = await addToken(service, there.admin.token, ceiling);
        await refused(approve(service, id, token), 403, 'INSUFFICIENT_PRIVILEGE');
        await refused(reject(id, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const { token } = await addToken(service, there.admin.token, { scope: { actions: ['approvals:*'] } });
      await ok(read(id, { token }));
    });

    rule(
      'what policies ask about the request is what it was: its address and second factor, not the approver’s',
      async () => {
        const there = await office();
        const asking = await addColleague(service, there.tenant.id, 'admin', { mfaAt: service.clock.now() });
        const not = { effect: 'deny', action: ['policies:attach'], resource: ['*'] };
        const statement = [
          { ...not, condition: { ip_cidr: ['203.0.113.0/24'] } },
          { ...not, condition: { mfa: [false] } },
        ];
        const limits = await newPolicy(there, { version: '2026-01-01', statement });
        await approved(service, attach(limits, asking.id, there.owner.token), there.admin.token);
        const name = await newPolicy(there);
        const [here, elsewhere] = [{ 'x-forwarded-for': '198.51.100.7' }, { 'x-forwarded-for': '203.0.113.9' }];
        const { approval_id } = await ok(attach(name, there.member.id, asking.token, here), 202);
        service.clock.advance(HOUR_MS);
        await refused(attach(name, there.admin.id, asking.token, here), 403, 'INSUFFICIENT_PRIVILEGE');
        const { digest } = await ok(read(approval_id, there.admin));
        const options = { token: there.admin.token, headers: elsewhere, body: { digest } };
        const approval = await ok(service.call('POST', `/approvals/${approval_id}/approve`, options));
        assert.equal(approval.status, 'completed', JSON.stringify(approval.failure));
        const byApproval = (entry: Answer['body']) => entry.details.approval_id === approval_id && entry.status === 200;
        assert.equal((await audited('policies:attach', there)).find(byApproval).ip, '198.51.100.7');
        const [decision] = await audited('approvals:approve', there);
        assert.equal(decision.ip, '203.0.113.9');
      },
    );
  });

  rule('the body of a request, a password in it, is readable nowhere, and is what is carried out', async () => {
    const there = await office();
    const password = `never seen ${uniqueName('secret')}`;
    const email = `${uniqueName('new')}@example.com`;
    const body = { email, role: 'admin', password };
    const headers = { 'idempotency-key': uniqueName('sealed') };
    const answer = await service.call('POST', '/v1/users', { token: there.owner.token, body, headers });
    const { approval_id } = await ok(Promise.resolve(answer), 202);
    const seen = await read(approval_id, there.admin);
    assert.deepEqual(seen.body.details, { email, role: 'admin', sets_password: true });

    const digest = createHash('sha256')
      .update(JSON.stringify(['createUser', {}, body]))
      .digest();
    const forms = [
      Buffer.from(password),
      digest,
      Buffer.from(digest.toString('hex')),
      Buffer.from(digest.toString('base64')),
    ];
    const { read: db } = service.app.kernel.database;
    const rows = [
      ...(await db.selectFrom('approvals').selectAll().execute()),
      ...(await db.selectFrom('audit_segments').select('entries').execute()),
      ...(await db.selectFrom('idempotency_keys').selectAll().execute()),
    ];
    const columns = rows
      .flatMap((row) => Object.values(row))
      .map((value) => {
        return value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value));
      });
    const files =
      database === 'sqlite' ? readdirSync(service.dataDir).filter((file) => file.startsWith('coffer.db')) : [];
    const bytes = [...columns, ...files.map((file) => readFileSync(join(service.dataDir, file)))];
    bytes.push(Buffer.from(service.logs.join('')), Buffer.from(answer.text), Buffer.from(seen.text));
    for (const form of forms) assert.ok(bytes.every((each) => each.indexOf(form) === -1));

    assert.equal((await ok(approve(service, approval_id, there.admin.token))).status, 'completed');
    await ok(tryLogIn(service, { email, password, tenant: there.tenant.name }));
    assert.equal((await rowOf(approval_id)).sealed_input, null);
  });

  rule('an edited row is not carried out: what counts is what was sealed', async () => {
    const there = await office();
    const { id, name } = await asked(there);
    const edit = (change: { requester_id?: string; operation?: string }) =>
      behindItsBack(service.app.kernel.database, (db) =>
        db.updateTable('approvals').set(change).where('approval_id', '=', id).execute(),
      );
    service.expectErrorLogs(/a row was not written by the service/);
    for (const change of [{ operation: 'detachPolicy' }, { operation: 'attachPolicy', requester_id: 'user_other' }]) {
      await edit(change);
      assert.equal((await approve(service, id, there.admin.token)).status, 500);
    }
    assert.deepEqual(await attachments(name, there), []);
  });

  rule('ids and reasons that are none are refused', async () => {
    const there = await office();
    const { id } = await asked(there);
    const { token } = there.admin;
    for (const wrong of ['approval_none', id.slice(0, -1), id.toUpperCase(), there.member.id]) {
      await refused(read(wrong, there.admin), 404, 'NOT_FOUND');
      await refused(approve(service, wrong, token), 404, 'NOT_FOUND');
      await refused(reject(wrong, there.admin), 404, 'NOT_FOUND');
    }
    await invalid(read(`${id}%00`, there.admin), '/path/approval_id');
    await invalid(read('x'.repeat(65), there.admin), '/path/approval_id');
    for (const reason of [1, null, ['why'], 'x'.repeat(513), 'two\nlines', 'nul\u0000']) {
      await invalid(approve(service, id, token, { reason }), '/body/reason');
      await invalid(reject(id, there.admin, { reason }), '/body/reason');
    }
    await invalid(approve(service, id, token, { because: 'x' }), '/body/because');
    for (const query of [
      '?requester=other',
      '?status=open',
      '?limit=0',
      '?limit=1001',
      '?cursor=nonsense',
      '?order=asc',
    ]) {
      await refused(service.call('GET', `/approvals${query}`, { token }), 422, 'VALIDATION_FAILED');
    }
    assert.equal((await ok(read(id, there.admin))).status, 'pending');
  });

  test('the list is complete, page by page, newest first', async () => {
    const there = await office();
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift((await asked(there)).id);
    await ok(reject(String(made[1]), there.admin));
    await ok(approve(service, String(made[3]), there.admin.token));
    for (const limit of [1, 2, 5, 1000]) {
      const rows = await listed(there.admin, `?limit=${limit}`);
      assert.deepEqual(
        rows.map((row) => row.id),
        made,
      );
    }
    const of = async (status: string) => (await listed(there.admin, `?status=${status}&limit=1`)).map((row) => row.id);
    assert.deepEqual(await of('pending'), [made[0], made[2], made[4]]);
    assert.deepEqual(await of('rejected'), [made[1]]);
    assert.deepEqual(await of('completed'), [made[3]]);
    assert.deepEqual(await of('failed'), []);
  });

  rule('who asks for their own requests gets these, and no others that they may see', async () => {
    const there = await office();
    const mine = await asked(there);
    const theirs = await asked(there, there.admin);
    await ok(reject(mine.id, there.admin));
    const ids = async (by: { token: string }, query: string) => (await listed(by, query)).map((row) => row.id);
    assert.deepEqual(await ids(there.owner, '?requester=self'), [mine.id]);
    assert.deepEqual(await ids(there.owner, '?requester=self&status=pending'), []);
    assert.deepEqual(await ids(there.owner, '?requester=self&status=rejected&limit=1'), [mine.id]);
    assert.deepEqual(await ids(there.admin, '?requester=self'), [theirs.id]);
    assert.deepEqual(await ids(there.admin, '?requester=any'), [theirs.id, mine.id]);
    assert.deepEqual(await ids(there.member, '?requester=self'), []);
    assert.deepEqual(await ids((await office()).owner, '?requester=self'), []);
  });
});
