import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { pqcKeysOf } from '../pqc/index.ts';
import { archivingJobs } from './archive-target.ts';
import { CheckpointFiles } from './checkpoint-files.ts';
import { Checkpoints } from './checkpoints.ts';
import { compactAuditJob } from './compaction.ts';
import * as contract from './contract.ts';
import { exportLog } from './export.ts';
import { lookUpsOf } from './look-ups.ts';
import { purgeAuditJob } from './retention.ts';
import * as audit from './service.ts';
import { verify } from './verification.ts';
import { VerificationJob } from './verification-job.ts';

export type { ArchiveRow } from '../../kernel/audit/archived-ranges.ts';
export { ArchiveError, splitObject } from './archive-object.ts';
export { restoreRange } from './archive-restore.ts';
export { findArchive, prunedRanges } from './archive-store.ts';
export { archiveTargetOf } from './archive-target.ts';
export { checkpointToWire } from './checkpoint-wire.ts';
export { compactAuditJob } from './compaction.ts';
export { AuditFilter as AuditFilterSchema, type AuditRecord, type Checkpoint } from './contract.ts';
export { type AuditFilter, auditRecordOf, isWanted, parseTime } from './service.ts';
export {
  type CheckpointRow,
  checkpointsOnward,
  findHead,
  newestCheckpoint,
  segmentHolding,
  seqBefore,
} from './store.ts';
export { type KeptHead, type Verification, type VerificationParts, verify as verifyTenant } from './verification.ts';
export { VERIFIED } from './verified-store.ts';

declare module '../../kernel/platform/wiring.ts' {
  interface Ports {
    /** The last entry that every enabled exporter of a tenant has delivered; infinity if it has none. */
    exportedSeq(db: Reader, tenantId: string): Promise<number>;
    /** The last entry that was counted; infinity before the first one is. */
    countedSeq(db: Reader, tenantId: string): Promise<number>;
  }
}

export function auditFeature(kernel: Kernel, wiring: Wiring): Feature {
  const keys = pqcKeysOf(kernel);
  const parts = { kernel, keys };
  const { checkpointDir } = kernel.config;
  // It is 0 where no folder is configured, so that one alert fits every node.
  const failing = kernel.metrics.gauge(
    'cv_checkpoint_files_failing',
    '1 if this node’s last attempt to write audit checkpoints to CV_CHECKPOINT_DIR failed; it keeps retrying.',
    'max',
  );
  const files = checkpointDir === null ? null : new CheckpointFiles(kernel, keys, checkpointDir, failing);
  const checkpoints = new Checkpoints(kernel, keys, files);
  const { exportedSeq, countedSeq } = wiring.needs('exportedSeq', 'countedSeq');
  const readUpTo = async (db: Reader, tenantId: string) =>
    Math.min(await exportedSeq(db, tenantId), await countedSeq(db, tenantId));
  // The endpoints of all features are known when the first request comes.
  let known: ReturnType<typeof lookUpsOf> | null = null;
  const isLookUp: ReturnType<typeof lookUpsOf> = (entry) => {
    known ??= lookUpsOf(wiring.declarations);
    return known(entry);
  };
  return {
    name: 'audit',
    endpoints: bindContract(contract, {
      listAudit: (ctx, { query }) => audit.list(ctx, query, isLookUp),
      verifyAudit: (ctx) => verify(parts, ctx.tenantId),
      listCheckpoints: (ctx, { query }) => checkpoints.list(ctx, query),
      createCheckpoint: (ctx) => checkpoints.create(ctx),
      exportAudit: (ctx, { query }) => exportLog(ctx, query),
    }),
    jobs: [
      checkpoints.job,
      purgeAuditJob(parts),
      compactAuditJob(kernel),
      new VerificationJob(parts).job,
      ...archivingJobs(parts, readUpTo),
    ],
    settled: async () => files?.stop(),
  };
}
