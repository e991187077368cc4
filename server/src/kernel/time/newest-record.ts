import { timeOfId } from '../base/ids.ts';
import type { Reader } from '../storage/database.ts';

/** The latest time of any commit: of an audit entry, which every change has, or of a job. Null in an empty database. */
export async function newestRecordAt(db: Reader): Promise<number | null> {
  const segments = await db
    .selectFrom('tenants as t')
    .select((eb) =>
      eb
        .selectFrom('audit_segments as s')
        .select('s.id')
        .whereRef('s.tenant_id', '=', 't.tenant_id')
        .orderBy('s.id', 'desc')
        .limit(1)
        .as('id'),
    )
    .execute();
  const jobs = await db
    .selectFrom('job_leases')
    .select((eb) => [eb.fn.max('last_started_at').as('started'), eb.fn.max('last_finished_at').as('finished')])
    .executeTakeFirst();
  const times = segments.flatMap(({ id }) => (id === null ? [] : [timeOfId(id)]));
  const newest = [...times, Number(jobs?.started ?? 0), Number(jobs?.finished ?? 0)].reduce((a, b) => Math.max(a, b));
  return newest === 0 ? null : newest;
}
