export { AuditFilter as AuditFilterSchema, type AuditRecord, auditFilters, lookUpsFilter } from './contract.ts';
export { countedSeq, exportedSeq } from './links.ts';
export { buildLookUpFilter } from './look-up-filter.ts';
export { type AuditFilter, auditRecordOf, type IsLookUp, isWanted, parseTime, readBack } from './service.ts';
export {
  type CheckpointRow,
  checkpointsOnward,
  findHead,
  newestCheckpoint,
  segmentHolding,
  seqBefore,
} from './store.ts';
