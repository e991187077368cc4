import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { readAll } from './load.ts';
import { query } from './postgres.ts';
import {
  type Exit,
  newDataDir,
  type ProcessOptions,
  pause,
  runService,
  type ServiceProcess,
  spawnService,
} from './process.ts';
import { call } from './service.ts';

const SETTLES_WITHIN_MS = 60_000;
/** The jobs that remove nothing, and so run whatever the clock says. `features/jobs/jobs.test.ts` compares them with what jobs declare. */
export const KEEPING = [
  'announce-expiring-certificates',
  'announce-expiring-secrets',
  'cancel-ended-requests',
  'compact-audit',
  'notify-endpoint-drift',
  'renew-fingerprints',
  'rotate-secrets',
  'rotate-signing-keys',
  'schedule-anomaly-scans',
  'schedule-risk-runs',
  'sign-audit-checkpoints',
  'verify-audit',
];
/** They end requests and access, and wait only while the clock is wrong. */
const ONE_LOOK = ['end-timed-access', 'expire-approvals'];

/** A service whose clock is set by the test, in a process of its own. */
export class Clocked {
  readonly file = `${newDataDir()}.clock`;
  readonly databaseUrl: string | undefined;
  readonly dataDir: string = newDataDir();
  service: ServiceProcess | undefined;

  constructor(databaseUrl: string | undefined) {
    this.databaseUrl = databaseUrl;
  }

  async start(offsetMs: number): Promise<ServiceProcess> {
    this.service = await spawnService(this.#options(offsetMs));
    return this.service;
  }

  /** A start that is refused. */
  run(offsetMs: number): Promise<Exit> {
    return runService(this.#options(offsetMs));
  }

  #options(offsetMs: number): ProcessOptions {
    writeFileSync(this.file, String(offsetMs));
    const { dataDir, databaseUrl } = this;
    const env = { COFFER_TEST_CLOCK_FILE: this.file };
    return { dataDir, databaseUrl, env, preloaded: 'clock.ts' };
  }

  /** Sets the clock, which the service sees a moment later. */
  tell(offsetMs: number): ServiceProcess {
    assert.ok(this.service !== undefined);
    writeFileSync(this.file, String(offsetMs));
    this.service.kill('SIGUSR2');
    return this.service;
  }

  /** Sets the clock, and waits until an entry shows that the service sees it. */
  async set(offsetMs: number): Promise<void> {
    const service = this.tell(offsetMs);
    for (const since = performance.now(); ; await pause(50)) {
      const { headers } = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
      const entries = await readAll(service.url, service.adminToken(), '/v1/audit', 'entries');
      const own = entries.find((entry) => entry['request_id'] === headers.get('x-request-id'));
      if (Math.abs(Date.parse(String(own?.['timestamp'])) - Date.now() - offsetMs) < DAY_MS / 2) return;
      assert.ok(performance.now() - since < SETTLES_WITHIN_MS, 'the service does not see its clock');
    }
  }

  async jobs(): Promise<{ job: string; next_run_at: number; last_outcome: string }[]> {
    const sql = 'select job, next_run_at, last_outcome from job_leases';
    if (this.databaseUrl !== undefined) return (await query(this.databaseUrl, sql)) as never;
    const database = new DatabaseSync(join(this.dataDir, 'coffer.db'), { readOnly: true });
    try {
      return database.prepare(sql).all() as never;
    } finally {
      database.close();
    }
  }

  /** Every job that removes nothing ran, and none waits for a time that its clock has not reached by far. No other began: they wait for an hour. */
  async untilJobsRunAt(offsetMs: number): Promise<void> {
    for (const since = performance.now(); ; await pause(200)) {
      const jobs = await this.jobs();
      const removing = jobs.map(({ job }) => job).filter((job) => !KEEPING.includes(job) && !ONE_LOOK.includes(job));
      assert.deepEqual(removing, []);
      const late = jobs.filter(
        ({ job, next_run_at }) =>
          KEEPING.includes(job) && Math.abs(Number(next_run_at) - Date.now() - offsetMs) > 3 * DAY_MS,
      );
      if (late.length === 0 && jobs.length >= KEEPING.length) return;
      assert.ok(performance.now() - since < SETTLES_WITHIN_MS, `jobs that do not run: ${JSON.stringify(late)}`);
    }
  }
}
