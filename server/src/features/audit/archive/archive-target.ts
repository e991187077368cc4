import type { Job } from '../../../kernel/jobs/job-runner.ts';
import type { AuditKernel } from '../links.ts';
import type { VerificationParts } from '../verification/verification.ts';
import { ArchiveBucket } from './archive-bucket.ts';
import { ArchiveFolder, type ArchiveTarget } from './archive-folder.ts';
import { archiveAuditJob } from './archiving.ts';
import { type PruningParts, pruneAuditJob } from './pruning.ts';
import { archiveSettings } from './settings.ts';

/** The archive that CV_AUDIT_ARCHIVE names; null if there is none. */
export function archiveTargetOf({ config, http, clock, operatorTenantId: owner }: AuditKernel): ArchiveTarget | null {
  const target = config.of(archiveSettings)?.target;
  if (target === undefined) return null;
  return 'folder' in target ? new ArchiveFolder(target.folder) : new ArchiveBucket(target, { http, clock, owner });
}

/** None without an archive: all entries then stay in the database. */
export function archivingJobs(parts: VerificationParts, readUpTo: PruningParts['readUpTo']): Job[] {
  const archive = parts.kernel.config.of(archiveSettings);
  const target = archiveTargetOf(parts.kernel);
  if (archive === null || target === null) return [];
  const { keepDays } = archive;
  return [archiveAuditJob({ ...parts, target }), pruneAuditJob({ ...parts, target, keepDays, readUpTo })];
}
