import { feature } from '../../kernel/feature/declaration.ts';
import { groupRemoved } from '../groups/index.ts';
import { connectionRemoved } from '../policies/index.ts';
import { recomputeAttackPaths } from '../risk/index.ts';
import { secretsRemoved } from '../secrets/index.ts';
import { userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import * as paths from './service.ts';
import { deletePathsBy } from './store.ts';

export const attackPathsFeature = feature({
  name: 'attack-paths',
  endpoints: contract,
  tables: { plain: { attack_paths: 'says what was found; decides nothing, and the next run finds it anew' } },
  ids: ['apath'],
  uses: ['clock', 'database'],
  build: (parts) => ({
    handlers: {
      listAttackPaths: (ctx, { query }) => paths.list(ctx, query),
      readAttackPath: (ctx, { params }) => paths.read(ctx, params.attack_path_id),
      recomputeAttackPaths: (ctx) => paths.recompute(ctx),
    },
    provides: [
      recomputeAttackPaths.by((tenantId, readers, signal) => paths.recomputePaths(parts, tenantId, readers, signal)),
    ],
    removals: [
      secretsRemoved.by((tx, tenantId, secretIds) => deletePathsBy(tx, tenantId, 'secret_id', secretIds)),
      userRemoved.by((tx, tenantId, userId) => deletePathsBy(tx, tenantId, 'principal_id', [userId])),
      groupRemoved.by((tx, tenantId, groupId) => deletePathsBy(tx, tenantId, 'grant_id', [groupId])),
      connectionRemoved.by((tx, tenantId, { client_id }) => deletePathsBy(tx, tenantId, 'grant_id', [client_id])),
    ],
  }),
});
