import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import { CheckpointFiles } from './checkpoint-files.ts';
import { Checkpoints } from './checkpoints.ts';
import * as contract from './contract.ts';
import { exportLog } from './export.ts';
import { purgeAuditJob, type RetentionParts } from './retention.ts';
import * as audit from './service.ts';
import { verify } from './verification.ts';

export { type KeptHead, type Verification, type VerificationParts, verify as verifyTenant } from './verification.ts';

export function auditFeature(parts: RetentionParts): Feature {
  const { kernel, heads, keys } = parts;
  const { checkpointDir } = kernel.config;
  const files = checkpointDir === null ? null : new CheckpointFiles(kernel, keys, checkpointDir);
  const checkpoints = new Checkpoints(kernel, heads, keys, files);
  return {
    name: 'audit',
    endpoints: [
      bind(contract.listAudit, (ctx, { query }) => audit.list(ctx, query)),
      bind(contract.verifyAudit, (ctx) => verify(parts, ctx.tenantId)),
      bind(contract.listCheckpoints, (ctx, { query }) => checkpoints.list(ctx, query)),
      bind(contract.createCheckpoint, (ctx) => checkpoints.create(ctx)),
      bind(contract.exportAudit, (ctx, { query }) => exportLog(ctx, query)),
    ],
    jobs: [checkpoints.job, purgeAuditJob(parts)],
    settled: async () => files?.stop(),
  };
}
