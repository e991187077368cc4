import { systemEntry } from '../kernel/audit/entry/system-entry.ts';
import { DAY_MS, timestamp } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { makeDue, refusedJobs } from '../kernel/jobs/leases.ts';
import { refuseWrongStart } from '../kernel/time/clock-guard.ts';
import { savePermission } from '../kernel/time/operator-permissions.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { withKernel } from './with-kernel.ts';

const VALID_MS = DAY_MS;

/**
 * Lets a job that was refused because it would remove too much run once. Other jobs are not accepted: a permission in advance would allow an unknown
 * removal.
 */
export function allowPurge(config: Config, job: string): Promise<string> {
  return withKernel(config, async ({ kernel, operator }) => {
    const { database, audit, clock } = kernel;
    await refuseWrongStart(systemTime, database);
    const refused = await refusedJobs(database.read);
    if (!refused.includes(job)) throw notRefused(job, refused);
    const now = (await systemTime.ofDatabase(database)) ?? clock.now();
    const valid_until = Math.floor(now) + VALID_MS;
    const headKey = await audit.headKey(operator.tenant_id);
    const entry = systemEntry({
      tenantId: operator.tenant_id,
      actorId: 'operator',
      action: 'jobs:allow_purge',
      resource: `job/${job}`,
      status: 200,
      details: { job, valid_until: timestamp(valid_until) },
      now: clock.now(),
    });
    await database.transaction(async (tx) => {
      await savePermission(tx, { subject: job, given_at: Math.floor(now), valid_until });
      await makeDue(tx, job);
      await audit.recordIn(tx, [entry], headKey);
    });
    return `The job ${job} may remove more than its limit once, until ${timestamp(valid_until)}. It runs on a node that has been up for an hour with a correct clock.`;
  });
}

function notRefused(job: string, refused: readonly string[]): StartError {
  const which = refused.length === 0 ? 'No job was refused.' : `Refused jobs: ${refused.join(', ')}.`;
  return new StartError(`The job ${JSON.stringify(job)} was not refused, so there is nothing to allow. ${which}`);
}
