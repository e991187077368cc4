import { feature } from '../../kernel/feature/declaration.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { archivingJobs } from './archive/archive-target.ts';
import { archiveSettings } from './archive/settings.ts';
import { CheckpointFiles } from './checkpoints/checkpoint-files.ts';
import { Checkpoints } from './checkpoints/checkpoints.ts';
import { compactAuditJob } from './compaction/compaction.ts';
import * as contract from './contract.ts';
import { exportLog } from './export.ts';
import { auditNeeds } from './links.ts';
import { buildLookUpFilter } from './look-up-filter.ts';
import { purgeAuditJob } from './retention/retention.ts';
import * as audit from './service.ts';
import { verify } from './verification/verification.ts';
import { VerificationJob } from './verification/verification-job.ts';
import { VERIFIED } from './verification/verified-store.ts';

export const auditFeature = feature({
  name: 'audit',
  endpoints: contract,
  tables: {
    authenticated: [VERIFIED],
    plain: {
      audit_checkpoints: 'signed by two algorithms',
      audit_compaction: 'decides only which segments are looked at for merging',
    },
  },
  settings: [archiveSettings],
  uses: [
    'audit',
    'authenticatedTables',
    'clock',
    'config',
    'damagedSegments',
    'database',
    'heads',
    'http',
    'keyring',
    'log',
    'metrics',
    'nodeId',
    'operatorTenantId',
    'regionGate',
  ],
  needs: auditNeeds,
  build(parts) {
    const { keys } = parts;
    const logParts = { kernel: parts, keys };
    const { checkpointDir } = parts.config;
    // It is 0 where no folder is configured, so that one alert fits every node.
    const failing = parts.metrics.gauge(
      'cv_checkpoint_files_failing',
      '1 if this node’s last attempt to write audit checkpoints to CV_CHECKPOINT_DIR failed; it keeps retrying.',
      'max',
    );
    const files = checkpointDir === null ? null : new CheckpointFiles(parts, keys, checkpointDir, failing);
    const checkpoints = new Checkpoints(parts, keys, files);
    const readUpTo = async (db: Reader, tenantId: string) =>
      Math.min(await parts.exportedSeq(db, tenantId), await parts.countedSeq(db, tenantId));
    // The endpoints of all features are known when the first request comes.
    let known: ReturnType<typeof buildLookUpFilter> | null = null;
    const isLookUp: ReturnType<typeof buildLookUpFilter> = (entry) => {
      known ??= buildLookUpFilter(parts.endpoints.declarations);
      return known(entry);
    };
    return {
      handlers: {
        listAudit: (ctx, { query }) => audit.list(ctx, query, isLookUp),
        verifyAudit: (ctx) => verify(logParts, ctx.tenantId),
        listCheckpoints: (ctx, { query }) => checkpoints.list(ctx, query),
        createCheckpoint: (ctx) => checkpoints.create(ctx),
        exportAudit: (ctx, { query }) => exportLog(ctx, query),
      },
      jobs: [
        checkpoints.job,
        purgeAuditJob(logParts),
        compactAuditJob(parts),
        new VerificationJob(logParts).job,
        ...archivingJobs(logParts, readUpTo),
      ],
      settled: async () => files?.stop(),
    };
  },
});
