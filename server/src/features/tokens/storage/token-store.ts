import { AuthenticatedTable, type RowFilter } from '../../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';
import type { UserRow } from '../../users/storage/index.ts';

export interface TokensTables {
  tokens: Authenticated<TokenRow>;
}

export interface TokenRow {
  tenant_id: string;
  token_id: string;
  user_id: string;
  /** The session or token that this one was created with, or the session that confirmed this session of a device code; or empty. */
  parent_id: string;
  kind: 'pat' | 'session';
  name: string;
  token_hash: Uint8Array;
  /** JSON array of `{scope?, ip_allowlist?}`, all of which apply: those of its ancestors first, its own last. */
  ceilings: string;
  rate_overrides: string;
  mfa_at: number | null;
  /** Thumbprint of the key it is bound to; each request must prove possession of that key. */
  dpop_jkt: string | null;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
  /** The owner's generation number for this kind when the token was created: see `isCurrentGeneration`. */
  generation: number | null;
  /** The second factor that was shown at `mfa_at`: see `ShownFactor`. */
  factor: string | null;
  factor_trusted_from: number | null;
  /** How a session was opened; null for other tokens and in older rows. */
  method: SessionMethod | null;
  /** The address that opened the session. */
  address: string | null;
  /** Where a session began that was opened with a provider: see `ProviderSession`. */
  provider: string | null;
  provider_subject: Uint8Array | null;
  provider_session: Uint8Array | null;
  /**
   * 1 for a personal access token that no request created: one made with a tenant, or by an operator who lost that one. 0 for every
   * other; null for sessions and in older rows.
   */
  handed_out: number | null;
  /**
   * The generation of its owner's sessions when it was created, for a personal access token that ends with them. Null for one that does not, for
   * sessions, and in older rows.
   */
  session_generation: number | null;
}

/** By which a provider names a session here when it ends it. Both digests cover the issuer as well. */
export interface ProviderSession {
  provider: string;
  /** The digest of the subject. */
  provider_subject: Uint8Array;
  /** The digest of the id of the session at the provider; null if the provider gave none. */
  provider_session: Uint8Array | null;
}

/** `sign_on`: with a provider. `device`: confirmed by another session of the person. */
export type SessionMethod = 'password' | 'passkey' | 'sign_on' | 'invitation' | 'device';

export const TOKENS = new AuthenticatedTable<'tokens', TokenRow>('tokens', {
  key: ['token_id'],
  covered: [
    'user_id',
    'parent_id',
    'kind',
    'name',
    'token_hash',
    'ceilings',
    'rate_overrides',
    'mfa_at',
    'dpop_jkt',
    'created_at',
    'expires_at',
    'revoked_at',
  ],
  appended: [
    'generation',
    'factor',
    'factor_trusted_from',
    'method',
    'address',
    'provider',
    'provider_subject',
    'provider_session',
    'handed_out',
    'session_generation',
  ],
});

export const GENERATION_COLUMN = { session: 'session_generation', pat: 'pat_generation' } as const;

/**
 * Whether the token belongs to the current generation of its owner. Revoking all tokens of a user increments the number in the user's row: updating
 * the token rows alone would miss those inserted concurrently.
 */
export function isCurrentGeneration(token: TokenRow, owner: UserRow): boolean {
  const isOfSessions =
    token.session_generation === null || token.session_generation === (owner.session_generation ?? 0);
  return isOfSessions && (token.generation ?? 0) === (owner[GENERATION_COLUMN[token.kind]] ?? 0);
}

/** `owner` must be the row that was read in this transaction to decide that the token may be created. */
export async function insertToken(tx: Tx, row: TokenRow, owner: UserRow): Promise<void> {
  if (owner.user_id !== row.user_id) throw new Error('a token must belong to the user it is created for');
  const session_generation = row.session_generation === null ? null : (owner.session_generation ?? 0);
  await TOKENS.insert(tx, { ...row, generation: owner[GENERATION_COLUMN[row.kind]], session_generation });
}

export async function findToken(db: Reader, tenantId: string, tokenId: string): Promise<TokenRow | undefined> {
  const query = db.selectFrom('tokens').selectAll().where('tenant_id', '=', tenantId).where('token_id', '=', tokenId);
  return TOKENS.checked(db, await query.executeTakeFirst());
}

/** Usable tokens are neither expired nor revoked, whether alone or together with all others of their owner. */
export function countUsable(tx: Tx, owner: UserRow, kind: TokenRow['kind'], now: number): Promise<number> {
  return countRows(
    tx
      .selectFrom('tokens')
      .where('tenant_id', '=', owner.tenant_id)
      .where('user_id', '=', owner.user_id)
      .where('kind', '=', kind)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .where((eb) => eb(eb.fn.coalesce('generation', eb.val(0)), '=', owner[GENERATION_COLUMN[kind]] ?? 0))
      .where((eb) =>
        eb.or([eb('session_generation', 'is', null), eb('session_generation', '=', owner.session_generation ?? 0)]),
      ),
  );
}

/** When the first personal token of a tenant expires that is neither expired nor revoked; null if there is none. */
export async function nextExpiry(db: Reader, tenantId: string, now: number): Promise<number | null> {
  const row = await db
    .selectFrom('tokens')
    .select('expires_at')
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', 'pat')
    .where('expires_at', '>', now)
    .where('revoked_at', 'is', null)
    .orderBy('expires_at')
    .limit(1)
    .executeTakeFirst();
  return row?.expires_at ?? null;
}

