import { timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { invalidField } from '../../kernel/errors.ts';
import { idAtTime, idForm } from '../../kernel/ids.ts';
import { decodeCursor, encodeCursor } from '../../kernel/storage/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import type { AuditRecord, listAudit } from './contract.ts';
import * as store from './store.ts';

/** Entries one request may look at: a hundredth of a second or so on SQLite, during which nothing else runs. */
const SCAN_MAX = 20_000;

export async function list(ctx: Context, query: Query<typeof listAudit>) {
  const { from, to, cursor, limit, ...plain } = query;
  const [after = null] = decodeCursor(cursor, idForm('audit')) ?? [];
  const toId = to === undefined ? null : idAtTime('audit', parseTime(to, '/query/to'));
  const filter: store.AuditFilter = {
    ...plain,
    fromId: from === undefined ? null : idAtTime('audit', parseTime(from, '/query/from')),
    beforeId: after !== null && toId !== null ? (after < toId ? after : toId) : (after ?? toId),
  };
  const found = await store.scan(ctx.database.read, ctx.tenantId, filter, limit ?? LIST_LIMIT_DEFAULT, SCAN_MAX);
  return {
    entries: found.rows.map(toWire),
    next_cursor: found.lastId === null ? null : encodeCursor([found.lastId]),
  };
}

function parseTime(text: string, pointer: string): number {
  const time = Date.parse(text);
  if (!Number.isFinite(time)) throw invalidField(pointer, 'must be a time such as 2026-11-14T10:00:00.000Z');
  return time;
}

function toWire(row: store.AuditRow): AuditRecord {
  return {
    id: row.id,
    timestamp: timestamp(row.at),
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name, key: row.actor_key },
    action: row.action,
    resource: row.resource,
    vault: row.vault === '' ? null : row.vault,
    decision: row.decision,
    status: row.status,
    ip: row.ip,
    user_agent: row.user_agent,
    request_id: row.request_id,
    reason: row.reason === '' ? null : row.reason,
    details: row.details === '' ? {} : (JSON.parse(row.details) as Record<string, unknown>),
    seq: row.seq,
    hash: row.hash === null ? null : Buffer.from(row.hash).toString('hex'),
  };
}
