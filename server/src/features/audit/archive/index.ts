export { ArchiveError, splitObject } from './archive-object.ts';
export { restoreRange } from './archive-restore.ts';
export { findArchive, prunedRanges } from './archive-store.ts';
export { archiveTargetOf } from './archive-target.ts';
