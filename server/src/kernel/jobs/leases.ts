import type { Reader, Tx } from '../storage/database.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';

/** How a run of a job ended. A refused one would have removed more than its share, and removed nothing. */
export type Outcome = 'success' | 'failure' | 'refused';

export const REFUSED: Outcome = 'refused';

export function isOutcome(text: string): text is Outcome {
  return text === 'success' || text === 'failure' || text === REFUSED;
}

export async function refusedJobs(db: Reader): Promise<string[]> {
  const rows = await db
    .selectFrom('job_leases')
    .select('job')
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('last_outcome', '=', REFUSED)
    .orderBy('job')
    .execute();
  return rows.map(({ job }) => job);
}

/** The job runs as soon as a node is free. */
export async function makeDue(tx: Tx, job: string): Promise<void> {
  await tx
    .updateTable('job_leases')
    .set({ next_run_at: 0 })
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('job', '=', job)
    .execute();
}
