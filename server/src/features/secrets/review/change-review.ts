import { CofferError } from '../../../kernel/base/errors.ts';
import { equalBytes } from '../../../kernel/crypto/digest.ts';
import type { Difference } from '../../../kernel/endpoint/approval.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { attributesOf } from '../authorization.ts';
import { secretResource } from '../location.ts';
import { metadataOf, summaryOf } from '../serialization.ts';
import { assessedSecrets } from '../storage/assessed-store.ts';
import type { SecretRow } from '../storage/tables.ts';
import type { Sealer } from '../value/sealing.ts';

/** A change of one secret, as its transaction made it. A secret that is created has no row before, and one that is deleted none after. */
export interface SecretChange {
  before: SecretRow | null;
  after: SecretRow | null;
  /** The new value, if the request has it. */
  value?: string | undefined;
  /** How the new value is made, if the service makes it when the change is approved. */
  made?: string | undefined;
  /** Where the secret goes, if it moves. */
  to?: string;
}

export function isReviewed({ change_control }: Pick<VaultRow, 'change_control'>): boolean {
  return change_control === 'review';
}

/**
 * Ends the transaction of a change in a vault whose changes are reviewed: the request waits until another person approves it. Called last in the
 * transaction. A request that was approved is compared with what was shown, also if the vault is no longer reviewed.
 */
export async function awaitReview(
  ctx: Context,
  tx: Tx,
  { vault, sealer }: { vault: VaultRow; sealer: Sealer | null },
  change: SecretChange,
): Promise<void> {
  if (!isReviewed(vault) && !ctx.isApproved) return;
  const row = change.before ?? change.after;
  if (row === null) throw new Error('a change has a secret');
  if (mayBypass(ctx, secretResource(vault.name, row.path), row)) {
    ctx.record.describe({ bypassed_review: true });
    return;
  }
  ctx.record.describe({ environment: row.environment });
  await ctx.needsApproval(tx, {
    basis: {
      vault: vault.vault_id,
      secret: change.before?.secret_id ?? null,
      version: change.before?.version ?? null,
    },
    differences: await differencesOf(tx, vault, sealer, change),
  });
}

/** For changes that no approval is made for, such as imports. */
export function refuseReviewed(ctx: Context, vault: VaultRow, what: string): void {
  if (!isReviewed(vault)) return;
  if (mayBypass(ctx, secretResource(vault.name, '*'), null)) {
    ctx.record.describe({ bypassed_review: true });
    return;
  }
  throw new CofferError(
    'REVIEW_REQUIRED',
    `Changes of this vault are reviewed, and ${what} cannot wait for that: write each secret by itself.`,
  );
}

/** Only machines bypass the review. The policies of people who administer a tenant allow everything, so that they would bypass it without a decision. */
function mayBypass(ctx: Context, resource: string, row: SecretRow | null): boolean {
  if (ctx.principal.kind !== 'app_connection') return false;
  return ctx.access.may('changes:bypass', resource, row === null ? {} : attributesOf(row));
}

async function differencesOf(
  tx: Tx,
  vault: VaultRow,
  sealer: Sealer | null,
  change: SecretChange,
): Promise<Difference[]> {
  const { before, after, to } = change;
  const was = before === null ? null : shown(before);
  if (after === null) return [{ what: secretResource(vault.name, before?.path ?? ''), before: was, after: null }];
  const is = shown(after);
  const differences = Object.keys(is)
    .filter((field) => JSON.stringify(was?.[field]) !== JSON.stringify(is[field]))
    .map((what) => ({ what, before: was?.[what] ?? null, after: is[what] }));
  const value = await valueDifference(tx, vault, sealer, change);
  const place = { what: 'location', before: secretResource(vault.name, before?.path ?? after.path), after: to };
  return [...(to === undefined ? [] : [place]), ...differences, ...(value === null ? [] : [value])];
}

/** What a reviewer sees of a secret: never its value. */
function shown(row: SecretRow): Record<string, unknown> {
  const { path, type, environment, protection, metadata: _, expires_at } = summaryOf(row);
  const rotation: unknown = row.rotation === null ? null : JSON.parse(row.rotation);
  return { path, type, environment, protection, expires_at, rotation, metadata: metadataOf(row) };
}

/** Its length, whether it is the present value, and whether another secret has it. Values of some secrets cannot be compared. */
async function valueDifference(
  tx: Tx,
  { tenant_id }: VaultRow,
  sealer: Sealer | null,
  { before, after, value, made }: SecretChange,
): Promise<Difference | null> {
  if (made !== undefined) return { what: 'value', before: 'the present value', after: made };
  if (value === undefined || after === null || sealer === null) return null;
  const { fingerprint, fingerprint_version } = sealer.clearColumns(after, value);
  const facts: Record<string, unknown> = { bytes: Buffer.byteLength(value) };
  if (fingerprint !== null && fingerprint_version !== null) {
    const known = before?.fingerprint_version === fingerprint_version ? before.fingerprint : null;
    facts['is_present_value'] = known !== null && equalBytes(known, fingerprint);
    const equal = await assessedSecrets.countEqual(tx, tenant_id, fingerprint_version, [fingerprint]);
    facts['is_in_another_secret'] = (equal.get(assessedSecrets.hexOf(fingerprint)) ?? 0) > 1;
  }
  return { what: 'value', before: before === null ? null : 'the present value', after: facts };
}
