import { readFileSync, writeFileSync } from 'node:fs';
import { USUAL_CONNECTIONS } from './cases.ts';
import { headOf, markdownTable, type Report, type Row, type Table } from './report.ts';

export const SUMMARY_PAGE = 'docs/performance.md';
export type Command = 'bench' | 'soak';

/** Puts a summary on the page, in place of the one before. */
export function writeSummary(command: Command, text: string): void {
  writeFileSync(SUMMARY_PAGE, withSection(readFileSync(SUMMARY_PAGE, 'utf8'), command, text));
}

/** The page with this text between the marks of the command that writes it. */
export function withSection(page: string, command: Command, text: string): string {
  const [first, last] = [`<!-- npm run ${command} -- --summary writes this -->`, `<!-- end of ${command} -->`];
  const [begin, end] = [page.indexOf(first), page.indexOf(last)];
  if (begin === -1 || end < begin) throw new Error(`the page has no place for a summary of ${command}`);
  return `${page.slice(0, begin)}${first}\n\n${text.trim()}\n\n${page.slice(end)}`;
}

export function benchSummary(report: Report): string {
  const tables = report.parts.flatMap(({ tables: all }) => all.map(shortened));
  const head = `## Measured on ${report.date.slice(0, 10)}\n\n${headOf(report)}`;
  return [head, ...tables.map((table) => markdownTable(table).trim())].join('\n\n');
}

/** Tables with several numbers of connections have one line for each subject, with them side by side. */
function shortened(table: Table): Table {
  if (!table.columns.some(({ key }) => key === 'connections')) return table;
  const counts = [...new Set(table.rows.map(({ connections }) => Number(connections)))];
  const lines = Map.groupBy(table.rows, ({ request, subject }) => JSON.stringify([request, subject]));
  const each = (key: string, heading: string, most: number, at = counts) => {
    const column = table.columns.find((one) => one.key === key);
    if (column === undefined) return [];
    const digits = Math.min(most, column.digits ?? 0);
    return at.map((count) => ({ key: `${key} ${count}`, heading: `${heading}, ${count}`, digits }));
  };
  return {
    ...table,
    columns: [
      { key: 'request', heading: 'request' },
      { key: 'subject', heading: 'subject' },
      ...each('perSecond', 'requests/s', 1),
      ...each('ratio', 'ratio', 3),
      ...each('p99Ms', 'p99 ms', 1),
      ...each('cpuMicros', 'processor µs', 0, [USUAL_CONNECTIONS]),
    ],
    rows: [...lines.values()].map(sideBySide),
    notes: [...table.notes, ...(counts.length > 1 ? ['The number after the comma is that of connections.'] : [])],
  };
}

function sideBySide(rows: Row[]): Row {
  const line: Row = { request: rows[0]?.['request'] ?? null, subject: rows[0]?.['subject'] ?? null };
  for (const { connections, ...row } of rows) {
    for (const [key, cell] of Object.entries(row)) if (typeof cell === 'number') line[`${key} ${connections}`] = cell;
  }
  return line;
}
