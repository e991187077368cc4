import { replacePaths } from '../../server/src/features/attack-paths/store.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { DOCUMENT, namedGroup, someSecret } from './factories.ts';
import { ok, uniqueName } from './people.ts';

/** Valid input for risks and attack paths, made afresh for each call. */
export const RISK_INPUTS: Record<string, MakeInput> = {
  'GET /v1/vaults/{vault}/secrets/{path*}/risk': someSecret,
  'GET /v1/access-paths': async (world) => ({ query: (await someSecret(world)).params }),
  'GET /attack-paths': async (world) => {
    await someAttackPath(world);
    return {};
  },
  'GET /attack-paths/{attack_path_id}': someAttackPath,
  'POST /attack-paths/recompute': async (world) => {
    await holdRuns(world);
    return {};
  },
};

async function tenantOf({ service }: World): Promise<string> {
  return (await ok(service.call('GET', '/auth/me'))).tenant.id;
}

/** No node runs what another one has leased, so that nothing changes while a test compares states. */
async function holdRuns(world: World): Promise<void> {
  const { database, clock } = world.service.app.kernel;
  const tenant_id = await tenantOf(world);
  const lease = { lease_owner: 'nobody', lease_until: clock.now() + DAY_MS };
  const run = { position: '', requests: 0, reads_known_since: null, reads_counted_until: 0, finished_at: null };
  await database.transaction((tx) =>
    tx
      .insertInto('risk_runs')
      .values({ tenant_id, next_run_at: 0, ...run, ...lease })
      .onConflict((c) => c.column('tenant_id').doUpdateSet(lease))
      .execute(),
  );
}

/** The ways of somebody, of a connection, and through a group and a policy. */
export const MORE_ACCESS_PATHS: MakeInput[] = [
  async ({ service }) => ({ query: { user: (await ok(service.call('GET', '/auth/me'))).user.id } }),
  async (world) => {
    const { vault } = (await someSecret(world)).params;
    const body = { name: uniqueName('connection'), vault, mtls_required: false };
    const { client_id } = await ok(world.service.call('POST', '/v1/app-connections', { body }), 201);
    return { query: { app_connection: client_id } };
  },
  async (world) => {
    const group = await namedGroup(world);
    const policy = uniqueName('readers');
    const body = { name: policy, document: DOCUMENT };
    await ok(world.service.call('POST', '/v1/policies', { body }), 201);
    return { query: { group: group.id, policy } };
  },
];

/** Two paths straight into the database, since a run would find others. Earlier ones are replaced. */
export async function someAttackPath(world: World) {
  await holdRuns(world);
  const { database, clock } = world.service.app.kernel;
  const tenant_id = await tenantOf(world);
  const { vault, path } = (await someSecret(world)).params;
  const listed = await ok(world.service.call('GET', `/v1/vaults/${vault}/secrets?prefix=${path}`));
  const secret_id: string = listed.secrets[0].id;
  const now = clock.now();
  const { user } = await ok(world.service.call('GET', '/auth/me'));
  const steps = [
    { kind: 'principal', type: 'user', id: user.id, name: user.email, weakness: null, why: '' },
    { kind: 'credential', type: 'password', id: '', name: '', weakness: 80, why: 'password without a second factor' },
    { kind: 'grant', type: 'role', id: 'admin', name: 'admin', weakness: 30, why: 'a role that reads every vault' },
    { kind: 'secret', type: 'generic', id: secret_id, name: `${vault}/${path}`, weakness: null, why: 'risk 50' },
  ];
  const rows = [40, 20].map((score) => ({
    tenant_id,
    path_id: newId('apath', now),
    score,
    weakness: 80,
    principal_id: user.id,
    grant_id: 'admin',
    secret_id,
    steps: JSON.stringify(steps),
    first_seen_at: now,
    computed_at: now,
  }));
  await database.transaction((tx) => replacePaths(tx, tenant_id, rows));
  return { params: { attack_path_id: String(rows[0]?.path_id) } };
}
