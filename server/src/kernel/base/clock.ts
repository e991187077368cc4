/** The clock of the service. It is injected so that expiry and rotation can be tested without waiting. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** The last day that was written out. A page of rows has few different days, and the time of day is cheaper than a date. */
let lastDay = { number: Number.NaN, text: '' };

/** RFC 3339 with milliseconds in UTC, as `Date.toISOString` writes it. */
export function timestamp(epochMs: number): string {
  const number = Math.floor(epochMs / DAY_MS);
  if (lastDay.number !== number) lastDay = { number, text: new Date(epochMs).toISOString().slice(0, -TIME_LENGTH) };
  const ms = epochMs - number * DAY_MS;
  const hours = twoDigits(Math.floor(ms / HOUR_MS));
  const minutes = twoDigits(Math.floor(ms / MINUTE_MS) % 60);
  const seconds = twoDigits(Math.floor(ms / SECOND_MS) % 60);
  return `${lastDay.text}${hours}:${minutes}:${seconds}.${threeDigits(Math.floor(ms % SECOND_MS))}Z`;
}

const TIME_LENGTH = '00:00:00.000Z'.length;

function twoDigits(n: number): string {
  return n < 10 ? `0${n}` : `${n}`;
}

function threeDigits(n: number): string {
  return n < 100 ? `0${twoDigits(n)}` : `${n}`;
}

export function timestampOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : timestamp(epochMs);
}
