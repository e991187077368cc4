import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PLAN_QUOTAS, type QuotaName } from '../server/src/kernel/limits/plan-quotas.ts';
import { newIssuerKey, publicPem } from './support/external-issuer.ts';
import { addConnection } from './support/machines.ts';
import { addColleague, addTenant, addToken, ok, refused, type Tenant, uniqueName } from './support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from './support/service.ts';
import { addVault, POLICY_VERSION } from './support/vaults.ts';

const DAY_MS = 86_400_000;
const STARTER = PLAN_QUOTAS.starter;
/** Requests that want the last places at the same time. */
const AT_ONCE = 5;
const PLACES_LEFT = 2;

const document = (more: string[] = []) => ({
  version: POLICY_VERSION,
  statement: [{ effect: 'allow', action: ['secrets:read'], resource: ['vault/app/*', ...more] }],
});
const SPIFFE = {
  trust_domain: 'prod.example',
  trust_bundle_pem: publicPem(await newIssuerKey('1')),
  expected_audience: 'coffer',
  allowed_spiffe_ids: ['spiffe://prod\\.example/shop'],
};

onBothDatabases('quotas', (kind) => {
  let service: Service;
  before(async () => {
    service = await startService(kind);
  });
  after(() => service.close());

  const starterTenant = (more: object = {}) =>
    addTenant(service, { plan: 'starter', rate_limits: { write: 1_000_000, read: 1_000_000 }, ...more });

  /** Sends it for a tenant. */
  const by =
    ({ owner: { token } }: Tenant) =>
    (method: string, path: string, body?: unknown): Promise<Answer> =>
      service.call(method, path, { token, ...(body !== undefined && { body }) });

  async function exceeded(answer: Promise<Answer>, quota: QuotaName, limit: number): Promise<void> {
    const error = await refused(answer, 403, 'QUOTA_EXCEEDED');
    assert.equal(error.details.quota, quota);
    assert.equal(error.details.limit, limit);
    assert.match(error.message, new RegExp(`${limit} .*(Delete|Revoke|Detach|Remove|Shorten|Take)`));
  }

  interface Counted {
    plan?: 'professional';
    /** Prepares a tenant; what it answers makes one more, with the number given. */
    prepare(tenant: Tenant): Promise<{ add(no: number): Promise<Answer>; remove(first: Answer): Promise<Answer> }>;
    status: number;
    /** What the tenant has of it before anything is added. */
    before?: number;
  }

  const added = (tenant: Tenant, path: string, body: (no: number) => object, key: (answer: Answer) => string) => ({
    add: (no: number) => by(tenant)('POST', path, body(no)),
    remove: (first: Answer) => by(tenant)('DELETE', `${path}/${key(first)}`),
  });

  const groupsOf = async (tenant: Tenant, count: number): Promise<string[]> => {
    const made = [];
    for (let no = 0; no < count; no++) {
      made.push((await ok(by(tenant)('POST', '/v1/groups', { name: `g${no}` }), 201)).id as string);
    }
    return made;
  };

  const COUNTED: Partial<Record<QuotaName, Counted>> = {
    vaults: {
      status: 201,
      prepare: async (tenant) =>
        added(
          tenant,
          '/v1/vaults',
          (no) => ({ name: `v${no}` }),
          ({ body }) => body.name,
        ),
    },
    secrets: {
      status: 201,
      prepare: async (tenant) => {
        const vaults = [
          await addVault(service, {}, tenant.owner.token),
          await addVault(service, {}, tenant.owner.token),
        ];
        return {
          add: (no) => by(tenant)('POST', `/v1/vaults/${vaults[no % 2]}/secrets`, { path: `s${no}`, value: 'x' }),
          remove: ({ body }) => by(tenant)('DELETE', `/v1/vaults/${body.vault ?? vaults[0]}/secrets/${body.path}`),
        };
      },
    },
    users: {
      status: 201,
      before: 1,
      prepare: async (tenant) =>
        added(
          tenant,
          '/v1/users',
          (no) => ({ email: `u${no}@${tenant.name}.example`, invite: no % 2 === 0 }),
          ({ body }) => body.id,
        ),
    },
    policies: {
      status: 201,
      prepare: async (tenant) =>
        added(
          tenant,
          '/v1/policies',
          (no) => ({ name: `p${no}`, document: document() }),
          ({ body }) => body.name,
        ),
    },
    attachments_per_principal: {
      status: 200,
      prepare: async (tenant) => {
        const principal = { user: tenant.owner.id };
        for (let no = 0; no < STARTER.attachments_per_principal + AT_ONCE; no++) {
          await ok(by(tenant)('POST', '/v1/policies', { name: `p${no}`, document: document() }), 201);
        }
        return {
          add: (no) => by(tenant)('POST', `/v1/policies/p${no}/attach`, { principal }),
          remove: ({ body }) => by(tenant)('POST', `/v1/policies/${body.policy}/detach`, { principal }),
        };
      },
    },
    tokens_per_user: {
      status: 201,
      before: 1,
      prepare: async (tenant) =>
        added(
          tenant,
          '/auth/tokens',
          (no) => ({ name: `t${no}` }),
          ({ body }) => body.id,
        ),
    },
    groups: {
      status: 201,
      prepare: async (tenant) =>
        added(
          tenant,
          '/v1/groups',
          (no) => ({ name: `g${no}` }),
          ({ body }) => body.id,
        ),
    },
    groups_per_user: {
      status: 201,
      prepare: async (tenant) => {
        const groups = await groupsOf(tenant, STARTER.groups_per_user + AT_ONCE);
        const user = tenant.owner.id;
        return {
          add: (no) => by(tenant)('POST', `/v1/groups/${groups[no]}/members`, { user_id: user }),
          remove: ({ body }) => by(tenant)('DELETE', `/v1/groups/${body.group_id}/members/${user}`),
        };
      },
    },
    members_per_group: {
      status: 201,
      prepare: async (tenant) => {
        const [group] = await groupsOf(tenant, 1);
        const users: string[] = [];
        while (users.length < STARTER.members_per_group + AT_ONCE) {
          users.push((await addColleague(service, tenant.id, 'member')).id);
        }
        const path = `/v1/groups/${group}/members`;
        return {
          add: (no) => by(tenant)('POST', path, { user_id: users[no] }),
          remove: ({ body }) => by(tenant)('DELETE', `${path}/${body.user_id}`),
        };
      },
    },
    members_per_vault: {
      status: 201,
      before: 1,
      prepare: async (tenant) => {
        const groups = await groupsOf(tenant, STARTER.members_per_vault + AT_ONCE);
        const path = `/v1/vaults/${await addVault(service, {}, tenant.owner.token)}/members`;
        return {
          add: (no) => by(tenant)('POST', path, { group: groups[no], role: 'reader' }),
          remove: ({ body }) => by(tenant)('DELETE', `${path}/${body.principal?.id ?? body.id}`),
        };
      },
    },
    app_connections: {
      status: 201,
      prepare: async (tenant) => {
        const vault = await addVault(service, {}, tenant.owner.token);
        return added(
          tenant,
          '/v1/app-connections',
          (no) => ({ name: `c${no}`, vault, mtls_required: false }),
          ({ body }) => body.id,
        );
      },
    },
    federations_per_connection: {
      plan: 'professional',
      status: 201,
      prepare: async (tenant) => {
        const vault = await addVault(service, {}, tenant.owner.token);
        const { id } = await addConnection(service, vault, {}, tenant.owner.token);
        const body = (no: number) => ({
          name: `f${no}`,
          provider: 'github',
          audience: 'coffer',
          subject_pattern: 'repo:acme/app:ref:refs/heads/main',
        });
        return added(tenant, `/app-connections/${id}/federations`, body, (answer) => answer.body.id);
      },
    },
    workload_methods: {
      status: 201,
      prepare: async (tenant) => {
        const vault = await addVault(service, {}, tenant.owner.token);
        const { id } = await addConnection(service, vault, {}, tenant.owner.token);
        const body = (no: number) => ({ name: `m${no}`, type: 'spiffe', app_connection_id: id, config: SPIFFE });
        return added(tenant, '/workload-identity/methods', body, (answer) => answer.body.id);
      },
    },
  };

  for (const [name, { plan, prepare, status, before: there = 0 }] of Object.entries(COUNTED)) {
    test(`${name}: the last seat is assigned once, and a seat that is free again can be assigned`, async () => {
      const quota = name as QuotaName;
      const tenant = await starterTenant(plan === undefined ? {} : { plan });
      const limit = PLAN_QUOTAS[plan ?? 'starter'][quota];
      const { add, remove } = await prepare(tenant);
      let no = 0;
      let first: Answer | null = null;
      while (no < limit - there - PLACES_LEFT) {
        const answer = await add(no++);
        assert.equal(answer.status, status, answer.text);
        first ??= answer;
      }
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => add(no++)));
      const accepted = answers.filter((answer) => answer.status === status);
      assert.equal(accepted.length, PLACES_LEFT, answers.map(({ text }) => text).join('\n'));
      for (const answer of answers) if (answer.status !== status) await exceeded(Promise.resolve(answer), quota, limit);
      const removed = await remove(first as Answer);
      assert.ok(removed.status < 300, removed.text);
      const free = answers.findIndex((answer) => answer.status !== status);
      assert.equal((await add(no - AT_ONCE + free)).status, status);
    });
  }

  test('policy_bytes: documents are counted together, also when one is made longer', async () => {
    const tenant = await starterTenant();
    const send = by(tenant);
    const limit = STARTER.policy_bytes;
    const long = document(Array.from({ length: 60 }, (_, at) => `vault/${'x'.repeat(60)}/${'y'.repeat(440)}${at}`));
    const each = JSON.stringify(long).length;
    let used = 0;
    let no = 0;
    for (; used + each <= limit; used += each) {
      await ok(send('POST', '/v1/policies', { name: `p${no++}`, document: long }), 201);
    }
    await exceeded(send('POST', '/v1/policies', { name: 'more', document: long }), 'policy_bytes', limit);
    await ok(send('POST', '/v1/policies', { name: 'short', document: document() }), 201);
    await exceeded(send('PUT', '/v1/policies/short', { document: long }), 'policy_bytes', limit);
    await ok(send('PUT', '/v1/policies/p0', { document: document() }));
    await ok(send('PUT', '/v1/policies/short', { document: long }));
  });

  test('what a tenant has above a quota stays and works; only more is refused', async () => {
    const tenant = await starterTenant({ plan: 'enterprise' });
    const tokens: Answer['body'][] = [];
    const there = 1;
    while (tokens.length < STARTER.tokens_per_user + 2 - there) {
      tokens.push(await addToken(service, tenant.owner.token, { name: uniqueName('t') }));
    }
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { plan: 'starter' } }));
    for (const { token } of tokens) await ok(service.call('GET', '/auth/me', { token }));
    const { tokens: listed } = await ok(by(tenant)('GET', '/auth/tokens?limit=100'));
    assert.equal(listed.length, tokens.length + there);
    const create = () => by(tenant)('POST', '/auth/tokens', { name: 'one more' });
    await exceeded(create(), 'tokens_per_user', STARTER.tokens_per_user);
    for (const { id } of tokens.slice(0, 2)) await ok(by(tenant)('DELETE', `/auth/tokens/${id}`), 200);
    await exceeded(create(), 'tokens_per_user', STARTER.tokens_per_user);
    await ok(by(tenant)('DELETE', `/auth/tokens/${tokens[2].id}`), 200);
    await ok(create(), 201);
  });

  test('expired tokens do not count, and neither does what others have', async () => {
    const [tenant, other] = [await starterTenant(), await starterTenant()];
    const body = { name: 'short', ttl_days: 1 };
    for (let no = 1; no < STARTER.tokens_per_user; no++) await ok(by(tenant)('POST', '/auth/tokens', body), 201);
    await exceeded(by(tenant)('POST', '/auth/tokens', body), 'tokens_per_user', STARTER.tokens_per_user);
    await ok(by(other)('POST', '/auth/tokens', body), 201);
    service.clock.advance(DAY_MS + 1000);
    await ok(by(tenant)('POST', '/auth/tokens', body), 201);
  });

  test('a caller without permission to create learns nothing of a quota', async () => {
    const tenant = await starterTenant();
    for (let no = 1; no < STARTER.tokens_per_user; no++) await addToken(service, tenant.owner.token);
    const scoped = { token: tenant.owner.token };
    const { body: list } = await service.call('GET', '/auth/tokens?limit=1', scoped);
    await ok(service.call('DELETE', `/auth/tokens/${list.tokens[0].id}`, scoped), 200);
    const narrow = await addToken(service, tenant.owner.token, { scope: { actions: ['users:read'] } });
    const creating = service.call('POST', '/auth/tokens', { token: narrow.token, body: { name: 'x' } });
    await refused(creating, 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
