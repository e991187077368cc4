import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_RETRY_SECONDS = 5;
const JITTER = 0.1;
const STEPS = 1_000_000;

/** A number in [0, 1), from the system's generator. */
export type Random = () => number;
export const systemRandom: Random = () => randomInt(STEPS) / STEPS;

/** Hosts that started together drift apart, so that they do not report together for ever. */
export function nextScanSeconds(intervalSeconds: number, random: Random): number {
  return intervalSeconds * (1 - JITTER + 2 * JITTER * random());
}

/** Doubles with each failure up to the interval; a random half of it keeps hosts from returning together. Never sooner than the service demands. */
export function retrySeconds(
  failures: number,
  intervalSeconds: number,
  retryAfterSeconds: number | null,
  random: Random,
): number {
  const top = Math.min(FIRST_RETRY_SECONDS * 2 ** Math.min(failures - 1, 20), intervalSeconds);
  return Math.max(top / 2 + (top / 2) * random(), (retryAfterSeconds ?? 0) * (1 + JITTER * random()));
}

/** Ends early, without an error, when the agent is told to stop. */
export async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(seconds * 1000, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
