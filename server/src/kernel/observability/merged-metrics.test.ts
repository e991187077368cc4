import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CollectedMetrics, sumOfTotals } from './merged-metrics.ts';
import { Metrics } from './metrics.ts';

/** The metrics of all, as `/metrics` of the first of these workers returns them. */
async function merged(workers: Metrics[], more: Partial<CollectedMetrics> = {}): Promise<string[]> {
  const reports = await Promise.all(
    workers.map(async (metrics, index) => ({ worker: index + 1, metrics: await metrics.ofWorker() })),
  );
  const [first] = workers;
  const collected = { workers: workers.length, reports, earlier: [], restarts: 0, ...more };
  first?.joinWorkers({ collect: async () => collected });
  return String(await first?.text()).split('\n');
}

function shown(lines: readonly string[], series: string): number {
  const line = lines.find((found) => found.startsWith(`${series} `));
  assert.ok(line !== undefined, `there is no ${series}`);
  return Number(line.slice(series.length + 1));
}

test('one process alone shows its own metrics without a worker', async () => {
  const text = await new Metrics().text();
  assert.doesNotMatch(text, /worker=/);
  for (const line of ['cv_workers 1', 'cv_workers_reporting 1', 'cv_worker_restarts_total 0']) {
    assert.ok(text.includes(`\n${line}\n`), line);
  }
});

test('counters and histograms are added, and gauges are merged as each declares', async () => {
  const [a, b] = [new Metrics(), new Metrics()];
  a.observeRequest('readSecret', 200, 0.002);
  b.observeRequest('readSecret', 200, 0.3);
  b.observeRequest('readSecret', 404, 20);
  a.jobRuns.labels('sweep', 'success').inc(2);
  b.jobRuns.labels('sweep', 'success').inc(3);
  a.clockTrusted.set(1);
  b.clockTrusted.set(0);
  a.clockOffset.set(0.1);
  b.clockOffset.set(0.4);
  a.jobLastSuccess.labels('sweep').set(100);
  b.jobLastSuccess.labels('sweep').set(200);
  for (const [metrics, bytes] of [
    [a, 10],
    [b, 32],
  ] as const) {
    metrics.bodyBytes = bytes;
    metrics.gauge('cv_failing', '1 if it fails.', 'max').set(bytes > 20 ? 1 : 0);
    metrics.collect('cv_stored', 'The same for all.', async () => 7);
    metrics.collectBy({ name: 'cv_stored_total', help: 'The same for all.', labels: ['of'] }, async () => [
      { of: 'x', value: 5 },
    ]);
  }
  const lines = await merged([a, b]);
  const expected = {
    'cv_http_requests_total{endpoint="readSecret",status="200"}': 2,
    'cv_http_requests_total{endpoint="readSecret",status="404"}': 1,
    'cv_http_request_duration_seconds_bucket{le="0.0025",endpoint="readSecret"}': 1,
    'cv_http_request_duration_seconds_bucket{le="0.5",endpoint="readSecret"}': 2,
    'cv_http_request_duration_seconds_bucket{le="+Inf",endpoint="readSecret"}': 3,
    'cv_http_request_duration_seconds_count{endpoint="readSecret"}': 3,
    'cv_job_runs_total{job="sweep",outcome="success"}': 5,
    cv_clock_trusted: 0,
    cv_clock_offset_seconds: 0.4,
    'cv_job_last_success_timestamp_seconds{job="sweep"}': 200,
    cv_http_body_bytes: 42,
    cv_failing: 1,
    cv_stored: 7,
    'cv_stored_total{of="x"}': 5,
    cv_workers: 2,
    cv_workers_reporting: 2,
    cv_worker_restarts_total: 0,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, shown(lines, name)])), expected);
});

test('what describes a process is shown for each worker', async () => {
  const lines = await merged([new Metrics(), new Metrics()]);
  for (const worker of [1, 2]) {
    assert.ok(shown(lines, `cv_process_resident_memory_bytes{worker="${worker}"}`) > 0);
    assert.ok(shown(lines, `cv_process_start_time_seconds{worker="${worker}"}`) > 0);
  }
  const names = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]);
  assert.equal(new Set(names).size, names.length, 'a metric is declared twice');
  const series = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(' ')[0]);
  assert.equal(new Set(series).size, series.length, 'a series is shown twice');
});

test('the totals of a worker that ended stay, and what it held is gone', async () => {
  const [a, ended] = [new Metrics(), new Metrics()];
  a.jobRuns.labels('sweep', 'success').inc(1);
  ended.jobRuns.labels('sweep', 'success').inc(4);
  ended.observeRequest('health', 200, 0.001);
  for (const metrics of [a, ended]) metrics.bodyBytes = 10;
  const { own } = await ended.ofWorker();
  const earlier = await sumOfTotals([await sumOfTotals([own]), own]);
  const lines = await merged([a], { workers: 2, earlier, restarts: 2 });
  assert.equal(shown(lines, 'cv_job_runs_total{job="sweep",outcome="success"}'), 9);
  assert.equal(shown(lines, 'cv_http_requests_total{endpoint="health",status="200"}'), 2);
  assert.equal(shown(lines, 'cv_http_body_bytes'), 10);
  assert.deepEqual([shown(lines, 'cv_workers'), shown(lines, 'cv_workers_reporting')], [2, 1]);
});
