import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Output, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { plainCursor } from '../../kernel/request/visible-page.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { RECOVERY_FACTOR, TOTP_FACTOR } from '../mfa/factors/index.ts';
import {
  endSessions,
  listOpenSessions,
  lockToken,
  revokeTokensOfUser,
  type TokenRow,
} from '../tokens/storage/index.ts';
import { findUser } from '../users/storage/index.ts';
import type * as contract from './contract.ts';

type Listed = Output<typeof contract.listSessions>['sessions'][number];

export async function list(ctx: Context, query: Query<typeof contract.listSessions>) {
  const { tenantId, principal, database, now } = ctx;
  const [before = null] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('token')) ?? [];
  const owner = await findUser(database.read, tenantId, principal.id);
  if (owner === undefined) return { sessions: [], next_cursor: null };
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const { rows, next_cursor } = await listOpenSessions(database.read, owner, { before, limit, now });
  return { sessions: rows.map((row) => toWire(row, principal.credentialId)), next_cursor };
}

export async function end(
  ctx: Context,
  sessionId: string,
  { keep_tokens }: Query<typeof contract.endSession>,
): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal } = ctx;
  return ctx.change(async (tx) => {
    const row = await lockToken(tx, tenantId, sessionId);
    const isOpen = row?.user_id === principal.id && row.kind === 'session' && row.revoked_at === null;
    if (!isOpen || row.expires_at <= ctx.now) throw notFound('session');
    ctx.record.describe(await endSessions(tx, [row], { now: ctx.now, keepsTokens: keep_tokens === true }));
    await raiseEpoch(tx, tenantId);
    return DELETED;
  });
}

/** The credential of this request goes on. */
export async function endAll(
  ctx: Context,
  { keep_tokens }: Query<typeof contract.endSessions>,
): Promise<Output<typeof contract.endSessions>> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, now } = ctx;
  return ctx.change(async (tx) => {
    const ending = keep_tokens === true ? 'sessions_only' : 'sessions';
    const ended = await revokeTokensOfUser(tx, { tenantId, userId: principal.id }, ending, {
      now,
      except: principal.credentialId,
    });
    await raiseEpoch(tx, tenantId);
    ctx.record.describe(ended);
    return ended;
  });
}

function toWire(row: TokenRow, current: string): Listed {
  return {
    id: row.token_id,
    is_current: row.token_id === current,
    method: row.method,
    factor: row.mfa_at === null ? null : factorOf(row),
    address: row.address,
    mfa_at: timestampOrNull(row.mfa_at),
    created_at: timestamp(row.created_at),
    expires_at: timestamp(row.expires_at),
  };
}

function factorOf({ factor }: TokenRow): NonNullable<Listed['factor']> {
  if (factor === null || factor === TOTP_FACTOR) return TOTP_FACTOR;
  return factor === RECOVERY_FACTOR ? RECOVERY_FACTOR : 'passkey';
}
