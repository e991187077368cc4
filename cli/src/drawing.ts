/** Pictures made of characters: a row of bars, one bar, a tree, the line of a progress bar. Each is text and as wide as it is told, at most. */

const COLUMNS = '▁▂▃▄▅▆▇█';
const NOTHING = '·';
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const FULL = '█';

/** By what a count becomes a length. With `root` a length is the square root of its count, so that one large count does not flatten the others. */
export type Scale = 'linear' | 'root';

/** A count this many times above nearly all others would flatten them. */
const OUTLIER_FACTOR = 6;
const NEARLY_ALL = 0.9;

export function chooseScale(counts: readonly number[]): Scale {
  const sorted = counts.filter((count) => count > 0).toSorted((a, b) => a - b);
  const usual = sorted[Math.floor((sorted.length - 1) * NEARLY_ALL)] ?? 0;
  return (sorted.at(-1) ?? 0) > usual * OUTLIER_FACTOR ? 'root' : 'linear';
}

function share(count: number, max: number, scale: Scale): number {
  if (max <= 0 || count <= 0) return 0;
  const part = Math.min(1, count / max);
  return scale === 'root' ? Math.sqrt(part) : part;
}

/** One column for each count; if there is no room for all, the largest of neighbours stand for them. A count of zero is a dot. */
export function sparkline(counts: readonly number[], width: number, scale = chooseScale(counts)): string {
  const shown = narrowed(counts, Math.max(1, width));
  const max = Math.max(0, ...shown);
  return shown.map((count) => column(share(count, max, scale))).join('');
}

function column(part: number): string {
  if (part === 0) return NOTHING;
  return COLUMNS[Math.min(COLUMNS.length - 1, Math.max(0, Math.ceil(part * COLUMNS.length) - 1))] ?? '';
}

function narrowed(counts: readonly number[], width: number): number[] {
  if (counts.length <= width) return [...counts];
  return Array.from({ length: width }, (_, i) => {
    const [from, to] = [Math.floor((i * counts.length) / width), Math.floor(((i + 1) * counts.length) / width)];
    return Math.max(...counts.slice(from, to));
  });
}

/** What is more than nothing is at least an eighth of a character wide. */
export function bar(count: number, max: number, width: number, scale: Scale = 'linear'): string {
  const part = share(count, max, scale);
  if (part === 0 || width < 1) return '';
  const eighths = Math.max(1, Math.round(part * width * EIGHTHS.length));
  return FULL.repeat(Math.floor(eighths / EIGHTHS.length)) + EIGHTHS[eighths % EIGHTHS.length];
}

export interface Branch {
  text: string;
  branches?: readonly Branch[];
}

export function tree(branches: readonly Branch[], indent = ''): string[] {
  return branches.flatMap(({ text, branches: below = [] }, i) => {
    const isLast = i === branches.length - 1;
    return [`${indent}${isLast ? '└─ ' : '├─ '}${text}`, ...tree(below, `${indent}${isLast ? '   ' : '│  '}`)];
  });
}

/** How far something is. */
export interface Advance {
  title: string;
  /** What is counted, such as `rows`; `bytes` are written in larger units. */
  unit: string;
  done: number;
  /** Null if nobody knows it before the end. */
  total: number | null;
  elapsedMs: number;
}

const BAR_MIN = 8;
const BAR_MAX = 30;
/** Before this, a rate says little. */
const RATE_AFTER_MS = 1000;

/** One line: what is done, a bar if the end is known, the rate, and the time that is left. What does not fit is left out, the bar first. */
export function progressLine(advance: Advance, width: number): string {
  const { title, unit, done, total, elapsedMs } = advance;
  const rate = elapsedMs >= RATE_AFTER_MS ? done / (elapsedMs / 1000) : null;
  const inUnit = unit === 'bytes' ? '' : ` ${unit}`;
  const counted = total === null ? amount(unit, done) : `${amount(unit, done)} of ${amount(unit, total)}`;
  const left = rate !== null && rate > 0 && total !== null && done < total ? (total - done) / rate : null;
  const parts = [
    `${title}: ${counted}${inUnit}`,
    ...(rate === null ? [] : [`${amount(unit, rate)}/s`]),
    ...(left === null ? [] : [`${durationText(left)} left`]),
  ];
  const text = fitting(parts, width);
  const room = Math.min(BAR_MAX, width - text.length - 3);
  if (total === null || total <= 0 || room < BAR_MIN) return text;
  return `${text} ▕${bar(Math.min(done, total), total, room).padEnd(room)}▏`;
}

function fitting(parts: readonly string[], width: number): string {
  for (let count = parts.length; count > 1; count--) {
    const text = parts.slice(0, count).join(', ');
    if (text.length <= width) return text;
  }
  return String(parts[0]).slice(0, Math.max(0, width));
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function amount(unit: string, count: number): string {
  if (unit !== 'bytes') return grouped(Math.round(count));
  const power = count < 1024 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(count) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${BYTE_UNITS[power]}`;
}

/** 35222 as 35,222. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US', { maximumFractionDigits: 20 });
}

/** Rounded as people say it. */
export function durationText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.ceil(whole / 60)} min`;
  const minutes = Math.ceil(whole / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
