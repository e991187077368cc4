import { escaped, printable } from './printable.ts';

export interface Column<T> {
  title: string;
  of(row: T): string | number | null | undefined;
  /** Cut first if the terminal is too narrow. */
  isFlexible?: boolean;
  /** At the right edge of its column. */
  isNumber?: boolean;
}

const GAP = '  ';
const FLEXIBLE_MIN = 12;

/** Whether colours are wanted: on a terminal, unless NO_COLOR says otherwise. */
function hasColours(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb';
}

const paint =
  (code: number) =>
  (text: string, stream: NodeJS.WriteStream = process.stdout) =>
    hasColours(stream) ? `\u001b[${code}m${text}\u001b[0m` : text;
export const bold = paint(1);
export const dim = paint(2);
export const red = paint(31);
export const green = paint(32);
export const yellow = paint(33);

/** For scripts: one JSON document. */
export function printJson(value: unknown): void {
  process.stdout.write(`${jsonText(value, 2)}\n`);
}

/** A terminal gets what it would obey escaped, which means the same in JSON. */
export function jsonText(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, indent);
  return process.stdout.isTTY === true ? escaped(text) : text;
}

/**
 * Values as they are. A terminal obeys control characters, which the author of a value may have placed on purpose, so there they are escaped, unless the reader
 * wants them.
 */
export function writeValue(text: string, instead: string, isRaw = false): void {
  const shown = process.stdout.isTTY === true && !isRaw ? escaped(text) : text;
  process.stdout.write(shown);
  if (shown !== text)
    note(`Control characters are shown as \\u escapes, because a terminal would obey them. ${instead}`);
}

export function print(text: string): void {
  process.stdout.write(`${printable(text)}\n`);
}

/** A line that does not fit the terminal is cut; elsewhere nothing is. */
export function inTerminal(line: string): string {
  const { isTTY, columns } = process.stdout;
  return isTTY === true && columns > 0 && line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}

/** For people: what happened, where standard output may belong to a script. */
export function note(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** A table that fits the terminal. Elsewhere nothing is cut. */
export function printTable<T>(rows: readonly T[], columns: readonly Column<NoInfer<T>>[], empty: string): void {
  if (rows.length === 0) {
    note(empty);
    return;
  }
  const cells = rows.map((row) => columns.map(({ of }) => printable(String(of(row) ?? '')).replaceAll(/[\n\t]/g, ' ')));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)));
  if (process.stdout.isTTY === true) fit(widths, columns, process.stdout.columns);
  const line = (texts: readonly string[]) =>
    texts
      .map((text, i) => padded(text, widths[i] ?? 0, columns[i]?.isNumber === true, i === columns.length - 1))
      .join(GAP)
      .trimEnd();
  process.stdout.write(`${bold(line(columns.map(({ title }) => title)))}\n`);
  for (const texts of cells) process.stdout.write(`${line(texts)}\n`);
}

/** Narrows the widest flexible columns until the line fits. */
function fit<T>(widths: number[], columns: readonly Column<T>[], available: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  while (total() > available) {
    const flexible = columns.flatMap(({ isFlexible }, i) => (isFlexible === true ? [i] : []));
    const widest = flexible.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (widest === undefined || (widths[widest] ?? 0) <= FLEXIBLE_MIN) return;
    widths[widest] = Math.max(FLEXIBLE_MIN, (widths[widest] ?? 0) - (total() - available));
  }
}

function padded(text: string, width: number, isNumber: boolean, isLast: boolean): string {
  const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
  if (isNumber) return cut.padStart(width);
  return isLast ? cut : cut.padEnd(width);
}

/** How long ago, or in how long, in the largest unit that fits, rounded as people do: a moment after "30 days" it is still in 30 days. */
export function ago(timestamp: string | null | undefined, now: number = Date.now()): string {
  if (timestamp == null) return '';
  const seconds = Math.round((now - Date.parse(timestamp)) / 1000);
  if (Math.abs(seconds) < 2) return 'just now';
  const [count, unit] = inUnit(Math.abs(seconds));
  const text = `${count} ${unit}${count === 1 ? '' : 's'}`;
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

function inUnit(seconds: number): [number, string] {
  const [minutes, hours] = [Math.round(seconds / 60), Math.round(seconds / 3_600)];
  if (seconds < 60) return [seconds, 'second'];
  if (minutes < 60) return [minutes, 'minute'];
  return hours < 24 ? [hours, 'hour'] : [Math.round(seconds / 86_400), 'day'];
}
