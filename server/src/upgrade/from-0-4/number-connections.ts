import { sql } from 'kysely';
import { CONNECTIONS, type ConnectionRow, isNumberTaken } from '../../features/app-connections/storage/index.ts';
import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import type { AuditLog } from '../../kernel/audit/log/audit-log.ts';
import type { Clock } from '../../kernel/base/clock.ts';
import { drawNumber } from '../../kernel/base/drawn-number.ts';
import { findUncheckedOperator } from '../../kernel/integrity/tenant-rows.ts';
import type { Database } from '../../kernel/storage/database.ts';

interface Parts {
  database: Database;
  audit: AuditLog;
  clock: Clock;
}

/**
 * Gives a new number to each connection whose number an earlier one already has, because up to release 0.4 every tenant counted its own. This runs at
 * each start, since a node of that release may still have been running, or a backup of it may have been restored.
 */
export async function numberConnections(parts: Parts): Promise<void> {
  for (const number of await sharedNumbers(parts.database)) {
    const [, ...later] = await holdersOf(parts.database, number);
    for (const row of later) await renumber(parts, row);
  }
}

async function sharedNumbers({ read }: Database): Promise<number[]> {
  const number = sql<number>`coalesce(number, connection_no)`;
  const rows = await read
    .selectFrom('app_connections')
    .select(number.as('number'))
    .groupBy(number)
    .having((eb) => eb.fn.countAll(), '>', 1)
    .orderBy(number)
    .execute();
  return rows.map((row) => Number(row.number));
}

/** Sorted by who keeps the number: the operator tenant first, whose numbers were the public ones, then the oldest. Forged rows are left out. */
async function holdersOf({ read }: Database, number: number): Promise<ConnectionRow[]> {
  const operator = (await findUncheckedOperator(read))?.tenant_id;
  const rows = await read
    .selectFrom('app_connections')
    .selectAll()
    .where(sql<number>`coalesce(number, connection_no)`, '=', number)
    .orderBy('created_at')
    .orderBy('client_id')
    .execute();
  const authentic = await CONNECTIONS.authenticOf(read, rows);
  return authentic.toSorted((a, b) => Number(b.tenant_id === operator) - Number(a.tenant_id === operator));
}

/** If several nodes start together, one renumbers the row and the others find that it already has a number of its own. */
async function renumber({ database, audit, clock }: Parts, { tenant_id, client_id, connection_no }: ConnectionRow) {
  const headKey = await audit.headKey(tenant_id);
  const number = await drawNumber((drawn) => isNumberTaken(database.read, drawn));
  await database.transaction(async (tx) => {
    const [row] = await CONNECTIONS.lockedWhere(tx, (eb) => eb.and({ tenant_id, client_id }));
    if (row === undefined || row.number !== null) return;
    await CONNECTIONS.update(tx, row, { number });
    const entry = systemEntry({
      tenantId: tenant_id,
      actorId: 'start',
      action: 'connection_renumbered',
      resource: `app-connection/${number}`,
      status: 200,
      details: { client_id, name: row.name, number, number_before: connection_no },
      now: clock.now(),
    });
    await audit.recordIn(tx, [entry], headKey);
  });
}
