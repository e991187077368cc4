import { systemEntry } from '../../server/src/kernel/audit/system-entry.ts';
import { MINUTE_MS } from '../../server/src/kernel/platform/clock.ts';
import type { AuditSegmentsTable } from '../../server/src/kernel/storage/tables.ts';
import { fill } from './audit-retention.ts';
import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';
import { runJobs } from './vaults.ts';

/** More than a window of the chain has. */
const FULL = 2100;
const SINGLES = 150;

/** Entries that each have a segment of their own, as they come at low rates, and then enough others to fill a window of the chain. */
export async function grow(service: Service, vault: string, entries: number = FULL): Promise<void> {
  const { audit, clock, operatorTenantId } = service.app.kernel;
  for (let i = 0; i < SINGLES; i++) {
    const facts = { tenantId: operatorTenantId, actorId: 'operator', action: 'secrets:read', status: 200 } as const;
    await audit.record(
      systemEntry({ ...facts, resource: `vault/${vault}/single-${i}`, details: {}, now: clock.now() }),
    );
    await audit.settle();
  }
  await fill(service, vault, entries - SINGLES);
}

/** Merges what is old enough now. */
export async function compact(service: Service): Promise<void> {
  service.clock.advance(11 * MINUTE_MS);
  await runJobs(service);
}

export function segmentsOf(service: Service): Promise<AuditSegmentsTable[]> {
  return service.app.kernel.database.read
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', service.app.kernel.operatorTenantId)
    .orderBy('id')
    .execute();
}

/** All pages of a list of the log. */
export async function pagesOf(service: Service, query: string, first?: string): Promise<Answer['body'][]> {
  const entries: Answer['body'][] = [];
  for (let cursor = first ?? ''; ; ) {
    const page = await ok(service.call('GET', `/v1/audit?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`));
    entries.push(...page.entries);
    if (page.next_cursor === null) return entries;
    cursor = page.next_cursor;
  }
}
