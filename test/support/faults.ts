import assert from 'node:assert/strict';
import { type Acknowledged, assertChainValid, assertNothingLost, type Load } from './load.ts';
import { pause, type ServiceProcess } from './process.ts';
import { call } from './service.ts';

/** No request waits longer for its answer, whatever is broken: the deadline of a request, and what a busy machine adds. */
export const ANSWER_MS_MAX = 25_000;
const HEALS_MS_MAX = 30_000;

export async function statusOf(url: string, path: string): Promise<number> {
  return (await call(url, 'GET', path, { token: null })).status;
}

/** How long it took until the service says that it can answer again. */
export async function untilReady(url: string): Promise<number> {
  const started = performance.now();
  while ((await statusOf(url, '/health/ready')) !== 200) {
    assert.ok(performance.now() - started < HEALS_MS_MAX, 'it does not heal by itself');
    await pause(50);
  }
  return Math.round(performance.now() - started);
}

/** The process lives, says that it cannot answer now and when to try again. */
export async function assertSaysSo(service: ServiceProcess, load: Load): Promise<void> {
  assert.equal(load.broken, 0, `the process lives: ${service.stderr()}`);
  assert.equal(await statusOf(service.url, '/health'), 200);
  const response = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
  assert.equal(response.status, 503, response.text);
  const ready = await call(service.url, 'GET', '/health/ready', { token: null });
  assert.equal(ready.status, 503, 'what cannot answer says that it is ready');
  assert.match(ready.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}

/** Every request got an answer, in time; what was refused may be repeated, and the answer says so. */
export function assertOnlyPutOff(load: Load): void {
  assert.equal(load.broken, 0, 'every request got an answer');
  assert.ok(load.longestMs < ANSWER_MS_MAX, `an answer took ${load.longestMs} ms`);
  for (const { action, status, retryAfter } of load.refused) {
    assert.equal(status, 503, `${action} answered ${status}`);
    assert.match(retryAfter ?? '', /^[1-9]\d*$/, `${action}: Retry-After`);
  }
}

/** What holds after every fault: all that was acknowledged is there, once, and the audit log is whole. */
export async function assertUnharmed(url: string, token: string, acknowledged: readonly Acknowledged[]): Promise<void> {
  await assertChainValid(url, token);
  await assertNothingLost(url, token, acknowledged);
  await assertChainValid(url, token);
}

/** After the fault, with the load still on: it answers again, has only put requests off, and nothing is lost. */
export async function assertWorksAgain(url: string, token: string, load: Load): Promise<void> {
  const acknowledgedThen = load.acknowledged.length;
  await pause(1000);
  await load.stop();
  assertOnlyPutOff(load);
  assert.ok(load.acknowledged.length > acknowledgedThen + 20, 'it works again');
  await assertUnharmed(url, token, load.acknowledged);
}
