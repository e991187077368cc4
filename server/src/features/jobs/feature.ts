import { SECOND_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import type { ListedJob } from '../../kernel/jobs/job-list.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import * as contract from './contract.ts';

export const jobsFeature = feature({
  name: 'jobs',
  endpoints: contract,
  uses: ['jobs'],
  build: ({ jobs }) => ({
    handlers: {
      listJobs: async (ctx) => ({ jobs: (await jobs.read(ctx.database.read, ctx.now)).map(shown) }),
      runJob: async (ctx, { params }) => {
        const job = await runNow(ctx, jobs, params.job);
        jobs.wake();
        return job;
      },
    },
  }),
});

function runNow(ctx: Context, jobs: Kernel['jobs'], name: string) {
  return ctx.change(async (tx) => {
    if (!jobs.has(name)) throw new CofferError('NOT_FOUND', 'There is no such job: GET /admin/jobs lists them.');
    await jobs.runNow(tx, name);
    const job = (await jobs.read(tx, ctx.now)).find((each) => each.name === name);
    if (job === undefined) throw new Error('a job that is declared is listed');
    return shown(job);
  });
}

function shown({ name, intervalMs, removes, isRunning, outcome, error, runs, ...times }: ListedJob) {
  const at = (time: number | null) => (time === null ? null : timestamp(time));
  return {
    name,
    interval_seconds: Math.ceil(intervalMs / SECOND_MS),
    is_removing: removes,
    is_running: isRunning,
    last_started_at: at(times.startedAt),
    last_finished_at: at(times.finishedAt),
    last_outcome: outcome,
    last_error: error,
    last_failed_at: at(times.failedAt),
    next_run_at: at(times.nextRunAt),
    runs,
  };
}
