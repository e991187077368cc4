import { type Conditions, shownConditions } from './conditions.ts';

/** What was measured, as data; and the same as Markdown. */
export interface Column {
  key: string;
  heading: string;
  /** Digits after the point, for numbers. */
  digits?: number;
}

export type Cell = string | number | null;
export type Row = Record<string, Cell>;

export interface Table {
  name: string;
  title: string;
  columns: Column[];
  rows: Row[];
  notes: string[];
  /** Why the part failed. The command then ends with 1. */
  failures?: string[];
}

export interface PartResult {
  part: string;
  seconds: number;
  tables: Table[];
}

export interface Report extends Conditions {
  settings: Record<string, Cell>;
  parts: PartResult[];
}

export function markdownReport(report: Report): string {
  return ['# Measurements', '', headOf(report), '', ...report.parts.map(markdownPart)].join('\n');
}

export function headOf(report: Report): string {
  const given = Object.entries(report.settings).filter(([, value]) => value !== null);
  const chosen = given.map(([name, value]) => `${name} ${value}`);
  return `${shownConditions(report)} Settings: ${chosen.join(', ')}.`;
}

export function markdownPart({ part, seconds, tables }: PartResult): string {
  return [`## ${part} (${Math.round(seconds)} s)`, '', ...tables.map(markdownTable)].join('\n');
}

export function markdownTable({ title, columns, rows, notes }: Table): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    `### ${title}`,
    '',
    line(columns.map(({ heading }) => heading)),
    `|${columns.map(({ digits }) => (digits === undefined ? '---' : '---:')).join('|')}|`,
    ...rows.map((row) => line(columns.map((column) => shownCell(row[column.key] ?? null, column)))),
    '',
    ...notes.flatMap((note) => [note, '']),
  ].join('\n');
}

function shownCell(cell: Cell, { digits = 0 }: Column): string {
  if (cell === null || Number.isNaN(cell)) return '–';
  if (typeof cell === 'string') return cell.replaceAll('|', '\\|');
  return cell.toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
