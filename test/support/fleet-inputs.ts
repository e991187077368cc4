import { deleteStateOf } from '../../server/src/features/clusters/state-store.ts';
import { deleteCluster } from '../../server/src/features/clusters/store.ts';
import { deleteHostsOf } from '../../server/src/features/endpoint-discovery/store.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { someEnvironment } from './factories.ts';
import { account, addCluster, addClusterPolicy, hostId, reportHost, reportStatus, sshKey, sync } from './fleet.ts';
import { ok, uniqueName } from './people.ts';
import { recorded } from './rows.ts';

/** Valid input for clusters and for what hosts report, made afresh for each call. */
export const FLEET_INPUTS: Record<string, MakeInput> = {
  'POST /clusters': async () => ({ body: { name: uniqueName('cluster'), kind: 'kubernetes' } }),
  'GET /clusters': async (world) => {
    await someCluster(world);
    await someCluster(world);
    return {};
  },
  'GET /clusters/{cluster_id}': someCluster,
  'DELETE /clusters/{cluster_id}': someCluster,
  'POST /clusters/{cluster_id}/rotate-token': async (world) => ({ ...(await someCluster(world)), body: {} }),
  'POST /clusters/{cluster_id}/policies': async (world) => {
    const { params } = await someCluster(world);
    return { params, body: { ...newSecret(), ...(await someMapping(world)) } };
  },
  'GET /clusters/{cluster_id}/policies': async (world) => {
    const { params } = await somePolicy(world);
    await ok(addClusterPolicy(world.service, { id: params.cluster_id }, await someMapping(world)), 201);
    return { params: { cluster_id: params.cluster_id } };
  },
  'DELETE /clusters/{cluster_id}/policies/{policy_id}': somePolicy,
  'GET /clusters/{cluster_id}/desired-state': async (world) => {
    const { params } = await somePolicy(world);
    return { params: { cluster_id: params.cluster_id } };
  },
  'POST /clusters/{cluster_id}/status': async (world) => ({
    ...(await someCluster(world)),
    body: { generation: 0, results: [{ namespace: 'shop', secret_name: 'db', state: 'unchanged' }] },
  }),
  'GET /clusters/{cluster_id}/audit': async (world) => {
    const cluster = await newCluster(world);
    await ok(sync(world.service, cluster));
    await ok(reportStatus(world.service, cluster, { generation: 1, results: [] }));
    return { params: { cluster_id: cluster.id } };
  },
  'POST /kube-guardian/endpoint-accounts': async ({ service }) => ({
    body: {
      host_id: hostId(uniqueName('h')),
      scanned_at: new Date(service.clock.now()).toISOString(),
      accounts: [account('ada', { ssh_keys: [sshKey('a')] })],
    },
  }),
  'GET /endpoint-discovery/accounts': async (world) => {
    await someAccount(world);
    await someAccount(world);
    return {};
  },
  'GET /endpoint-discovery/accounts/{account_id}': someAccount,
  'POST /endpoint-discovery/accounts/{account_id}/link': async (world) => ({
    ...(await someAccount(world)),
    body: { user: world.owner.email },
  }),
  'GET /endpoint-discovery/drift': async (world) => {
    await someAccount(world);
    await someAccount(world);
    return {};
  },
};

/** Other ways to say which secrets a cluster gets. */
export const MORE_FLEET_INPUTS: Record<string, MakeInput[]> = {
  'POST /clusters/{cluster_id}/policies': [
    async (world) => {
      const { vault, mappings } = await someMapping(world);
      const body = { ...newSecret(), vault, prefix: mappings[0]?.path };
      return { ...(await someCluster(world)), body };
    },
    async (world) => {
      const { params } = await someEnvironment(world);
      const body = { ...newSecret(), environment_id: Number(params.environment_id) };
      return { ...(await someCluster(world)), body };
    },
  ],
};

function newSecret() {
  return { namespace: 'shop', secret_name: uniqueName('secret') };
}

/** In one tenant, before the oldest are deleted: plans limit how many there may be. */
const LEFT_MAX = 12;

async function newCluster({ service }: World) {
  const { kernel } = service.app;
  const tenant_id = (await ok(service.call('GET', '/auth/me'))).tenant.id as string;
  const query = kernel.database.read.selectFrom('clusters').select(['tenant_id', 'cluster_id', 'name']);
  const rows = await query.where('tenant_id', '=', tenant_id).orderBy('cluster_id').execute();
  const old = rows.filter(({ name }) => name.startsWith(DISPOSABLE)).slice(0, -LEFT_MAX);
  if (old.length > 0) {
    await recorded(kernel, tenant_id, async (tx) => {
      for (const row of old) {
        await deleteHostsOf(tx, tenant_id, row.cluster_id);
        await deleteStateOf(tx, row);
        await deleteCluster(tx, row);
      }
    });
  }
  return addCluster(service, { name: uniqueName(DISPOSABLE) });
}
const DISPOSABLE = 'input';

async function someCluster(world: World) {
  return { params: { cluster_id: (await newCluster(world)).id } };
}

async function someMapping({ service }: World) {
  const vault = uniqueName('vault');
  const path = `db/${uniqueName('password')}`;
  await ok(service.call('POST', '/v1/vaults', { body: { name: vault, environment: 'staging' } }), 201);
  await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path, value: 'x' } }), 201);
  return { vault, mappings: [{ key: 'password', path }] };
}

async function somePolicy(world: World) {
  const cluster = await newCluster(world);
  const { id } = await ok(addClusterPolicy(world.service, cluster, await someMapping(world)), 201);
  return { params: { cluster_id: cluster.id, policy_id: String(id) } };
}

async function someAccount(world: World) {
  const cluster = await newCluster(world);
  const name = uniqueName('account');
  await ok(reportHost(world.service, cluster, uniqueName('h'), [account(name, { ssh_keys: [sshKey(name)] })]));
  const { accounts } = await ok(world.service.call('GET', `/endpoint-discovery/accounts?username=${name}`));
  return { params: { account_id: String(accounts[0].id) } };
}
