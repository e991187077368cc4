import { BoundedCache } from '../../kernel/base/bounded-cache.ts';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import * as sessionStore from './session-store.ts';
import { type ConnectionRow, lockConnection } from './storage/connection-store.ts';

/** How long an admitted session is not checked again: a share of its lifetime, up to a maximum. */
const TRUSTED_SHARE = 0.25;
const TRUSTED_MAX_MS = 30 * SECOND_MS;
/** The memory limit for the cached sessions of one connection. Sessions that are not cached are looked up in the database. */
export const SESSIONS_BYTES_MAX = 32 * 1024;

/**
 * Counts who uses a connection at the same time, by distinct client certificates, keys or addresses. A new gate is created with each epoch of the
 * tenant, so that a session that was evicted on another node is no longer cached here.
 */
export class SessionGate {
  readonly #kernel: Pick<Kernel, 'database'>;
  readonly #row: ConnectionRow;
  readonly #known = new BoundedCache<string, number>({
    bytesMax: SESSIONS_BYTES_MAX,
    bytesOf: (_, session) => 2 * session.length,
  });

  constructor(kernel: Pick<Kernel, 'database'>, row: ConnectionRow) {
    this.#kernel = kernel;
    this.#row = row;
  }

  async admit(session: string, now: number): Promise<void> {
    const { session_limit, session_ttl_seconds } = this.#row;
    if (session_limit === null) return;
    const trustedMs = Math.min(session_ttl_seconds * SECOND_MS * TRUSTED_SHARE, TRUSTED_MAX_MS);
    const checkedAt = this.#known.get(session);
    if (checkedAt !== undefined && now >= checkedAt && now - checkedAt < trustedMs) return;
    this.#known.delete(session);
    const database = this.#kernel.database.forTenant(this.#row.tenant_id, 'authentication');
    const isAdmitted = await database.transaction((tx) => admitted(tx, this.#row, session, now));
    if (!isAdmitted) {
      throw new CofferError(
        'SESSION_LIMIT',
        'The connection has reached its limit of concurrent sessions: end one, or wait until one expires.',
        {
          auditReason: `session: ${session_limit} at a time`,
        },
      );
    }
    this.#known.set(session, now);
  }
}

async function admitted(tx: Tx, { tenant_id, connection_no }: ConnectionRow, session: string, now: number) {
  const row = await lockConnection(tx, tenant_id, connection_no);
  if (row === undefined || row.session_limit === null) return row !== undefined;
  await sessionStore.deleteSeenBefore(tx, row, now - row.session_ttl_seconds * SECOND_MS);
  const all = await sessionStore.sessionsOf(tx, row);
  const own = all.find((one) => one.session === session);
  // Retrying does not bring an evicted session back: it must be idle first.
  if (own !== undefined && own.evicted_at !== null) return false;
  const live = all.filter((one) => one.evicted_at === null);
  const requested = own ?? { tenant_id, connection_no, session, started_at: now, seen_at: now, evicted_at: null };
  const inOrder = own === undefined ? [...live, requested] : live;
  // After the limit was lowered there may be more admitted sessions than allowed. The same rule decides which of them stay.
  const surplus = Math.max(inOrder.length - row.session_limit, 0);
  if (row.session_action === 'reject') {
    if (inOrder.indexOf(requested) >= row.session_limit) return false;
  } else if (surplus > 0) {
    for (const oldest of inOrder.slice(0, surplus)) {
      await sessionStore.saveSession(tx, { ...oldest, seen_at: now, evicted_at: now });
    }
    await raiseEpoch(tx, tenant_id);
    if (inOrder.indexOf(requested) < surplus) return false;
  }
  await sessionStore.saveSession(tx, { ...requested, seen_at: now });
  return true;
}
