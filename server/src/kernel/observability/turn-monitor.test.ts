import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setImmediate as iteration, setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../../test/support/until.ts';
import { createLogger } from './log.ts';
import { Metrics } from './metrics.ts';
import { TURN_MS_MAX, TurnMonitor } from './turn-monitor.ts';

/** Occupies the thread for so much processor time. */
function compute(ms: number): void {
  const used = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  const until = used() + ms;
  while (used() < until);
}

let open: TurnMonitor | null = null;

function monitored() {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const metrics = new Metrics();
  open = new TurnMonitor(metrics, createLogger({ level: 'info', format: 'json', stream }));
  return { monitor: open, lines, metrics };
}

describe('the longest turn of the event loop', () => {
  afterEach(() => open?.close());

  test('is measured, shown, and logged with the endpoint that ended in it', async () => {
    const { monitor, lines, metrics } = monitored();
    await iteration();
    monitor.begin('listSecrets');
    monitor.begin('readSecret');
    compute(3 * TURN_MS_MAX);
    monitor.end('listSecrets');
    assert.ok(monitor.longestMs > 2 * TURN_MS_MAX, `${monitor.longestMs}`);
    const [, seconds] = /^cv_event_loop_longest_turn_seconds (\S+)$/m.exec(await metrics.text()) ?? [];
    assert.ok(Number(seconds) > (2 * TURN_MS_MAX) / 1000, `${seconds}`);
    const [line = '{}'] = lines;
    assert.deepEqual(JSON.parse(line).endpoints, ['listSecrets', 'readSecret']);
  });

  test('is found by the next tick, if the request goes on after it', async () => {
    const { monitor, lines } = monitored();
    await iteration();
    monitor.begin('listSecrets');
    compute(3 * TURN_MS_MAX);
    await sleep(20);
    assert.ok(monitor.longestMs > 2 * TURN_MS_MAX, `${monitor.longestMs}`);
    assert.match(lines.join(), /listSecrets/);
  });

  test('is watched again after the service was idle', async () => {
    const { monitor } = monitored();
    monitor.begin('listSecrets');
    monitor.end('listSecrets');
    await until('nothing is watched', () => !monitor.isWatching);
    compute(3 * TURN_MS_MAX);
    assert.ok(monitor.longestMs < TURN_MS_MAX, 'no request waited');
    monitor.begin('readSecret');
    compute(3 * TURN_MS_MAX);
    monitor.end('readSecret');
    assert.ok(monitor.longestMs > 2 * TURN_MS_MAX, `${monitor.longestMs}`);
  });

  test('is none of many short turns, and none in which nothing was computed', async () => {
    const { monitor, lines } = monitored();
    for (let i = 0; i < 30; i++) {
      monitor.begin('readSecret');
      compute(3);
      monitor.end('readSecret');
    }
    await sleep(2 * TURN_MS_MAX);
    // As on a machine that is busy with something else.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * TURN_MS_MAX);
    await sleep(20);
    assert.ok(monitor.longestMs < TURN_MS_MAX, `${monitor.longestMs}`);
    assert.deepEqual(lines, []);
  });
});
