export { compactAuditJob } from './compaction.ts';
