import type { ComponentChildren } from 'preact';
import { shareOf } from './scale.ts';
import { plotTexts as texts } from './texts.ts';

/** Names with a bar each, the largest first. */
export function Rank<T extends { readonly count: number }>({
  rows,
  keyOf,
  children,
}: {
  rows: readonly T[];
  keyOf: (row: T) => string;
  children: (row: T) => ComponentChildren;
}) {
  const max = Math.max(0, ...rows.map(({ count }) => count));
  return (
    <ol class="rank">
      {rows.map((row) => (
        <li key={keyOf(row)}>
          <div class="row between">
            <span class="breakable">{children(row)}</span>
            <strong>{texts.number(row.count)}</strong>
          </div>
          <svg class="rank-bar" aria-hidden="true">
            <rect class="rank-whole" width="100%" height="4" rx="2" />
            <rect class="rank-part" width={`${shareOf(row.count, max) * 100}%`} height="4" rx="2" />
          </svg>
        </li>
      ))}
    </ol>
  );
}
