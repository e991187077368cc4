import type { ExpressionBuilder } from 'kysely';
import type { Tx } from '../../../kernel/storage/database.ts';
import type { Tables } from '../../../kernel/storage/tables.ts';
import { lockUser, type UserRow, updateUser } from '../../users/storage/index.ts';
import { GENERATION_COLUMN, lockToken, TOKENS, type TokenRow } from './token-store.ts';

export async function revoke(tx: Tx, tenantId: string, tokenIds: string[], now: number): Promise<TokenRow[]> {
  if (tokenIds.length === 0) return [];
  const revoked = await TOKENS.updateWhere(
    tx,
    (eb) => eb.and([eb('tenant_id', '=', tenantId), eb('token_id', 'in', tokenIds), eb('revoked_at', 'is', null)]),
    { revoked_at: now },
  );
  tx.changes.noteRevoked(...revoked);
  return revoked;
}

/** Which tokens of a user end: all; the sessions with the tokens that were created with them; or the sessions alone. */
export type Ending = 'all' | 'sessions' | 'sessions_only';

/**
 * What ends together with a token or session: all that was created with it, and what was created with that. Of a session these are the sessions of
 * device codes that it confirmed, and the tokens that end with sessions.
 */
export async function withDescendants(
  tx: Tx,
  { tenant_id, token_id, kind }: TokenRow,
  ending: Ending = kind === 'session' ? 'sessions' : 'all',
): Promise<string[]> {
  const all = [token_id];
  for (let generation = [token_id]; generation.length > 0; ) {
    generation = await childrenOf(tx, tenant_id, generation, ending);
    all.push(...generation);
  }
  return all;
}

/** Locks the rows. This waits for transactions that are creating a token with one of them, so that the next round finds the new token. */
async function childrenOf(tx: Tx, tenantId: string, parentIds: string[], ending: Ending): Promise<string[]> {
  const rows = await tx
    .selectFrom('tokens')
    .select('token_id')
    .where('tenant_id', '=', tenantId)
    .where('parent_id', 'in', parentIds)
    .where('revoked_at', 'is', null)
    .where((eb) => endsBy(eb, ending))
    .forUpdate()
    .execute();
  return rows.map((row) => row.token_id);
}

/** Ends sessions with what was created with them; `keepsTokens` leaves the tokens. Returns what ended, for the audit log. */
export async function endSessions(
  tx: Tx,
  sessions: readonly TokenRow[],
  { now, keepsTokens = false }: { now: number; keepsTokens?: boolean },
): Promise<{ sessions_ended: number; tokens_ended: number }> {
  const [first] = sessions;
  if (first === undefined) return { sessions_ended: 0, tokens_ended: 0 };
  const ids = new Set<string>();
  for (const session of sessions) {
    for (const id of await withDescendants(tx, session, keepsTokens ? 'sessions_only' : 'sessions')) ids.add(id);
  }
  return countsOf(await revoke(tx, first.tenant_id, [...ids], now), now);
}

/** What was created with a session that goes on under another id belongs to that one. */
export async function moveChildren(tx: Tx, tenantId: string, from: string, to: string): Promise<void> {
  await TOKENS.updateWhere(
    tx,
    (eb) => eb.and([eb.and({ tenant_id: tenantId, parent_id: from }), eb('revoked_at', 'is', null)]),
    { parent_id: to },
  );
}

/**
 * Revokes tokens of a user, and returns the counts for the audit log. The new generation in the user's row is what revokes them;
 * existing rows are also marked as revoked, for lists. `except` is the token of this request, which stays valid in the new generation, or empty.
 */
export async function revokeTokensOfUser(
  tx: Tx,
  { tenantId, userId }: { tenantId: string; userId: string },
  ending: Ending,
  { now, except }: { now: number; except: string },
): Promise<{ sessions_ended: number; tokens_ended: number }> {
  const owner = await incrementGeneration(tx, tenantId, userId, ending);
  if (ending === 'sessions_only') await keepTokens(tx, owner);
  const rows = await TOKENS.updateWhere(
    tx,
    (eb) =>
      eb.and([
        eb.and({ tenant_id: tenantId, user_id: userId }),
        eb('token_id', '!=', except),
        eb('revoked_at', 'is', null),
        endsBy(eb, ending),
      ]),
    { revoked_at: now },
  );
  const exempt = except === '' ? undefined : await lockToken(tx, tenantId, except);
  if (exempt !== undefined) await TOKENS.update(tx, exempt, ofGeneration(exempt, owner));
  tx.changes.noteRevoked(...rows.filter(({ expires_at }) => expires_at > now));
  return countsOf(rows, now);
}

function countsOf(revoked: readonly TokenRow[], now: number) {
  const live = revoked.filter(({ expires_at }) => expires_at > now);
  const sessions_ended = live.filter(({ kind }) => kind === 'session').length;
  return { sessions_ended, tokens_ended: live.length - sessions_ended };
}

function endsBy(eb: ExpressionBuilder<Tables, 'tokens'>, ending: Ending) {
  const isSession = eb('kind', '=', 'session');
  if (ending === 'sessions_only') return isSession;
  return ending === 'sessions' ? eb.or([isSession, eb('session_generation', 'is not', null)]) : eb.lit(true);
}

function ofGeneration(token: TokenRow, owner: UserRow): Partial<TokenRow> {
  return {
    generation: owner[GENERATION_COLUMN[token.kind]],
    ...(token.session_generation !== null && { session_generation: owner.session_generation }),
  };
}

async function incrementGeneration(tx: Tx, tenantId: string, userId: string, ending: Ending): Promise<UserRow> {
  const owner = await lockUser(tx, tenantId, userId);
  if (owner === undefined) throw new Error('the user whose tokens are to be revoked does not exist');
  const next: Partial<UserRow> = { session_generation: (owner.session_generation ?? 0) + 1 };
  if (ending === 'all') next.pat_generation = (owner.pat_generation ?? 0) + 1;
  await updateUser(tx, tenantId, userId, next);
  return { ...owner, ...next };
}

/** Tokens that were created with sessions go on in the new generation. Anyone who creates one waits for the lock of the user. */
async function keepTokens(tx: Tx, owner: UserRow): Promise<void> {
  const { tenant_id, user_id, session_generation } = owner;
  await TOKENS.updateWhere(
    tx,
    (eb) =>
      eb.and([
        eb.and({ tenant_id, user_id, kind: 'pat', session_generation: (session_generation ?? 0) - 1 }),
        eb('revoked_at', 'is', null),
      ]),
    { session_generation },
  );
}
