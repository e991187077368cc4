const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

interface Step {
  unit: Intl.RelativeTimeFormatUnit;
  seconds: number;
  /** From how many seconds on the unit is used: a moment less than a whole one is still called one. */
  from: number;
}

const STEPS: readonly Step[] = [
  { unit: 'year', seconds: 31_536_000, from: 31_536_000 },
  { unit: 'month', seconds: 2_592_000, from: 5_184_000 },
  { unit: 'day', seconds: 86_400, from: 84_600 },
  { unit: 'hour', seconds: 3_600, from: 3_570 },
  { unit: 'minute', seconds: 60, from: 60 },
];

/** Rounded as people do: a moment after "in 30 days" it is still in 30 days. */
export function relativeTime(timestamp: string, now = Date.now()): string {
  const seconds = Math.round((Date.parse(timestamp) - now) / 1000);
  const length = Math.abs(seconds);
  const step = STEPS.find(({ from }) => length >= from);
  if (step === undefined) return RELATIVE.format(seconds, 'second');
  return RELATIVE.format(Math.sign(seconds) * Math.round(length / step.seconds), step.unit);
}
