import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as paths from './service.ts';
import { deletePathsBy } from './store.ts';

export type { AttackPath } from './schemas.ts';
export { read as readPath } from './service.ts';

export function attackPathsFeature(kernel: Kernel): Feature {
  return {
    name: 'attack-paths',
    endpoints: bindContract(contract, {
      listAttackPaths: (ctx, { query }) => paths.list(ctx, query),
      readAttackPath: (ctx, { params }) => paths.read(ctx, params.attack_path_id),
      recomputeAttackPaths: (ctx) => paths.recompute(ctx),
    }),
    provides: {
      recomputeAttackPaths: (tenantId, readers, signal) => paths.recomputePaths(kernel, tenantId, readers, signal),
    },
    removals: {
      secrets: (tx, tenantId, secretIds) => deletePathsBy(tx, tenantId, 'secret_id', secretIds),
      user: (tx, tenantId, userId) => deletePathsBy(tx, tenantId, 'principal_id', [userId]),
      group: (tx, tenantId, groupId) => deletePathsBy(tx, tenantId, 'grant_id', [groupId]),
      connection: (tx, tenantId, { client_id }) => deletePathsBy(tx, tenantId, 'grant_id', [client_id]),
    },
  };
}
