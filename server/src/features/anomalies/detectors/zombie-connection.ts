import { DAY_MS, HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import type { ConnectionRow } from '../../app-connections/storage/index.ts';
import { connectionResource } from '../../rollups/index.ts';
import { countsOf } from '../models/resource-history.ts';
import { connectionUses, storeUses } from '../scan-store.ts';
import { TYPES } from '../schemas.ts';
import { aboutConnection, activeConnections } from './connections.ts';
import { type Detector, PLAIN, type ScanContext } from './detector.ts';
import { liveVaults } from './watched-vaults.ts';

const [, , DAYS_DEFAULT] = TYPES.zombie_app_connection;

/** Active connections that were not used for too long. */
export const zombieConnection: Detector = {
  type: 'zombie_app_connection',
  async *detect(context) {
    const { now, threshold } = context;
    const allowed = threshold('zombie_app_connection') ?? DAYS_DEFAULT;
    const unlisted = await unlistedUses(context);
    for await (const connections of activeConnections(context)) {
      const uses = await storedUses(context, connections, unlisted);
      for (const connection of connections) {
        const usedAt = uses.get(connection.client_id) ?? now;
        const days = (now - usedAt) / DAY_MS;
        if (days <= allowed) continue;
        yield {
          ...PLAIN,
          ...aboutConnection(connection),
          ratio: days / allowed,
          baseline: { unused_days_allowed: allowed },
          observed: { unused_days: Math.floor(days), unused_since: timestamp(usedAt) },
          features: [Math.log2(days / allowed)],
        };
      }
    }
  },
};

/**
 * When each connection was last used, as far as is known. It is stored from scan to scan, because counts are deleted before a connection is unused
 * for long enough. A connection of which no use is known counts as used when the counts began.
 */
async function storedUses(
  { kernel, db, tenantId, period, countedSince, now }: ScanContext,
  connections: readonly ConnectionRow[],
  unlisted: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const ids = connections.map(({ client_id }) => client_id);
  const stored = await connectionUses(db, tenantId, ids);
  const uses = new Map<string, number>();
  for (const { client_id, created_at } of connections) {
    let usedAt = Math.max(
      Number(created_at),
      stored.get(client_id) ?? countedSince ?? now,
      unlisted.get(client_id) ?? 0,
    );
    // What was counted before the last use that is known tells nothing new.
    const since = { ...period, from: Math.max(period.from, Math.floor(usedAt / HOUR_MS) * HOUR_MS) };
    for await (const { hour } of countsOf(db, tenantId, since, { resource: connectionResource(client_id) })) {
      usedAt = Math.max(usedAt, Math.min(hour + HOUR_MS, now));
    }
    uses.set(client_id, usedAt);
  }
  const changed = new Map([...uses].filter(([id, usedAt]) => stored.get(id) !== usedAt));
  if (changed.size > 0) {
    await kernel.database.forTenant(tenantId, 'bulk').transaction((tx) => storeUses(tx, tenantId, changed));
  }
  return uses;
}

/** A vault that does not list its reads has the connections that read it in its summaries only. */
async function unlistedUses(context: ScanContext): Promise<Map<string, number>> {
  const { db, tenantId, period, now } = context;
  const uses = new Map<string, number>();
  for await (const { name, log_reads } of liveVaults(context)) {
    if (log_reads === 1) continue;
    for await (const { actor_kind, actor_id, hour } of countsOf(db, tenantId, period, { resource: `vault/${name}` })) {
      if (actor_kind !== 'app_connection') continue;
      uses.set(actor_id, Math.max(uses.get(actor_id) ?? 0, Math.min(hour + HOUR_MS, now)));
    }
  }
  return uses;
}
