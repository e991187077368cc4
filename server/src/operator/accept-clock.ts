import { systemEntry } from '../kernel/audit/entry/system-entry.ts';
import { timestamp } from '../kernel/base/clock.ts';
import { refuseWrongStart } from '../kernel/time/clock-guard.ts';
import { newestRecordAt } from '../kernel/time/newest-record.ts';
import { CLOCK, savePermission } from '../kernel/time/operator-permissions.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { withKernel } from './with-kernel.ts';

/** For use after the clock was ahead: records made meanwhile lie in the future, and would keep jobs from removing anything until then. */
export function acceptClock(config: Config): Promise<string> {
  return withKernel(config, async ({ kernel, operator }) => {
    const { database, audit, clock } = kernel;
    await refuseWrongStart(systemTime, database);
    const now = clock.now();
    const newestAt = await newestRecordAt(database.read);
    if (newestAt === null || newestAt <= now) return 'No record is later than the clock; nothing was changed.';
    const headKey = await audit.headKey(operator.tenant_id);
    const entry = systemEntry({
      tenantId: operator.tenant_id,
      actorId: 'operator',
      action: 'server:accept_clock',
      resource: 'clock',
      status: 200,
      details: { newest_record: timestamp(newestAt) },
      now,
    });
    await database.transaction(async (tx) => {
      await savePermission(tx, { subject: CLOCK, given_at: now, valid_until: newestAt });
      await audit.recordIn(tx, [entry], headKey);
    });
    return `The time is ${timestamp(now)}; records up to ${timestamp(newestAt)} are treated as written by a clock that was ahead.`;
  });
}
