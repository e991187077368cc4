import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

/** The wait before each further attempt. After the last one the delivery has failed. */
const WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
export const ATTEMPTS_MAX = WAITS_MS.length + 1;
/** Up to a tenth longer, so that deliveries that failed together do not come back together. */
const JITTER = 0.1;

/** When to try again after this many failed attempts; null if it was the last one. `random` is from 0 to 1. */
export function nextAttemptAt(
  attempts: number,
  { now, retryAfterMs, random }: { now: number; retryAfterMs: number | null; random: number },
): number | null {
  const waitMs = WAITS_MS[attempts - 1];
  if (waitMs === undefined) return null;
  // A receiver may ask for a longer wait, up to the longest one, never for a shorter one.
  const longestMs = WAITS_MS.at(-1) ?? waitMs;
  return now + Math.max(Math.round(waitMs * (1 + JITTER * random)), Math.min(retryAfterMs ?? 0, longestMs));
}
