import type { Tx } from '../../../kernel/storage/database.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { emit } from '../../webhooks/index.ts';
import type { SecretRow } from '../storage/tables.ts';

/** Runs in the transaction that stores the new version. */
export async function emitRotated(
  tx: Tx,
  { vault, row }: { vault: VaultRow; row: SecretRow },
  version: number,
  now: number,
) {
  const { tenant_id, secret_id: id, path } = row;
  await emit(
    tx,
    tenant_id,
    {
      event: 'secret.rotated',
      object: { id, vault: vault.name, path, version },
      summary: `The secret ${path} in the vault ${vault.name} was rotated: it is at version ${version}.`,
      dedupKey: `${id}/${version}`,
    },
    now,
  );
}

/** `failure` is a code, never the message of an external system. */
export async function emitRotationFailed(
  tx: Tx,
  { vault, row }: { vault: VaultRow; row: SecretRow },
  failure: string,
  now: number,
) {
  const { tenant_id, secret_id, path } = row;
  await emit(
    tx,
    tenant_id,
    {
      event: 'rotation.failed',
      object: { secret: secret_id, vault: vault.name, path, failure },
      summary: `The rotation of the secret ${path} in the vault ${vault.name} failed (${failure}).`,
      dedupKey: `${secret_id}/rotation`,
    },
    now,
  );
}
