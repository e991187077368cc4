import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { FakedTime, noFakedTime } from '../support/faked-time.ts';
import { complaints, logLines } from '../support/log-lines.ts';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { ok } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, runService, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { findPromtool } from '../support/promtool.ts';
import { call, DATABASES } from '../support/service.ts';
import { until } from '../support/until.ts';

const skip = noFakedTime;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const OFFSETS: Record<string, number> = { '+3d': 3 * DAY_S, '-5h': -5 * HOUR_S };
/** They change by themselves: lines of the audit log are linked, nodes report themselves. */
const CHANGING = /^(audit_|nodes$|job_leases$)/;

if (DATABASES.includes('postgres'))
  describe('a node with a wrong clock beside a right one', { skip }, () => {
    test('leaves readiness, says so, and removes nothing; the right one goes on', async () => {
      const databaseUrl = await newPostgresDatabase();
      const right = await spawnService({ databaseUrl });
      const token = right.adminToken();
      const clock = new FakedTime();
      const dataDir = newDataDir();
      mkdirSync(dataDir, { mode: 0o700 });
      copyFileSync(join(right.dataDir, 'root.key'), join(dataDir, 'root.key'));
      const wrong = await spawnService({ databaseUrl, dataDir, env: clock.env });
      const metricOf = async (node: ServiceProcess, series: string) =>
        seriesValue(await metricsText({ call: (method, to) => call(node.url, method, to, { token }) }), series);

      // Things that end within days, which a clock that is ahead would take for ended.
      const made = await ok(
        call(right.url, 'POST', '/auth/tokens', { token, body: { name: 'for a day', ttl_days: 1 } }),
        201,
      );
      await ok(call(right.url, 'POST', '/v1/vaults', { token, body: { name: 'kept', environment: 'staging' } }), 201);
      const body = { path: 'deleted', value: 'x' };
      await ok(call(right.url, 'POST', '/v1/vaults/kept/secrets', { token, body }), 201);
      await ok(call(right.url, 'DELETE', '/v1/vaults/kept/secrets/deleted', { token }));

      for (const [offset, seconds] of Object.entries(OFFSETS)) {
        const before = await rowCounts(databaseUrl);
        const saidBefore = logLines(wrong).length;
        const runsBefore = await jobRuns(wrong, token);
        clock.set(offset);
        await until('the node leaves readiness', async () => (await ready(wrong)).status === 503);
        assert.match((await ready(wrong)).text, /The clock of this node differs from the database’s by more than 30 s/);
        const said = logLines(wrong).slice(saidBefore);
        const [line, ...more] = said.filter(({ level }) => level === 'error');
        assert.deepEqual(more, [], 'it is said once');
        assert.match(String(line?.msg), /^the clock of this node differs .* deletes nothing$/);
        assert.match(String(line?.['what_to_do']), /^Correct the clock of this machine or of the database server/);
        const shown = Date.parse(String(line?.['node'])) - Date.parse(String(line?.['database']));
        assert.ok(Math.abs(shown / 1000 - seconds) < 60, `${shown} ms`);
        const seen = Number(await metricOf(wrong, 'cv_clock_offset_seconds'));
        assert.ok(Math.abs(seen - seconds) < 60, String(seen));
        assert.equal(await metricOf(wrong, 'cv_clock_trusted'), 0);
        await assertAlert(seen);

        // Who calls it nevertheless is told to use another node.
        for (const refusedThere of [
          await call(wrong.url, 'GET', '/v1/vaults', { token }),
          await call(wrong.url, 'GET', '/auth/me', { token: made.token }),
        ])
          assert.equal(refusedThere.status, 503, refusedThere.text);

        // The right one notices nothing, and behind a balancer clients only reach that one.
        assert.equal((await ready(right)).status, 200);
        assert.equal((await call(right.url, 'GET', '/auth/me', { token: made.token })).status, 200);
        assert.equal(await metricOf(right, 'cv_clock_trusted'), 1);
        assert.ok(Math.abs(Number(await metricOf(right, 'cv_clock_offset_seconds'))) < 30);
        // To a clock that is ahead every job is due: those that remove nothing have run, so the others had their chance.
        if (seconds > 0) await until('a job ran', async () => (await jobRuns(wrong, token)) > runsBefore);
        assert.deepEqual(fewer(before, await rowCounts(databaseUrl)), []);

        clock.set('+0');
        await until('the node is ready again', async () => (await ready(wrong)).status === 200);
        assert.match(String(logLines(wrong).findLast(({ msg }) => msg.startsWith('the clock'))?.msg), /right again/);
        assert.equal((await call(wrong.url, 'GET', '/auth/me', { token: made.token })).status, 200);
        assert.equal(await metricOf(wrong, 'cv_clock_trusted'), 1);
        assert.deepEqual(fewer(before, await rowCounts(databaseUrl)), []);
      }
      assert.equal((await ok(call(right.url, 'GET', '/v1/audit/verify', { token }))).valid, true);
      await stopService(wrong);
      for (const offset of Object.keys(OFFSETS)) {
        clock.set(offset);
        const { code, stderr } = await runService({ databaseUrl, dataDir, env: clock.env });
        assert.equal(code, 1);
        assert.match(
          stderr,
          /The clock of this machine is at .* differ by more than 30 s\. Correct the one that is wrong/,
        );
      }
      await stopService(right);
      assert.deepEqual(complaints(right), []);
    });
  });

function ready({ url }: ServiceProcess) {
  return call(url, 'GET', '/health/ready', {});
}

async function rowCounts(databaseUrl: string): Promise<Map<string, number>> {
  const tables = await query(databaseUrl, `select tablename from pg_tables where schemaname = 'public'`);
  const counts = new Map<string, number>();
  for (const { tablename } of tables) {
    if (CHANGING.test(String(tablename))) continue;
    const [row] = await query(databaseUrl, `select count(*)::integer as count from "${tablename}"`);
    counts.set(String(tablename), Number(row?.['count']));
  }
  return counts;
}

function fewer(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string[] {
  return [...before].filter(([table, count]) => (after.get(table) ?? 0) < count).map(([table]) => table);
}

async function jobRuns({ url }: ServiceProcess, token: string): Promise<number> {
  const text = await metricsText({ call: (method, to) => call(url, method, to, { token }) });
  return [...text.matchAll(/^cv_job_runs_total\{[^}]*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

const RULES = join(import.meta.dirname, '../../deploy/prometheus/coffer-alerts.yml');

/** The alert that is shipped fires for what the node says of itself. */
async function assertAlert(offsetSeconds: number): Promise<void> {
  const promtool = await findPromtool();
  if ('missing' in promtool) return;
  const folder = mkdtempSync(join(tmpdir(), 'coffer-alert-'));
  try {
    writeFileSync(join(folder, 'rules.yml'), readFileSync(RULES));
    writeFileSync(
      join(folder, 'test.yml'),
      `rule_files: [rules.yml]
tests:
  - interval: 1m
    input_series:
      - series: 'cv_clock_offset_seconds{job="coffer",instance="a"}'
        values: '${offsetSeconds}x10'
    alert_rule_test:
      - eval_time: 5m
        alertname: CofferClockWrong
        exp_alerts:
          - exp_labels: { job: coffer, instance: a, severity: critical }
            exp_annotations: { summary: The clock of a is wrong, runbook_url: https://coffer.example.com/docs/guide/operations#cofferclockwrong }
`,
    );
    const { code, output } = await promtool(['test', 'rules', join(folder, 'test.yml')]);
    assert.equal(code, 0, output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
