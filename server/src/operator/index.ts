/** The operations an operator runs on the machine of an installation. The `coffer` command may use nothing else of the server. */
export { loadConfig } from '../assembly/settings.ts';
export { explainFailure } from '../start/failure.ts';
export { hardenProcess } from '../start/process-hardening.ts';
export { acceptClock } from './accept-clock.ts';
export { acceptRows } from './accept-rows.ts';
export { allowPurge } from './allow-purge.ts';
export { restoreAudit } from './audit-restore.ts';
export { backup, STANDARD_OUTPUT } from './backup.ts';
export { breakGlassApprove, breakGlassCancel, breakGlassMakeOwner, breakGlassResetMfa } from './break-glass.ts';
export { copyTo } from './copy.ts';
export { bringUpToDate, planMigration } from './migrate.ts';
export { newAdminToken } from './new-admin-token.ts';
export { rekey } from './rekey.ts';
export { restore, verifyBackup } from './restore.ts';
export { verifyInstallation } from './verify.ts';
