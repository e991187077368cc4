import { signal } from '@preact/signals';
import { relativeTime } from './relative-time.ts';

const ABSOLUTE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

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
