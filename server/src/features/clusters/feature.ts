import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import * as applyLog from './apply-log.ts';
import * as contract from './contract.ts';
import { DesiredStates } from './desired-state.ts';
import { clusterRemoved } from './links.ts';
import * as policies from './policies.ts';
import { ClusterScheme } from './scheme.ts';
import * as clusters from './service.ts';
import { deleteOldApplies } from './state-store.ts';
import { CLUSTER_POLICIES, CLUSTERS } from './store.ts';

const APPLIES_RETENTION_MS = 90 * DAY_MS;

export const clustersFeature = feature({
  name: 'clusters',
  endpoints: contract,
  tables: {
    authenticated: [CLUSTERS, CLUSTER_POLICIES],
    plain: {
      cluster_states:
        'says which generation a cluster has and what it reported; a forged one makes its operator fetch again, or wait, and what it gets is decided by policies',
      cluster_apply_log: 'tells what was delivered and reported, as the audit log tells as well; decides nothing',
    },
  },
  ids: ['cluster', 'cpolicy', 'apply'],
  uses: ['clock', 'database', 'keyring'],
  removes: { clusterRemoved },
  build(parts) {
    const desired = new DesiredStates(parts);
    return {
      credentialSchemes: [new ClusterScheme(parts)],
      handlers: {
        createCluster: (ctx, { body }) => clusters.create(ctx, body),
        listClusters: (ctx, { query }) => clusters.list(ctx, query),
        readCluster: (ctx, { params }) => clusters.read(ctx, params.cluster_id),
        deleteCluster: (ctx, { params }) => clusters.remove(ctx, parts.clusterRemoved, params.cluster_id),
        rotateClusterToken: (ctx, { params, body }) => clusters.rotateToken(ctx, desired, params.cluster_id, body),
        createClusterPolicy: (ctx, { params, body }) => policies.create(ctx, params.cluster_id, body),
        listClusterPolicies: (ctx, { params, query }) => policies.list(ctx, params.cluster_id, query),
        deleteClusterPolicy: (ctx, { params }) => policies.remove(ctx, params.cluster_id, params.policy_id),
        readDesiredState: (ctx, { params }) => desired.read(ctx, params.cluster_id),
        reportStatus: (ctx, { params, body }) => applyLog.report(ctx, params.cluster_id, body),
        listApplyLog: (ctx, { params, query }) => applyLog.list(ctx, params.cluster_id, query),
      },
      jobs: [
        {
          name: 'delete-old-applies',
          intervalMs: HOUR_MS,
          // The apply log is a record of the last 90 days, and it is normal that a large share of it is older.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: async (signal, cutoff) => {
            const before = earlier(cutoff, APPLIES_RETENTION_MS);
            while (!signal.aborted && (await parts.database.transaction((tx) => deleteOldApplies(tx, before))) > 0);
          },
        },
      ],
    };
  },
});
