import type { Tx } from '../../../kernel/storage/database.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { type Emitted, emit, emitAll } from '../../webhooks/index.ts';
import { allReferrers } from '../references/referrers.ts';
import type { ReferringRow } from '../storage/reference-store.ts';
import type { SecretRow } from '../storage/tables.ts';

/** Runs in the transaction that stores the new version. */
export async function emitRotated(
  tx: Tx,
  { vault, row }: { vault: VaultRow; row: SecretRow },
  version: number,
  now: number,
) {
  const { tenant_id, secret_id: id, path } = row;
  const rotated: Emitted = {
    event: 'secret.rotated',
    object: { id, vault: vault.name, path, version },
    summary: `The secret ${path} in the vault ${vault.name} was rotated: it is at version ${version}.`,
    dedupKey: `${id}/${version}`,
  };
  const part = { id, vault: vault.name, path, version };
  const templates = await allReferrers(tx, tenant_id, part);
  await emitAll(tx, tenant_id, [rotated, ...templates.map((template) => changedWith(template, part))], now);
}

/** The value of a template is another one as soon as a part of it is. */
function changedWith(
  { secret_id: id, vault, path, version }: ReferringRow,
  part: { id: string; vault: string; path: string; version: number },
): Emitted {
  return {
    event: 'secret.rotated',
    object: { id, vault, path, version, part },
    summary: `The template ${path} in the vault ${vault} has another value: the secret ${part.path} in the vault ${part.vault} was rotated.`,
    dedupKey: `${id}/${version}/${part.id}/${part.version}`,
  };
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
