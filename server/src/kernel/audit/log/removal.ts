import type { RegionGate } from '../../auth/region-gate.ts';
import type { Clock } from '../../base/clock.ts';
import type { AuthenticatedTable, RowFilter } from '../../integrity/authenticated-table.ts';
import type { Database } from '../../storage/database.ts';
import type { Tables } from '../../storage/tables.ts';
import { systemEntry } from '../entry/system-entry.ts';
import type { AuditLog } from './audit-log.ts';

const ROWS_AT_ONCE = 500;
const TENANTS_AT_ONCE = 100;

/** Rows of a table that are due for deletion, in every tenant. */
export interface Removal<T extends keyof Tables & string> {
  job: string;
  action: string;
  // biome-ignore lint/suspicious/noExplicitAny: the row type does not matter here
  table: AuthenticatedTable<T, any>;
  which: RowFilter<T>;
}

/** What a removal needs of the service. */
export interface RemovalParts {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly regionGate: RegionGate;
  readonly clock: Clock;
}

/** Deletes the rows in small transactions. Each has an entry in the log of the rows' tenant, which lists every row. */
export async function removeRecorded<T extends keyof Tables & string>(
  kernel: RemovalParts,
  { job, action, table, which }: Removal<T>,
  signal: AbortSignal,
): Promise<void> {
  // Tenants of other regions, whose rows here are a copy.
  const elsewhere: string[] = [];
  const served: RowFilter<T> = (eb) =>
    elsewhere.length === 0 ? which(eb) : eb.and([eb('tenant_id' as never, 'not in', elsewhere as never), which(eb)]);
  while (!signal.aborted) {
    const tenantIds = await table.tenantsWith(kernel.database.read, served, TENANTS_AT_ONCE);
    if (tenantIds.length === 0) return;
    for (const tenantId of tenantIds) {
      if (!(await kernel.regionGate.isServedHere(tenantId))) {
        elsewhere.push(tenantId);
        continue;
      }
      const headKey = await kernel.audit.headKey(tenantId);
      await kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
        const isOfTenant: RowFilter<T> = (eb) => eb.and([eb('tenant_id' as never, '=', tenantId as never), which(eb)]);
        const removed = await table.deleteWhere(tx, isOfTenant, ROWS_AT_ONCE);
        if (removed.length === 0) return;
        const entry = systemEntry({
          tenantId,
          actorId: `job:${job}`,
          action,
          resource: table.name,
          status: 200,
          details: { removed: removed.length },
          now: kernel.clock.now(),
        });
        await kernel.audit.recordIn(tx, [entry], headKey);
      });
    }
  }
}
