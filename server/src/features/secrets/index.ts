import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { BackendRotations } from './backend-rotation.ts';
import { PostgresRole } from './backends/postgres-role.ts';
import * as contract from './contract.ts';
import { renewFingerprintsJob } from './fingerprint-job.ts';
import { list, listVersions } from './listing.ts';
import type { SecretReader } from './reading.ts';
import { copy, move } from './relocation.ts';
import { purgeSecretsJob, type SecretObservers } from './retention.ts';
import { rotate } from './rotation.ts';
import { rotateSecretsJob } from './rotation-job.ts';
import * as secrets from './service.ts';

export { attributesOf, pathIn, requireProof, secretNotFound, secretResource } from './access.ts';
export { type DecidedRow, decryptedAcross, decryptedValues } from './bulk-decrypt.ts';
export {
  pathText,
  readSecret,
  VALUE_BODY_BYTES_MAX,
  VALUE_BYTES_MAX,
  VERSION_MAX,
} from './contract.ts';
export { type Fingerprint, hasOtherFingerprints, NO_FINGERPRINT, secretsByFingerprint } from './fingerprint-store.ts';
export {
  carryOutImport,
  type ImportEntry,
  type ImportOptions,
  type PlannedChange,
  planImport,
} from './importing.ts';
export {
  isWithin,
  type PageRequest,
  prefixRange,
  reachOf,
  SEEN,
  secretIds,
  vaultWithin,
  visiblePage,
  type Wanted,
} from './listing.ts';
export { openSample } from './opening-sample.ts';
export { SecretReader } from './reading.ts';
export { purgeSecrets } from './retention.ts';
export { ROTATIONS } from './rotation-store.ts';
export { FINGERPRINT_PURPOSE, fingerprintKey, sealerFor } from './sealing.ts';
export { type SecretById, secretById, visibleAttributes } from './secret-by-id.ts';
export { lockLive, read as readValue, readRecorded } from './service.ts';
export { findSecretById, SECRETS, type SummaryRow, VERSIONS } from './store.ts';
export { fortressVaults, type LocatedRow, secretsByPath } from './tenant-wide-store.ts';
export { refuseInZeroKnowledge } from './values.ts';

export function secretsFeature(kernel: Kernel, observers: SecretObservers, reader: SecretReader): Feature {
  const backends = new BackendRotations(kernel, [new PostgresRole(kernel.outbound)]);
  return {
    name: 'secrets',
    endpoints: [
      bind(contract.listSecrets, (ctx, { params, query }) => list(ctx, params.vault, query)),
      bind(contract.createSecret, (ctx, { params, body }) => secrets.create(ctx, params.vault, body)),
      bind(
        contract.readSecret,
        (ctx, { params, query }) => secrets.read(ctx, reader, params.vault, params.path, query.version),
        (ctx, known) => secrets.prefetchRead(ctx, reader, known),
      ),
      bind(contract.updateSecret, (ctx, { params, body }) => secrets.update(ctx, params.vault, params.path, body)),
      bind(contract.deleteSecret, (ctx, { params }) => secrets.remove(ctx, params.vault, params.path)),
      bind(contract.restoreSecret, (ctx, { params, body }) => secrets.restore(ctx, params.vault, params.path, body)),
      bind(contract.listVersions, (ctx, { params, query }) =>
        listVersions(ctx, reader, params.vault, params.path, query),
      ),
      bind(contract.rotateSecret, (ctx, { params, body }) => rotate(ctx, backends, params.vault, params.path, body)),
      bind(contract.rollbackSecret, (ctx, { params, body }) => secrets.rollback(ctx, params.vault, params.path, body)),
      bind(contract.moveSecret, (ctx, { params, body }) => move(ctx, params.vault, params.path, body)),
      bind(contract.copySecret, (ctx, { params, body }) => copy(ctx, params.vault, params.path, body)),
    ],
    jobs: [rotateSecretsJob(kernel, backends), purgeSecretsJob(kernel, observers), renewFingerprintsJob(kernel)],
    settled: () => backends.settled(),
  };
}
