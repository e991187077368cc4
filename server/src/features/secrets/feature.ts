import { feature } from '../../kernel/feature/declaration.ts';
import { secretIdsInVault, vaultContentsRemoved } from '../vaults/index.ts';
import { changeSecrets } from './changes/change-secrets.ts';
import { type SingleHandlers, singleChanges } from './changes/single-changes.ts';
import * as contract from './contract.ts';
import { announceExpiringSecretsJob } from './expiry/expiry-job.ts';
import * as secrets from './lifecycle/create-update-delete.ts';
import { copy, move } from './lifecycle/move-and-copy.ts';
import { purgeSecrets, purgeSecretsJob } from './lifecycle/retention.ts';
import { secretNeeds, secretsRemoved, sharedSecretReader } from './links.ts';
import { list, listVersions, secretIds } from './reading/listing.ts';
import { SecretReader } from './reading/secret-reader.ts';
import { readReferences } from './references/service.ts';
import { BackendRotations } from './rotation/backend-rotation.ts';
import { PostgresRole } from './rotation/backends/postgres-role.ts';
import { rotate } from './rotation/rotate.ts';
import { rotateSecretsJob } from './rotation/rotation-job.ts';
import { ROTATIONS } from './rotation/rotation-store.ts';
import { SECRETS, VERSIONS } from './storage/tables.ts';
import { renewFingerprintsJob } from './value/fingerprint-job.ts';

export const secretsFeature = feature({
  name: 'secrets',
  endpoints: contract,
  tables: {
    authenticated: [SECRETS, VERSIONS, ROTATIONS],
    plain: {
      secret_expiry_announcements:
        'says which ends of secrets were announced; a forged row leaves one out, a removed one announces it again',
      secret_references:
        'finds templates by what they refer to, for warnings, events and reports; a read resolves what the sealed value itself says',
      secret_tags: 'finds secrets by their tags; what is decided on are the tags of the secret’s own row',
    },
  },
  ids: ['sec', 'rotation'],
  uses: [
    'audit',
    'clock',
    'clockGuard',
    'config',
    'database',
    'keyring',
    'log',
    'metrics',
    'outbound',
    'plans',
    'regionGate',
  ],
  needs: secretNeeds,
  removes: { secretsRemoved },
  shares: [sharedSecretReader],
  build(parts) {
    const reader = new SecretReader(parts.database);
    const backends = new BackendRotations(parts, [new PostgresRole(parts.outbound)]);
    const single: SingleHandlers = {
      create: (ctx, { params, body }) => secrets.create(ctx, params.vault, body),
      update: (ctx, { params, body }) => secrets.update(ctx, params.vault, params.path, body),
      delete: (ctx, { params }) => secrets.remove(ctx, params.vault, params.path),
      move: (ctx, { params, body }) => move(ctx, params.vault, params.path, body),
      rotate: (ctx, { params, body }) => rotate(ctx, backends, params, body),
      rollback: (ctx, { params, body }) => secrets.rollback(ctx, params.vault, params.path, body),
    };
    const joinable = singleChanges(single);
    return {
      shares: [sharedSecretReader.as(reader)],
      handlers: {
        listSecrets: (ctx, { params, query }) => list(ctx, parts, params.vault, query),
        createSecret: single.create,
        readSecret: {
          handle: (ctx, { params, query }) => reader.read(ctx, params, query),
          prefetch: (ctx, known) => reader.prefetch(ctx, known),
        },
        updateSecret: single.update,
        deleteSecret: single.delete,
        restoreSecret: (ctx, { params, body }) => secrets.restore(ctx, params.vault, params.path, body),
        readReferences: (ctx, { params }) => readReferences(ctx, reader, params),
        listVersions: (ctx, { params, query }) => listVersions(ctx, reader, params, query),
        rotateSecret: single.rotate,
        rollbackSecret: single.rollback,
        moveSecret: single.move,
        copySecret: (ctx, { params, body }) => copy(ctx, params.vault, params.path, body),
        changeSecrets: (ctx, { params, body }) => changeSecrets(ctx, joinable, params.vault, body),
      },
      jobs: [
        rotateSecretsJob(parts, backends),
        purgeSecretsJob(parts, parts.secretsRemoved),
        renewFingerprintsJob(parts),
        announceExpiringSecretsJob(parts),
      ],
      provides: [secretIdsInVault.by(secretIds)],
      removals: [
        vaultContentsRemoved.by((tx, tenantId, vaultId, limit) =>
          purgeSecrets(tx, { tenantId, vaultId }, limit, parts.secretsRemoved),
        ),
      ],
      settled: () => backends.settled(),
    };
  },
});
