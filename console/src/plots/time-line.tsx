/** Something that happened, or will, at a time. */
export interface Moment {
  readonly at: number;
  readonly text: string;
  readonly kind: 'past' | 'now' | 'next';
}

const WIDTH = 1000;
const MARGIN = 40;
/** Names closer than this would cover each other. */
const NAME_DISTANCE = 80;

/** Moments on a line of time. It is drawn beside a table that has all of them, so screen readers leave it out. */
export function TimeLine({ moments }: { moments: readonly Moment[] }) {
  const sorted = moments.toSorted((a, b) => a.at - b.at);
  const [first, last] = [sorted[0]?.at ?? 0, sorted.at(-1)?.at ?? 0];
  const x = (at: number) => MARGIN + ((at - first) / Math.max(1, last - first)) * (WIDTH - 2 * MARGIN);
  const named = namedOf(sorted, x);
  const line = sorted.filter(({ kind }) => kind !== 'next').at(-1);
  return (
    <svg class="time-line" viewBox={`0 0 ${WIDTH} 48`} aria-hidden="true">
      <path class="time-line-all" d={`M${MARGIN / 2} 16H${WIDTH - MARGIN / 2}`} />
      {line === undefined ? null : <path class="time-line-past" d={`M${x(first)} 16H${x(line.at)}`} />}
      {sorted.map(({ at, text, kind }) => (
        <g key={text} class={`moment ${kind}`}>
          <circle cx={x(at)} cy="16" r={kind === 'next' ? 5 : 7} />
          {named.has(text) ? (
            <text x={x(at)} y="42" text-anchor="middle">
              {text}
            </text>
          ) : null}
        </g>
      ))}
    </svg>
  );
}

/** The newest is named first, and then whatever has room beside the names that are there. */
function namedOf(moments: readonly Moment[], x: (at: number) => number): ReadonlySet<string> {
  const named: Moment[] = [];
  for (const moment of moments.toReversed()) {
    if (named.every((other) => Math.abs(x(other.at) - x(moment.at)) >= NAME_DISTANCE)) named.push(moment);
  }
  return new Set(named.map(({ text }) => text));
}
