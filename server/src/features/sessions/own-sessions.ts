import { timestamp, timestampOrNull } from '../../kernel/platform/clock.ts';
import { notFound } from '../../kernel/platform/errors.ts';
import { idForm } from '../../kernel/platform/ids.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Output, Query } from '../../kernel/request/declaration.ts';
import { plainCursor } from '../../kernel/request/visible-page.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/request/wire.ts';
import { decodeCursor } from '../../kernel/storage/cursor.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { RECOVERY_FACTOR, TOTP_FACTOR } from '../mfa/index.ts';
import { listOpenSessions, lockToken, revokeTokens, type TokenRow } from '../tokens/index.ts';
import { findUser } from '../users/index.ts';
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

export async function end(ctx: Context, sessionId: string): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal } = ctx;
  return ctx.change(async (tx) => {
    const row = await lockToken(tx, tenantId, sessionId);
    const isOpen = row?.user_id === principal.id && row.kind === 'session' && row.revoked_at === null;
    if (!isOpen || row.expires_at <= ctx.now) throw notFound('session');
    await revokeTokens(tx, tenantId, [sessionId], ctx.now);
    await raiseEpoch(tx, tenantId);
    return DELETED;
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
