import type { Tx } from '../../kernel/storage/database.ts';

export interface CopilotTables {
  copilot_usage: CopilotUsageRow;
}

export interface CopilotUsageRow {
  tenant_id: string;
  /** The last day on which the tenant sent a request. */
  day_start: number;
  requests: number;
}

/** Counts one more request and returns how many there are on this day. */
export async function countRequest(tx: Tx, tenantId: string, dayStart: number): Promise<number> {
  const { requests } = await tx
    .insertInto('copilot_usage')
    .values({ tenant_id: tenantId, day_start: dayStart, requests: 1 })
    .onConflict((conflict) =>
      conflict.column('tenant_id').doUpdateSet(({ eb, ref }) => ({
        day_start: dayStart,
        requests: eb
          .case()
          .when(ref('copilot_usage.day_start'), '=', dayStart)
          .then(eb(ref('copilot_usage.requests'), '+', 1))
          .else(1)
          .end(),
      })),
    )
    .returning('requests')
    .executeTakeFirstOrThrow();
  return requests;
}
