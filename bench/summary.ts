import { headOf, markdownTable, type Report, type Row, type Table } from './report.ts';

const BEGIN = '<!-- summary: written by npm run bench -- --summary -->';
const END = '<!-- end of summary -->';

/** The page with the summary of this report between its marks, in place of the one before. */
export function withSummary(page: string, report: Report): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error('the page has no place for a summary');
  return `${page.slice(0, begin)}${BEGIN}\n\n${summaryOf(report)}\n${page.slice(end)}`;
}

function summaryOf(report: Report): string {
  const tables = report.parts.flatMap(({ tables: all }) => all.map(shortened));
  const head = `## Measured on ${report.date.slice(0, 10)}\n\n${headOf(report)}`;
  return `${[head, ...tables.map((table) => markdownTable(table).trimEnd())].join('\n\n')}\n`;
}

/** Tables with several numbers of connections have one line for each subject, with them side by side. */
function shortened(table: Table): Table {
  const { rows } = table;
  const counts = [...new Set(rows.map(({ connections }) => Number(connections)))].filter(Number.isFinite);
  const isByLoad = table.columns.some(({ key }) => key === 'connections');
  if (!isByLoad) return table;
  const lines = Map.groupBy(rows, ({ request, subject }) => JSON.stringify([request, subject]));
  const hasRatio = table.columns.some(({ key }) => key === 'ratio');
  const digits = table.columns.find(({ key }) => key === 'perSecond')?.digits ?? 0;
  const each = (key: string, heading: string, places: number) =>
    counts.map((count) => ({ key: `${key} ${count}`, heading: `${heading}, ${count}`, digits: places }));
  return {
    ...table,
    columns: [
      { key: 'request', heading: 'request' },
      { key: 'subject', heading: 'subject' },
      ...each('perSecond', 'requests/s', digits),
      ...(hasRatio ? each('ratio', 'ratio', 3) : []),
      ...each('p99Ms', 'p99 ms', 1),
      { key: 'cpuMicros', heading: 'processor µs', digits: 0 },
    ],
    rows: [...lines.values()].map((same) => sideBySide(same)),
    notes: [...table.notes, ...(counts.length > 1 ? ['The number after the comma is that of connections.'] : [])],
  };
}

/** Processor time is that of the middle number of connections. */
function sideBySide(rows: Row[]): Row {
  const [first] = rows;
  const middle = rows[Math.floor((rows.length - 1) / 2)];
  const line: Row = {
    request: first?.['request'] ?? null,
    subject: first?.['subject'] ?? null,
    cpuMicros: middle?.['cpuMicros'] ?? null,
  };
  for (const row of rows) {
    for (const key of ['perSecond', 'ratio', 'p99Ms']) line[`${key} ${row['connections']}`] = row[key] ?? null;
  }
  return line;
}
