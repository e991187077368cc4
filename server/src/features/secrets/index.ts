import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { perKernel, type Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { announceExpiringSecretsJob } from './expiry/expiry-job.ts';
import * as secrets from './lifecycle/create-update-delete.ts';
import { copy, move } from './lifecycle/move-and-copy.ts';
import { purgeSecrets, purgeSecretsJob } from './lifecycle/retention.ts';
import { list, listVersions, secretIds } from './reading/listing.ts';
import { SecretReader } from './reading/secret-reader.ts';
import { BackendRotations } from './rotation/backend-rotation.ts';
import { PostgresRole } from './rotation/backends/postgres-role.ts';
import { rotate } from './rotation/rotate.ts';
import { rotateSecretsJob } from './rotation/rotation-job.ts';
import { renewFingerprintsJob } from './value/fingerprint-job.ts';

export { attributesOf, pathIn, secretNotFound, secretOfResource, secretResource } from './authorization.ts';
export { pathText, readSecret, VALUE_BODY_BYTES_MAX, VALUE_BYTES_MAX, VERSION_MAX } from './contract.ts';
export { type ImportEntry, type ImportTarget, type PlannedChange, secretImport } from './lifecycle/import.ts';
export { bulkDecrypt, type DecidedRow, type Opened } from './reading/bulk-decrypt.ts';
export { decryptSample } from './reading/decrypt-sample.ts';
export { visibleSecrets } from './reading/listing.ts';
export { type MarkedRow, markAt, markBelow, markOf, secretsAt, secretsBelow } from './reading/located-store.ts';
export { type Scanned, scannedPage } from './reading/scanned-page.ts';
export { type SecretById, secretById, visibleAttributes } from './reading/secret-by-id.ts';
export type { SecretReader } from './reading/secret-reader.ts';
export { RISK_SCORE_MAX, scoreOf, shownRisk, withoutValue } from './reading/shown-risk.ts';
export { backendDrift, type ServerDrift } from './rotation/backend-drift.ts';
export { type DueRow, dueSecretsOf, type FailedRotationRow } from './rotation/due-store.ts';
export { ROTATIONS } from './rotation/rotation-store.ts';
export { Protection, type RiskFactor, riskFactors, riskScore, secretParams } from './schemas.ts';
export { type AssessedRow, assessedSecrets } from './storage/assessed-store.ts';
export { type FoundByPath, type PathMatch, type PathPosition, pathSearch } from './storage/path-search-store.ts';
export { SECRETS, type SummaryRow, VERSIONS } from './storage/tables.ts';
export { fortressVaults, idsByPath, type LocatedRow, locateSecrets } from './storage/tenant-wide-store.ts';
export { secretsById, type WatchedRow, watchedSecretAt, watchedSecrets } from './storage/watched-store.ts';
export { comparedSecrets, type Fingerprint, fingerprintVersions } from './value/fingerprint-store.ts';
export { FINGERPRINT_PURPOSE, fingerprintKey, sealerFor } from './value/sealing.ts';
export { holdersOf, secretsWithValue, storedValues } from './value/stored-values.ts';
export { refuseInZeroKnowledge } from './value/value-rules.ts';

/** Features share it, because it reads secrets that are requested together in one statement. */
export const secretReader = perKernel(({ database }) => new SecretReader(database));

export function secretsFeature(kernel: Kernel, wiring: Wiring): Feature {
  const reader = secretReader(kernel);
  const removed = wiring.removal('secrets');
  const ports = wiring.needs('riskFactorsOf');
  const backends = new BackendRotations(kernel, [new PostgresRole(kernel.outbound)]);
  return {
    name: 'secrets',
    endpoints: bindContract(contract, {
      listSecrets: (ctx, { params, query }) => list(ctx, ports, params.vault, query),
      createSecret: (ctx, { params, body }) => secrets.create(ctx, params.vault, body),
      readSecret: {
        handle: (ctx, { params, query }) => reader.read(ctx, params, query.version),
        prefetch: (ctx, known) => reader.prefetch(ctx, known),
      },
      updateSecret: (ctx, { params, body }) => secrets.update(ctx, params.vault, params.path, body),
      deleteSecret: (ctx, { params }) => secrets.remove(ctx, params.vault, params.path),
      restoreSecret: (ctx, { params, body }) => secrets.restore(ctx, params.vault, params.path, body),
      listVersions: (ctx, { params, query }) => listVersions(ctx, reader, params, query),
      rotateSecret: (ctx, { params, body }) => rotate(ctx, backends, params, body),
      rollbackSecret: (ctx, { params, body }) => secrets.rollback(ctx, params.vault, params.path, body),
      moveSecret: (ctx, { params, body }) => move(ctx, params.vault, params.path, body),
      copySecret: (ctx, { params, body }) => copy(ctx, params.vault, params.path, body),
    }),
    jobs: [
      rotateSecretsJob(kernel, backends),
      purgeSecretsJob(kernel, removed),
      renewFingerprintsJob(kernel),
      announceExpiringSecretsJob(kernel),
    ],
    provides: { secretIdsInVault: secretIds },
    removals: {
      vaultContents: (tx, tenantId, vaultId, limit) => purgeSecrets(tx, tenantId, vaultId, limit, removed),
    },
    settled: () => backends.settled(),
  };
}
