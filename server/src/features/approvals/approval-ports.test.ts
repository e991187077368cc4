import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import Type from 'typebox';
import { addColleague, addTenant, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { NO_PROOFS } from '../../kernel/auth/authentication.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { AwaitsApproval } from '../../kernel/endpoint/approval.ts';
import { ANY_TOKEN, type EndpointDeclaration, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import { bind } from '../../kernel/request/binding.ts';
import { OwnTransaction } from '../../kernel/request/change.ts';
import { Context } from '../../kernel/request/context.ts';
import { makeReady } from '../../kernel/request/ready-endpoint.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { DELETED, Deleted, object } from '../../kernel/wire/wire.ts';
import { policiesOfUser } from '../policies/index.ts';
import { principalOf } from '../tokens/index.ts';
import { findUser } from '../users/storage/index.ts';
import { DatabaseApprovalQueue } from './approval-queue.ts';
import { expireOverdue } from './expiry.ts';
import type { ApprovalPorts } from './ports.ts';
import { Approvals } from './service.ts';

const base = {
  noun: 'things',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  plaintext: false,
  raw: NONE,
  bodyBytesMax: 1024,
  rate: 'write',
  effect: 'change',
  query: NONE,
  body: NONE,
} as const;

/** A destructive operation of two levels, as the vaults will have one: it removes a group by name. */
const deleteThing = endpoint({
  ...base,
  name: 'deleteThing',
  method: 'DELETE',
  path: '/v1/things/{name}',
  summary: 'Delete a thing',
  permission: 'things:delete',
  resource: 'thing/{name}',
  approval: 'vault_delete',
  audit: 'things:delete',
  params: object({ name: Type.String() }),
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

const decide = endpoint({
  ...base,
  name: 'decide',
  method: 'POST',
  path: '/decide',
  summary: 'Decide',
  permission: 'approvals:decide',
  resource: 'self/approvals',
  approval: NONE,
  audit: 'approvals:decide',
  params: NONE,
  status: 200,
  output: object({}),
  errors: [],
});

onSqliteAtLanding('what other features connect to approvals', (database) => {
  let service: Service;
  let tenant: Tenant;
  let told: string[];
  let managers: string[];
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    told = [];
    managers = [];
  });

  const tell =
    (what: string) =>
    async (_: unknown, tenantId: string, { approval_id }: { approval_id: string }) => {
      if (tenantId === tenant.id) told.push(`${what} ${approval_id}`);
    };
  const ports: ApprovalPorts = {
    managedBy: async (_, tenantId, userId) => (resource) =>
      tenantId === tenant.id && resource.startsWith('thing/') && managers.includes(userId),
    managersOf: async (_, tenantId, asked) =>
      asked.map(({ resource }) => (tenantId === tenant.id && resource.startsWith('thing/') ? [...managers] : [])),
    fortressVaults: async () => [],
    usersWithSignOn: async () => [],
    hooks: { vault_delete: { requested: tell('requested'), released: tell('released') } },
    endpoint: (name) => (name === 'deleteThing' ? ready : undefined),
  };
  const ready = makeReady(
    bind(deleteThing, async (ctx, { params }) =>
      ctx.change(async (tx) => {
        const { numDeletedRows } = await tx
          .deleteFrom('groups')
          .where('tenant_id', '=', ctx.tenantId)
          .where('name', '=', params.name)
          .executeTakeFirst();
        if (numDeletedRows !== 1n) throw notFound('thing');
        await ctx.needsApproval(tx);
        return DELETED;
      }),
    ),
    JSON.stringify,
  );
  const approvals = new Approvals(ports);
  const queue = new DatabaseApprovalQueue(ports);

  const newThing = async () => {
    const name = uniqueName('thing');
    const { token } = tenant.owner;
    await service.call('POST', '/v1/groups', { token, body: { name } });
    return name;
  };
  const exists = async (name: string) => {
    const { read } = service.app.kernel.database;
    return (await read.selectFrom('groups').select('name').where('name', '=', name).execute()).length === 1;
  };
  const epochNow = async () => Number(await service.app.kernel.epochs.current(tenant.id));
  const contextOf = async (userId: string, declaration: EndpointDeclaration, params: Record<string, string> = {}) => {
    const { kernel } = service.app;
    const { read } = kernel.database;
    const [row, user] = [await findTenant(read, tenant.id), await findUser(read, tenant.id, userId)];
    assert.ok(row !== undefined && user !== undefined);
    const url = declaration.path.replace(/\{(\w+)\}/, (_, name) => String(params[name]));
    const call = {
      requestId: newId('req'),
      url,
      method: declaration.method,
      headers: {},
      params,
      body: undefined,
      address: '127.0.0.1',
      certificate: null,
    };
    const { token_id } = await read
      .selectFrom('tokens')
      .select('token_id')
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    const credential = { credential: 'pat', credentialId: token_id, tokenRates: {}, ceilings: [] } as const;
    const factor = { signedInAt: null, mfaAt: null, factorTrustedFrom: null, mustEnrol: false };
    const times = { expiresAt: kernel.clock.now() + HOUR_MS };
    const principal = principalOf(row, user, await policiesOfUser(read, user), { ...credential, ...factor, ...times });
    const authentication = { again: async () => ({ principal, epoch: await epochNow(), proofs: NO_PROOFS }) };
    const strategy = new OwnTransaction({ authentication, approvals: queue, storeResponse: async () => {} });
    const ctx = new Context(kernel, declaration, call, strategy);
    ctx.caller.become(principal, await epochNow());
    return ctx;
  };
  const ask = async (userId: string, name: string) => {
    const ctx = await contextOf(userId, deleteThing, { name });
    ctx.access.authorize(`thing/${name}`);
    await assert.rejects(ready.handler(ctx, { params: { name }, query: {}, body: {} } as never), AwaitsApproval);
    assert.ok(ctx.pending !== null);
    return ctx.pending.approval_id;
  };
  const approve = async (userId: string, id: string) => {
    const { digest } = await approvals.read(await contextOf(userId, decide), id);
    return approvals.approve(await contextOf(userId, decide), id, digest ?? '', '');
  };
  const reject = async (userId: string, id: string) => approvals.reject(await contextOf(userId, decide), id, '');
  const isRefused = (code: string) => (error: unknown) => error instanceof CofferError && error.code === code;

  test('what is destructive waits even for the only admin, for a second call', async () => {
    const name = await newThing();
    const id = await ask(tenant.owner.id, name);
    assert.equal(await exists(name), true);
    const { status, self_approved, levels } = await approve(tenant.owner.id, id);
    assert.deepEqual([status, self_approved, levels.length], ['completed', true, 2]);
    assert.equal(await exists(name), false);
    assert.deepEqual(told, [`requested ${id}`]);
  });

  test('a vault manager decides the first level, an admin the second', async () => {
    const [admin, mia, max] = [
      await addColleague(service, tenant.id, 'admin'),
      await addColleague(service, tenant.id, 'member'),
      await addColleague(service, tenant.id, 'member'),
    ];
    const name = await newThing();
    const id = await ask(tenant.owner.id, name);
    await assert.rejects(approve(mia.id, id), isRefused('NOT_FOUND'), 'no manager sees nothing');
    managers.push(mia.id);
    const half = await approve(mia.id, id);
    assert.deepEqual([half.status, half.levels[0]?.decided_by?.id], ['pending', mia.id]);
    assert.equal(await exists(name), true);
    await assert.rejects(approve(mia.id, id), isRefused('INSUFFICIENT_PRIVILEGE'));
    managers.push(max.id);
    await assert.rejects(approve(max.id, id), isRefused('INSUFFICIENT_PRIVILEGE'));
    await assert.rejects(reject(max.id, id), isRefused('INSUFFICIENT_PRIVILEGE'));
    const whole = await approve(admin.id, id);
    assert.deepEqual([whole.status, whole.levels[1]?.decided_by?.id], ['completed', admin.id]);
    assert.equal(await exists(name), false);
  });

  test('a manager lists what they could decide, and nothing of others', async () => {
    const mia = await addColleague(service, tenant.id, 'member');
    const id = await ask(tenant.owner.id, await newThing());
    const list = async () => (await approvals.list(await contextOf(mia.id, decide), {})).approvals.map((row) => row.id);
    assert.deepEqual(await list(), []);
    managers.push(mia.id);
    assert.deepEqual(await list(), [id]);
  });

  test('what waited is released when it is rejected, expires or cannot be carried out, each once', async () => {
    const { kernel } = service.app;
    const rejected = await ask(tenant.owner.id, await newThing());
    await reject(tenant.owner.id, rejected);

    const gone = await newThing();
    const failed = await ask(tenant.owner.id, gone);
    await kernel.database.transaction(async (tx) => {
      await tx.deleteFrom('groups').where('name', '=', gone).execute();
    });
    const { status, failure } = await approve(tenant.owner.id, failed);
    assert.deepEqual([status, failure?.code], ['failed', 'NOT_FOUND']);

    // Put into the past, so that no job of the service itself is early.
    const late = await ask(tenant.owner.id, await newThing());
    const later = (kernel.clock.now() + 72 * HOUR_MS) as Cutoff;
    const { signal } = new AbortController();
    await expireOverdue(kernel, ports, later, signal);
    await expireOverdue(kernel, ports, later, signal);

    const released = told.filter((line) => line.startsWith('released'));
    assert.deepEqual(released, [`released ${rejected}`, `released ${failed}`, `released ${late}`]);
  });

  test('a resource that cannot be marked is not waited for', async () => {
    const name = await newThing();
    const hooks = { vault_delete: { requested: () => Promise.reject(new CofferError('IN_USE', 'It is marked.')) } };
    const strict = new DatabaseApprovalQueue({ ...ports, hooks });
    const ctx = await contextOf(tenant.owner.id, deleteThing, { name });
    ctx.access.authorize(`thing/${name}`);
    const store = await strict.prepare(ctx, {});
    await assert.rejects(service.app.kernel.database.transaction(store), isRefused('IN_USE'));
    assert.deepEqual((await approvals.list(await contextOf(tenant.owner.id, decide), {})).approvals, []);
  });

  test('an approval is requested inside the change, by its declaration', async () => {
    const ctx = await contextOf(tenant.owner.id, deleteThing, { name: 'x' });
    await service.app.kernel.database.transaction(async (tx) => {
      await assert.rejects(ctx.needsApproval(tx), /inside ctx.change/);
      const other = await contextOf(tenant.owner.id, decide);
      await assert.rejects(other.needsApproval(tx), /no approval/);
    });
  });
});
