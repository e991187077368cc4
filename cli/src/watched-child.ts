import { setTimeout as sleep } from 'node:timers/promises';
import type { Coffer } from '../../client/src/index.ts';
import { type ChildEnvironment, startChild } from './child.ts';
import { type EnvironmentOptions, environmentFor } from './child-environment.ts';
import { explain } from './failure.ts';
import { note } from './output.ts';
import { type Selection, versionsOf } from './selection.ts';
import type { Settings } from './settings.ts';

const STOP_MS = 10_000;

/** Runs a command and starts it again whenever a secret that it was given has changed. Returns the exit code of its last run. */
export async function runWatched(
  { coffer, settings }: { coffer: Coffer; settings: Settings },
  selection: Selection,
  { intervalMs, ...options }: EnvironmentOptions & { intervalMs: number },
  [name = '', ...args]: readonly string[],
): Promise<number> {
  const read = () => environmentFor(coffer, settings, selection, options);
  // Requested before the values, so that no change between the two is missed.
  let versions = await versionsOf(coffer, selection);
  let environment = await read();
  for (;;) {
    const child = startChild(name, args, environment);
    const watching = new AbortController();
    const changed = untilChanged({ coffer, selection }, versions, { read, intervalMs }, watching.signal);
    changed.catch(() => {});
    const outcome = await Promise.race([child.ended, changed]);
    watching.abort();
    if (typeof outcome === 'number') return outcome;
    note('A secret has changed: starting the command again.');
    child.kill('SIGTERM');
    const forced = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    const code = await child.ended;
    clearTimeout(forced);
    if (child.isToldToStop()) return code;
    ({ versions, environment } = outcome);
  }
}

interface Given {
  versions: string;
  environment: ChildEnvironment;
}

/** While the service cannot be reached, or a secret cannot be read, the command goes on with what it has, and that is said once. */
async function untilChanged(
  { coffer, selection }: { coffer: Coffer; selection: Selection },
  present: string,
  { read, intervalMs }: { read: () => Promise<ChildEnvironment>; intervalMs: number },
  signal: AbortSignal,
): Promise<Given> {
  let told = '';
  for (;;) {
    // Not to wait any more is the only thing that ends this; by then nobody listens.
    await sleep(intervalMs * (0.9 + 0.2 * Math.random()), undefined, { ref: false });
    signal.throwIfAborted();
    try {
      const versions = await versionsOf(coffer, selection, signal);
      if (versions !== present) return { versions, environment: await read() };
      told = '';
    } catch (error) {
      signal.throwIfAborted();
      const said = explain(error);
      if (said !== told) note(`The command goes on with the secrets it has: ${said}`);
      told = said;
    }
  }
}
