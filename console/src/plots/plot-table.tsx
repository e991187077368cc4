import { type Column, Table } from '../ui/table.tsx';
import { plotTexts as texts } from './texts.ts';

/** What a plot shows, for screen readers and everybody who would rather read numbers. */
export function PlotTable<T>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string | number;
}) {
  return (
    <details class="plot-table">
      <summary>{texts.asTable}</summary>
      <Table caption={caption} columns={columns} rows={rows} keyOf={keyOf} />
    </details>
  );
}
