export type { ArchiveRow } from '../../kernel/audit/chain/archived-ranges.ts';
export { ArchiveError, splitObject } from './archive-object.ts';
export { restoreRange } from './archive-restore.ts';
export { findArchive, prunedRanges } from './archive-store.ts';
export { archiveTargetOf } from './archive-target.ts';
export { checkpointToWire } from './checkpoint-wire.ts';
export { compactAuditJob } from './compaction.ts';
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
export { type ExpectedHead, type Verification, verify as verifyTenant } from './verification.ts';
