import type { Principal } from '../../../kernel/auth/principal.ts';
import { couldEverAllow } from '../../../kernel/authz/evaluate.ts';
import { Preserialized } from '../../../kernel/request/binding.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Database } from '../../../kernel/storage/database.ts';
import { parseSecretPath } from '../../../kernel/wire/secret-path.ts';
import { NAME_PATTERN } from '../../../kernel/wire/wire.ts';
import { attributesOf, authorizedSecret, requireProof } from '../authorization.ts';
import { type SecretLocation, secretResource } from '../location.ts';
import { versionNotFound } from '../not-found.ts';
import { versionOfParts } from '../references/parts-version.ts';
import { callerAsReader, provenanceOf, recordParts, resolveTemplate } from '../references/resolution.ts';
import { lastRotation } from '../rotation/rotate.ts';
import { secretOf, serializedWithValue, summaryOf } from '../serialization.ts';
import { findVersion } from '../storage/version-store.ts';
import { TEMPLATE } from '../value/reference-text.ts';
import { openNow, openValue } from '../value/sealing.ts';
import type { FoundSecret, ReadRow } from './read-store.ts';
import { SecretLoader } from './secret-loader.ts';

const VAULT_NAME = new RegExp(NAME_PATTERN);

/** Reads one secret for a caller, whichever endpoint returns it. */
export class SecretReader {
  readonly #loader: SecretLoader;

  constructor(database: Database) {
    this.#loader = new SecretLoader(database);
  }

  /**
   * Sends no query for a caller who could never be allowed (see `Context.refuseIfNeverAllowed`), nor for a malformed vault name or path, which is
   * refused later: a single NUL would make PostgreSQL reject the query of the whole batch.
   */
  prefetch(ctx: Context, known: Principal): Promise<number | null> | null {
    if (!this.#loader.prefetches) return null;
    const { vault = '', path = '' } = ctx.call.params;
    if (!VAULT_NAME.test(vault) || !parseSecretPath(path).ok) return null;
    if (!couldEverAllow(known.policies, ctx.declaration.permission, secretResource(vault, path))) return null;
    return this.#loader.prefetch(ctx, { tenantId: known.tenantId, vault, path });
  }

  /** Returns the row without its value opened, synchronously if it is cached. */
  authorized(ctx: Context, { vault, path }: SecretLocation) {
    return authorizedSecret(ctx, this.#loader, vault, path);
  }

  async read(ctx: Context, at: SecretLocation, { version, resolve }: Wanted = {}) {
    const { vault } = at;
    const row = await this.authorized(ctx, at);
    const { shown, value } = await opened(ctx, vault, row, version);
    if (shown.type === TEMPLATE && resolve !== false) return resolved(ctx, vault, row, { shown, value });
    if (isUnlisted(row)) ctx.record.leaveUnrecorded(vault, 1);
    ctx.setHeader('ETag', `"v${shown.version}"`);
    if (row.rotation === null) return new Preserialized(serializedWithValue(vault, shown, value));
    return { ...secretOf(vault, shown, row.risk_score, await lastRotation(ctx, row)), value };
  }

  /** For other response formats. Every read is recorded in the audit log, even if the vault does not log reads. */
  async readRecorded(ctx: Context, at: SecretLocation, version?: number) {
    const { vault } = at;
    const { shown, value } = await opened(ctx, vault, await this.authorized(ctx, at), version);
    if (shown.type !== TEMPLATE) return { ...summaryOf(shown), value, parts: undefined };
    const { value: text, parts } = await resolvedText(ctx, vault, { shown, value });
    recordParts(ctx, secretResource(vault, shown.path), parts, true);
    return { ...summaryOf(shown), value: text, parts: provenanceOf(parts) };
  }
}

/** Which version, and whether a template is returned with the values that it refers to. */
interface Wanted {
  version?: number | undefined;
  resolve?: boolean | undefined;
}

interface Shown {
  shown: ReadRow;
  value: string;
}

function isUnlisted(row: Pick<FoundSecret, 'log_reads'> & Pick<ReadRow, 'protection'>): boolean {
  return row.log_reads === 0 && row.protection === 'standard';
}

/** The action by which the template is read is needed for each of its parts too. */
function resolvedText(ctx: Context, vault: string, { shown, value }: Shown) {
  const { path, environment } = shown;
  const reader = callerAsReader(ctx, ctx.declaration.permission);
  return resolveTemplate(ctx, { vault, path, environment, text: value }, reader);
}

async function resolved(ctx: Context, vault: string, row: ReadRow & Pick<FoundSecret, 'log_reads'>, given: Shown) {
  const { shown } = given;
  const { value, parts } = await resolvedText(ctx, vault, given);
  if (isUnlisted(row)) {
    // With a part whose reads are listed, the request has an entry too.
    if (parts.every(({ log_reads }) => log_reads === 0)) ctx.record.leaveUnrecorded(vault, 1);
    else ctx.record.countUnlisted(vault, 1);
  }
  recordParts(ctx, secretResource(vault, shown.path), parts);
  ctx.setHeader('ETag', `"v${shown.version}-${versionOfParts(parts)}"`);
  const rotation = row.rotation === null ? null : await lastRotation(ctx, row);
  return { ...secretOf(vault, shown, row.risk_score, rotation), value, parts: provenanceOf(parts) };
}

async function opened(ctx: Context, vault: string, row: ReadRow & { vault_id: string }, version: number | undefined) {
  requireProof(ctx, row);
  // Without `version` the entry stands for the newest one at that time, and the most common request skips building details.
  if (version !== undefined) ctx.record.describe({ secret: row.secret_id, version });
  const shown = version === undefined || version === row.version ? row : await atVersion(ctx, vault, row, version);
  const now = openNow(ctx.kernel, ctx.tenantId, row.vault_id, shown);
  return { shown, value: now ?? (await openValue(ctx.kernel, ctx.tenantId, row.vault_id, shown)) };
}

/** Authorizes on the tags of that version, besides the current ones: a tag removed since still protects what was written under it. */
async function atVersion(
  ctx: Context,
  vault: string,
  row: ReadRow & { vault_id: string },
  version: number,
): Promise<ReadRow> {
  const older = await findVersion(ctx.database.read, ctx.tenantId, row, version);
  if (older === undefined) throw versionNotFound();
  const { type, metadata, tags, data_key, sealed, sealed_version, created_at: updated_at } = older;
  // The history does not say when a replaced value ended.
  const expires_at = sealed_version === row.sealed_version ? row.expires_at : null;
  const shown = { ...row, version, type, metadata, tags, data_key, sealed, sealed_version, updated_at, expires_at };
  ctx.access.authorize(secretResource(vault, row.path), attributesOf(shown));
  return shown;
}
