import type { Heads } from '../../kernel/audit/heads.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { PqcKeys } from '../pqc/index.ts';
import { Checkpoints } from './checkpoints.ts';
import * as contract from './contract.ts';
import { exportLog } from './export.ts';
import * as audit from './service.ts';
import { verify } from './verification.ts';

export { AUDIT_ENDPOINTS } from './contract.ts';

export function auditFeature(kernel: Kernel, heads: Heads, keys: PqcKeys): Feature {
  const checkpoints = new Checkpoints(kernel, heads, keys);
  return {
    name: 'audit',
    endpoints: [
      bind(contract.listAudit, (ctx, { query }) => audit.list(ctx, query)),
      bind(contract.verifyAudit, (ctx) => verify(ctx, heads, keys)),
      bind(contract.listCheckpoints, (ctx, { query }) => checkpoints.list(ctx, query)),
      bind(contract.createCheckpoint, (ctx) => checkpoints.create(ctx)),
      bind(contract.exportAudit, (ctx, { query }) => exportLog(ctx, query)),
    ],
    jobs: [checkpoints.job],
  };
}
