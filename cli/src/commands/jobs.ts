import type { Command } from 'commander';
import { action } from '../declared.ts';
import { ago, printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const jobs = program.command('jobs').description('Show the background jobs of the service, and run one');
  jobs
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List the jobs with their last run, last error and next run; for operators')
    .action((_, command: Command) => list(command));
  action(jobs, {
    usage: 'run <job>',
    summary: 'Run a job now, on the first node that is free',
    route: 'POST /admin/jobs/{job}/run',
    arguments: ['path/job'],
    says: ({ name }) => `${name} runs within seconds. See how it ended: coffer jobs`,
  });
}

async function list(command: Command): Promise<void> {
  const { jobs } = await clientOf(settingsOf(command)).call('GET /admin/jobs', {});
  if (wantsJson(command)) return printJson(jobs);
  printTable(
    jobs,
    [
      { title: 'JOB', of: ({ name }) => name },
      { title: 'LAST RUN', of: ({ last_finished_at }) => ago(last_finished_at) },
      { title: 'ENDED', of: ({ is_running, last_outcome }) => (is_running ? 'running' : (last_outcome ?? '')) },
      { title: 'NEXT RUN', of: ({ next_run_at }) => (next_run_at === null ? 'now' : ago(next_run_at)) },
      {
        title: 'LAST ERROR',
        of: ({ last_error, last_failed_at }) => (last_error === null ? '' : `${ago(last_failed_at)}: ${last_error}`),
        isFlexible: true,
      },
    ],
    'There are no jobs.',
  );
}
