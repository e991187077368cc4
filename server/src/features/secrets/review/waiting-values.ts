import { CofferError } from '../../../kernel/base/errors.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { isLive, vaultNotFound } from '../../vaults/index.ts';
import { findVault, type VaultRow } from '../../vaults/storage/index.ts';
import { attributesOf, NO_VAULT } from '../authorization.ts';
import { secretResource } from '../location.ts';
import { findSecret } from '../storage/secret-store.ts';
import type { SecretRow } from '../storage/tables.ts';
import { findVersion } from '../storage/version-store.ts';
import { openValue } from '../value/sealing.ts';
import { refuseInZeroKnowledge } from '../value/value-rules.ts';

/** A change of a secret that waits, as its request says. */
export interface WaitingChange {
  vault: string;
  path: string;
  /** That of the secret, or that a new one would have. */
  environment: string;
  value?: string | undefined;
  tags?: readonly string[] | null | undefined;
  protection?: string | undefined;
  to_version?: number | undefined;
}

export interface WaitingValues {
  before: string | null;
  version: number | null;
  after: string | null;
}

/**
 * The present value and the one that the change would write, for a reviewer who may read both: with the tags that the secret has and with those that
 * it would have.
 */
export async function waitingValues(ctx: Context, change: WaitingChange): Promise<WaitingValues> {
  const { vault: name, path, environment, tags, to_version } = change;
  const resource = secretResource(name, path);
  ctx.access.refuseIfNeverAllowed(resource);
  const found = await findVault(ctx.database.read, ctx.tenantId, name);
  const vault = isLive(found) ? found : undefined;
  const row = await findSecret(ctx.database.read, ctx.tenantId, vault?.vault_id ?? NO_VAULT, path);
  const now = row === undefined ? { environment, tags: [] } : attributesOf(row);
  ctx.access.authorize(resource, now);
  if (tags !== undefined) ctx.access.authorize(resource, { ...now, tags: tags ?? [] });
  if (vault === undefined) throw vaultNotFound();
  refuseInZeroKnowledge(vault, 'Revealing the values of a change');
  if (row?.protection === 'fortress' || change.protection === 'fortress') throw isFortress();
  const revealed = { secret: row?.secret_id ?? null, version: row?.version ?? null };
  ctx.record.describe(to_version === undefined ? revealed : { ...revealed, to_version });
  if (row === undefined) return { before: null, version: null, after: change.value ?? null };
  const before = await openValue(ctx.kernel, ctx.tenantId, vault.vault_id, row);
  const after = to_version === undefined ? change.value : await valueAt(ctx, vault, row, to_version);
  return { before, version: row.version, after: after ?? null };
}

/** A tag that was removed since still protects what was written under it. */
async function valueAt(ctx: Context, vault: VaultRow, row: SecretRow, version: number): Promise<string | null> {
  const older = await findVersion(ctx.database.read, ctx.tenantId, row, version);
  if (older === undefined) return null;
  const { tags, sealed, sealed_version, data_key } = older;
  ctx.access.authorize(secretResource(vault.name, row.path), attributesOf({ ...row, tags }));
  return openValue(ctx.kernel, ctx.tenantId, vault.vault_id, { ...row, sealed, sealed_version, data_key });
}

function isFortress(): CofferError {
  const message =
    'Values of fortress secrets are not shown in a review: read the secret itself, with its second factor.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'a fortress secret' });
}
