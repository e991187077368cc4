import { DATABASE_NAMES, type DatabaseKind } from './installation.ts';
import { QUANTITIES, type Quantity, type Sample } from './sampling.ts';
import { type Point, robustLine } from './statistics.ts';
import { escapeXml } from './svg.ts';
import { afterWarmUp, pointsOf, THRESHOLDS, WARM_UP_SHARE } from './verdict.ts';

const COLUMNS = 2;
const CHART = { width: 560, height: 190, left: 62, right: 14, top: 34, bottom: 34 };
const GAP = 22;
const MARGIN = 24;
const HEAD = 74;
const TICKS = 4;
const COLOURS: Record<DatabaseKind, string> = { sqlite: '#0b6fa4', postgres: '#c8562b' };
const [INK, PALE, GRID, SHADE] = ['#26262a', '#74747c', '#e4e4e8', '#f3f1ea'];

export type Series = Partial<Record<DatabaseKind, Sample[]>>;

/** One small chart for each quantity, over time, with both databases in each. Axes begin at nought, so that growth shows in proportion. */
export function plot(title: string, series: Series): string {
  const quantities = Object.keys(QUANTITIES) as Quantity[];
  const rows = Math.ceil(quantities.length / COLUMNS);
  const width = 2 * MARGIN + COLUMNS * CHART.width + (COLUMNS - 1) * GAP;
  const height = HEAD + rows * (CHART.height + GAP) + MARGIN;
  const charts = quantities.map((quantity, i) => {
    const x = MARGIN + (i % COLUMNS) * (CHART.width + GAP);
    const y = HEAD + Math.floor(i / COLUMNS) * (CHART.height + GAP);
    return `<g transform="translate(${x} ${y})">\n${chart(quantity, series)}\n</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="11" fill="${INK}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="${MARGIN}" y="32" font-size="17" font-weight="bold">${escapeXml(title)}</text>`,
    ...legend(Object.keys(series) as DatabaseKind[]),
    ...charts,
    '</svg>',
    '',
  ].join('\n');
}

function legend(kinds: DatabaseKind[]): string[] {
  const items = kinds.map(
    (kind, i) =>
      `<line x1="${MARGIN + i * 110}" x2="${MARGIN + i * 110 + 22}" y1="51" y2="51" stroke="${COLOURS[kind]}" stroke-width="2.5"/>` +
      `<text x="${MARGIN + i * 110 + 28}" y="55">${DATABASE_NAMES[kind]}</text>`,
  );
  const after = MARGIN + kinds.length * 110;
  return [
    ...items,
    `<rect x="${after}" y="44" width="22" height="13" fill="${SHADE}" stroke="${GRID}"/><text x="${after + 28}" y="55">warm-up, not judged</text>`,
    `<line x1="${after + 160}" x2="${after + 186}" y1="51" y2="51" stroke="${INK}" stroke-width="1.5" stroke-dasharray="5 3"/><text x="${after + 192}" y="55">fitted line, where growth is judged</text>`,
  ];
}

interface Scale {
  x(seconds: number): number;
  y(value: number): number;
}

function chart(quantity: Quantity, series: Series): string {
  const kinds = (Object.keys(series) as DatabaseKind[]).map((kind) => ({ kind, samples: series[kind] ?? [] }));
  const all = kinds.flatMap(({ samples }) => pointsOf(samples, quantity));
  const end = Math.max(1, ...kinds.flatMap(({ samples }) => samples.map(({ seconds }) => seconds)));
  const step = tickStep(Math.max(0, ...all.map(({ value }) => value)) / TICKS);
  const top = step * Math.max(1, Math.ceil(Math.max(0, ...all.map(({ value }) => value)) / step));
  const [inner, tall] = [CHART.width - CHART.left - CHART.right, CHART.height - CHART.top - CHART.bottom];
  const scale: Scale = {
    x: (seconds) => round(CHART.left + (seconds / end) * inner),
    y: (value) => round(CHART.top + tall - (value / top) * tall),
  };
  const lines = kinds.flatMap(({ kind, samples }) => [
    curve(pointsOf(samples, quantity), kind, scale),
    ...(isJudged(quantity, kind) ? [fitted(pointsOf(afterWarmUp(samples), quantity), scale)] : []),
  ]);
  return [
    `<text x="0" y="14" font-size="13" font-weight="bold">${escapeXml(QUANTITIES[quantity])}</text>`,
    `<rect x="${CHART.left}" y="${CHART.top}" width="${round(inner * WARM_UP_SHARE)}" height="${tall}" fill="${SHADE}"/>`,
    ...valueAxis(top, step, scale),
    ...timeAxis(end, scale),
    ...(all.length === 0
      ? [`<text x="${CHART.left + 12}" y="${CHART.top + 20}" fill="${PALE}">nothing seen</text>`]
      : []),
    ...lines.filter((line) => line !== ''),
  ].join('\n');
}

function isJudged(quantity: Quantity, kind: DatabaseKind): boolean {
  return THRESHOLDS.some((one) => one.quantity === quantity && (one.only === undefined || one.only === kind));
}

function curve(points: Point[], kind: DatabaseKind, { x, y }: Scale): string {
  if (points.length === 0) return '';
  const path = points.map(({ at, value }) => `${x(at)},${y(value)}`).join(' ');
  return `<polyline fill="none" stroke="${COLOURS[kind]}" stroke-width="1.8" stroke-linejoin="round" points="${path}"/>`;
}

function fitted(points: Point[], { x, y }: Scale): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || first === last) return '';
  const { at } = robustLine(points);
  const ends = `x1="${x(first.at)}" x2="${x(last.at)}" y1="${y(at(first.at))}" y2="${y(at(last.at))}"`;
  return `<line ${ends} stroke="${INK}" stroke-width="1.3" stroke-dasharray="5 3"/>`;
}

function valueAxis(top: number, step: number, { y }: Scale): string[] {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return Array.from({ length: Math.round(top / step) + 1 }, (_, i) => {
    const value = i * step;
    const label = value.toLocaleString('en-GB', { maximumFractionDigits: digits, minimumFractionDigits: digits });
    return (
      `<line x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${y(value)}" y2="${y(value)}" stroke="${i === 0 ? PALE : GRID}"/>` +
      `<text x="${CHART.left - 7}" y="${round(y(value) + 4)}" text-anchor="end" fill="${PALE}">${label}</text>`
    );
  });
}

function timeAxis(end: number, { x }: Scale): string[] {
  const isShort = end < 120;
  const step = isShort ? tickStep(end / 6) : Math.max(1, tickStep(end / 60 / 6)) * 60;
  const y = CHART.height - CHART.bottom;
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
  return [
    ...ticks.map(
      (at) =>
        `<line x1="${x(at)}" x2="${x(at)}" y1="${y}" y2="${y + 4}" stroke="${PALE}"/>` +
        `<text x="${x(at)}" y="${y + 16}" text-anchor="middle" fill="${PALE}">${round(isShort ? at : at / 60)}</text>`,
    ),
    `<text x="${CHART.width - CHART.right}" y="${y + 29}" text-anchor="end" fill="${PALE}">${isShort ? 'seconds' : 'minutes'}</text>`,
  ];
}

/** The next of 1, 2 and 5 times a power of ten. */
export function tickStep(atLeast: number): number {
  if (!(atLeast > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return ([1, 2, 5, 10].find((times) => times * power >= atLeast * 0.999) ?? 10) * power;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
