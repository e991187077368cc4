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
