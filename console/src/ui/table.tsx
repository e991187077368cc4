import type { ComponentChildren } from 'preact';

export interface Column<T> {
  readonly title: string;
  /** What stands above the column in place of its title, which names it where columns are rows. */
  readonly head?: ComponentChildren;
  readonly cell: (row: T) => ComponentChildren;
  /** Buttons, at the end of the row. */
  readonly isActions?: boolean;
}

/** Where there is too little room for the columns, each row is a card whose cells are named by their columns. */
export function Table<T>({
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class="table-box" tabIndex={0} aria-label={caption}>
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, head, isActions }) => (
              <th key={title} scope="col">
                {isActions ? <span class="visually-hidden">{title}</span> : (head ?? title)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isActions }) => (
                <td key={title} class={isActions ? 'actions' : undefined} data-label={isActions ? undefined : title}>
                  <div class="cell">{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
