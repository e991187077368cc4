import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { MetricData, WorkerMetrics } from '../kernel/observability/merged-metrics.ts';
import { MetricsRounds } from './metrics-rounds.ts';

/** Longer than any test takes. */
const LONG_MS = 60_000;

describe('a round of metrics', () => {
  let requested: number[];
  let running: number[];
  let rounds: MetricsRounds;

  const begin = (waitMs: number) => {
    requested = [];
    running = [1, 2];
    rounds = new MetricsRounds({
      workers: 2,
      waitMs,
      request: (round) => {
        requested.push(round);
        return running;
      },
      restarts: () => 0,
      onFailure: (error) => assert.fail(String(error)),
    });
  };
  beforeEach(() => begin(LONG_MS));

  const counted = (value: number): WorkerMetrics => {
    const counter: MetricData = {
      name: 'cv_x_total',
      help: 'x',
      type: 'counter',
      aggregator: 'sum',
      values: [{ labels: {}, value }],
    };
    return { process: [], own: [counter] };
  };
  const total = (metrics: readonly MetricData[]) => metrics[0]?.values[0]?.value ?? 0;
  const summary = async () => {
    const collected = await rounds.collect();
    const reports = collected?.reports.map(({ worker, metrics }) => [worker, total(metrics.own)]);
    return { reports, earlier: total(collected?.earlier ?? []) };
  };

  test('ends when all have reported', async () => {
    const collecting = summary();
    rounds.reported(2, 1, counted(20));
    rounds.reported(1, 1, counted(10));
    assert.deepEqual(await collecting, {
      reports: [
        [2, 20],
        [1, 10],
      ],
      earlier: 0,
    });
  });

  test('serves everybody who asks during it', async () => {
    const collecting = [rounds.collect(), rounds.collect(), rounds.collect()];
    for (const worker of running) rounds.reported(worker, 1, counted(1));
    const [first, ...others] = await Promise.all(collecting);
    for (const other of others) assert.equal(other, first);
    assert.deepEqual(requested, [1]);
  });

  test('leaves out one that does not report in time, and counts its last known totals', async () => {
    begin(1);
    const first = summary();
    for (const worker of running) rounds.reported(worker, 1, counted(5));
    await first;
    const second = summary();
    rounds.reported(1, 2, counted(6));
    assert.deepEqual(await second, { reports: [[1, 6]], earlier: 5 });
    rounds.reported(2, 2, counted(7));
    const third = summary();
    for (const worker of running) rounds.reported(worker, 3, counted(8));
    assert.deepEqual((await third).earlier, 0, 'a late report belongs to no round');
  });

  test('does not wait for one that ends, and keeps its totals', async () => {
    const first = summary();
    rounds.reported(1, 1, counted(5));
    rounds.reported(2, null, counted(9));
    rounds.ended(2);
    assert.deepEqual(await first, { reports: [[1, 5]], earlier: 9 });
    const second = summary();
    rounds.reported(1, 2, counted(6));
    rounds.reported(2, 2, counted(1));
    assert.deepEqual(await second, {
      reports: [
        [1, 6],
        [2, 1],
      ],
      earlier: 9,
    });
  });

  test('a worker that reports and then ends within the round is counted once', async () => {
    const collecting = summary();
    rounds.reported(1, 1, counted(5));
    rounds.ended(1);
    rounds.reported(2, 1, counted(7));
    assert.deepEqual(await collecting, { reports: [[2, 7]], earlier: 5 });
  });

  test('a worker that ends while the totals of another are added is counted once', async () => {
    const collecting = summary();
    rounds.reported(1, 1, counted(5));
    rounds.ended(1);
    rounds.reported(2, 1, counted(7));
    queueMicrotask(() => rounds.ended(2));
    const { reports, earlier } = await collecting;
    assert.equal(
      (reports ?? []).reduce((sum, [, value]) => sum + Number(value), earlier),
      12,
    );
  });

  test('ends at once if no worker runs', async () => {
    running = [];
    assert.deepEqual(await summary(), { reports: [], earlier: 0 });
  });
});
