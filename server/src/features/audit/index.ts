export type { ArchiveRow } from '../../kernel/audit/chain/archived-ranges.ts';
export { ArchiveError, splitObject } from './archive/archive-object.ts';
export { restoreRange } from './archive/archive-restore.ts';
export { findArchive, prunedRanges } from './archive/archive-store.ts';
export { archiveTargetOf } from './archive/archive-target.ts';
export { checkpointToWire } from './checkpoints/checkpoint-wire.ts';
export { compactAuditJob } from './compaction/compaction.ts';
export { AuditFilter as AuditFilterSchema, type AuditRecord } from './contract.ts';
export { countedSeq, exportedSeq } from './links.ts';
export { type AuditFilter, auditRecordOf, isWanted, parseTime } from './service.ts';
export {
  type CheckpointRow,
  checkpointsOnward,
  findHead,
  newestCheckpoint,
  segmentHolding,
  seqBefore,
} from './store.ts';
export { type ExpectedHead, type Verification, verify as verifyTenant } from './verification/verification.ts';
