import assert from 'node:assert/strict';
import type { ArchiveRow } from '../../server/src/kernel/audit/chain/archived-ranges.ts';
import { systemEntry } from '../../server/src/kernel/audit/entry/system-entry.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import type { AuditSegmentsTable } from '../../server/src/kernel/storage/tables.ts';
import { SECOND_CHECK_MS } from '../../server/src/kernel/time/clock-guard.ts';
import { fill, sign } from './audit-retention.ts';
import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';
import { until } from './until.ts';
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

/** Archives what can be archived now, as the job does it a day after the entries. */
export async function archive(service: Service): Promise<void> {
  await sign(service);
  service.clock.advance(DAY_MS + HOUR_MS);
  await runJobs(service);
}

/** Runs the jobs that verify and prune, some days later, until no range that is archived is left in the database. */
export async function prune(
  service: Service,
  isDone = async () => (await archivesOf(service)).every(isPruned),
): Promise<void> {
  service.clock.advance(2 * DAY_MS);
  await runJobs(service);
  await until('the archived ranges are not pruned', async () => {
    await pruneOnce(service);
    return isDone();
  });
}

/** One run of the job that prunes, at the second of two looks. */
export async function pruneOnce(service: Service): Promise<void> {
  const { clockGuard, database, audit } = service.app.kernel;
  assert.notEqual(await clockGuard.check(), null, 'the clock is not trusted');
  await audit.link();
  service.clock.advance(SECOND_CHECK_MS);
  await database.transaction((tx) =>
    tx.updateTable('job_leases').set({ next_run_at: 0 }).where('job', 'in', ['prune-audit', 'verify-audit']).execute(),
  );
  await runJobs(service);
}

const isPruned = ({ pruned_at }: ArchiveRow) => pruned_at !== null;

export function archivesOf(service: Service): Promise<ArchiveRow[]> {
  return service.app.kernel.database.read
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', service.app.kernel.operatorTenantId)
    .orderBy('archive_no')
    .execute();
}