/** Locked, so that creating a token with it and revoking it are serialized. */
export async function lockToken(tx: Tx, tenantId: string, tokenId: string): Promise<TokenRow | undefined> {
  const [row] = await TOKENS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, token_id: tokenId }));
  return row;
}

/**
 * The newest usable one of an owner's tokens that were handed out. Of older rows those are without a parent and without any ceiling: a token that
 * was requested has always had one of its own, if only an empty one.
 */
export async function usableHandedOut(db: Reader, owner: UserRow, now: number): Promise<TokenRow | undefined> {
  const rows = await db
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', owner.tenant_id)
    .where('user_id', '=', owner.user_id)
    .where('kind', '=', 'pat')
    .where((eb) =>
      eb.or([
        eb('handed_out', '=', 1),
        eb.and([eb('handed_out', 'is', null), eb('parent_id', '=', ''), eb('ceilings', '=', '[]')]),
      ]),
    )
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('token_id', 'desc')
    .execute();
  return (await TOKENS.authenticOf(db, rows)).find((row) => isCurrentGeneration(row, owner));
}

/** Newest first. */
export async function listTokens(
  db: Reader,
  tenantId: string,
  userId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<Page<TokenRow>> {
  let query = db
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .orderBy('token_id', 'desc')
    .limit(limit + 1);
  if (before !== null) query = query.where('token_id', '<', before);
  return pageOf(await query.execute(), limit, (row) => [row.token_id]);
}

/** Sessions that are neither expired nor revoked, newest first. */
export async function listOpenSessions(
  db: Reader,
  owner: UserRow,
  { before, limit, now }: { before: string | null; limit: number; now: number },
): Promise<Page<TokenRow>> {
  let query = db
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', owner.tenant_id)
    .where('user_id', '=', owner.user_id)
    .where('kind', '=', 'session')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where((eb) => eb(eb.fn.coalesce('generation', eb.val(0)), '=', owner.session_generation ?? 0))
    .orderBy('token_id', 'desc')
    .limit(limit + 1);
  if (before !== null) query = query.where('token_id', '<', before);
  return pageOf(await query.execute(), limit, (row) => [row.token_id]);
}

/** Every session of a user that can be used. */
export async function openSessionsOf(db: Reader, owner: UserRow, now: number): Promise<TokenRow[]> {
  const found: TokenRow[] = [];
  for (let before: string | null = null; ; ) {
    const { rows, next_cursor }: Page<TokenRow> = await listOpenSessions(db, owner, { before, limit: 200, now });
    found.push(...rows);
    before = rows.at(-1)?.token_id ?? null;
    if (next_cursor === null || before === null) return found;
  }
}

/** Sessions that began at a provider, by one of the digests of `ProviderSession`, and are not revoked. */
export async function sessionsFromProvider(
  db: Reader,
  tenantId: string,
  column: 'provider_subject' | 'provider_session',
  digest: Uint8Array,
): Promise<TokenRow[]> {
  const rows = await db
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(column, '=', digest)
    .where('revoked_at', 'is', null)
    .orderBy('token_id')
    .execute();
  return TOKENS.authenticOf(db, rows);
}

/** The usable personal access tokens of some users. A forged row is left out, because the service would refuse it. */
export async function usableTokens(
  db: Reader,
  tenantId: string,
  owners: readonly UserRow[],
  now: number,
): Promise<TokenRow[]> {
  if (owners.length === 0) return [];
  const byId = new Map(owners.map((owner) => [owner.user_id, owner]));
  const rows = await db
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', [...byId.keys()])
    .where('kind', '=', 'pat')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .execute();
  const authentic = await TOKENS.authenticOf(db, rows);
  return authentic.filter((row) => {
    const owner = byId.get(row.user_id);
    return owner !== undefined && isCurrentGeneration(row, owner);
  });
}

/** Those of the given users who have a token row, even one that is revoked or expired but not yet purged. */
export async function usersWithTokens(db: Reader, tenantId: string, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return [];
  const rows = await db
    .selectFrom('tokens')
    .select('user_id')
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .execute();
  return rows.map((row) => row.user_id);
}

/** Those of the given tokens that were not revoked together with all others of their owner. Each can be revoked by itself, or expired. */
export async function tokensOfThisGeneration(
  db: Reader,
  tenantId: string,
  tokenIds: readonly string[],
  owners: readonly UserRow[],
): Promise<Map<string, TokenRow>> {
  if (tokenIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('token_id', 'in', tokenIds)
    .execute();
  const isCurrent = (row: TokenRow) => {
    const owner = owners.find(({ user_id }) => user_id === row.user_id);
    return owner !== undefined && isCurrentGeneration(row, owner);
  };
  return new Map((await TOKENS.authenticOf(db, rows)).filter(isCurrent).map((row) => [row.token_id, row]));
}

export async function countExpiredBefore(db: Reader, time: Cutoff): Promise<number> {
  return countRows(db.selectFrom('tokens').where('expires_at', '<', time));
}

export async function countTokens(db: Reader): Promise<number> {
  return countRows(db.selectFrom('tokens'));
}

export function expiredBefore(time: Cutoff): RowFilter<'tokens'> {
  return (eb) => eb('expires_at', '<', time);
}
