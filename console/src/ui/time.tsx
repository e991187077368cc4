import { signal } from '@preact/signals';

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const ABSOLUTE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

export function relativeTime(timestamp: string, now = Date.now()): string {
  const seconds = Math.round((Date.parse(timestamp) - now) / 1000);
  const [unit, size] = STEPS.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

const TICK_MS = 10_000;
/** Whoever reads it is drawn again as time goes by. */
const ticks = signal(0);
setInterval(() => {
  ticks.value++;
}, TICK_MS);

/** Relative, with the exact time for whoever points at it. */
export function Time({ at, none = '–' }: { at: string | null | undefined; none?: string }) {
  if (!at) return <span class="soft">{none}</span>;
  ticks.value;
  return (
    <time dateTime={at} title={ABSOLUTE.format(new Date(at))}>
      {relativeTime(at)}
    </time>
  );
}
