import type { Frame } from './profile-times.ts';
import { escapeXml } from './svg.ts';

const WIDTH = 1600;
const MARGIN = 10;
const ROW = 18;
const HEAD = 64;
/** Below this a frame is a line that nobody could read or point at. */
const NARROWEST = 0.4;
const LETTER = 6.4;
const DEEPEST = 90;

const KINDS: [name: string, colour: string, isOf: RegExp][] = [
  ['garbage collector', '#d98cb3', /^garbage/],
  ['native, outside any function', '#c9c9c9', /^native/],
  ['native, called from JavaScript', '#b9a3d9', /\(native\)$/],
  ['Node', '#8fc78f', /^node:/],
  ['kernel', '#f0a35e', /^kernel/],
  ['features', '#f2cf63', /^(features|server)/],
  ['packages', '#86b8e0', /./],
];

interface Placed {
  frame: Frame;
  depth: number;
  from: number;
}

/** A flame graph: callers below, what they call above them, as wide as the time it took; times are for each request. */
export function flameGraph(root: Frame, { title, requests }: { title: string; requests: number }): string {
  const placed: Placed[] = [];
  const place = (frame: Frame, depth: number, from: number) => {
    if (depth > DEEPEST || width(frame, root) < NARROWEST) return;
    placed.push({ frame, depth, from });
    let at = from;
    for (const child of frame.children.toSorted((a, b) => b.total - a.total)) {
      place(child, depth + 1, at);
      at += width(child, root);
    }
  };
  place({ ...root, name: 'all', group: 'native', place: '' }, 0, MARGIN);
  const rows = placed.reduce((most, { depth }) => Math.max(most, depth), 0) + 1;
  const height = HEAD + rows * ROW + MARGIN;
  const boxes = placed.map(({ frame, depth, from }) => {
    const label = { micros: frame.total / requests, share: frame.total / root.total };
    return box(frame, from, height - MARGIN - (depth + 1) * ROW, width(frame, root), label);
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="10.5">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fffdf8"/>`,
    `<text x="${MARGIN}" y="24" font-size="15" font-weight="bold">${escapeXml(title)}</text>`,
    ...legend(),
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}

function width(frame: Frame, root: Frame): number {
  return root.total === 0 ? 0 : (frame.total / root.total) * (WIDTH - 2 * MARGIN);
}

function box(frame: Frame, x: number, y: number, w: number, { micros, share }: { micros: number; share: number }) {
  const where = frame.place === '' ? '' : ` (${frame.place})`;
  const title = `${frame.name}${where}\n${micros.toFixed(1)} µs a request, ${(share * 100).toFixed(1)} %\n${frame.group}`;
  const letters = Math.floor((w - 6) / LETTER);
  const full = `${frame.name} ${micros.toFixed(1)} µs`;
  const shown = full.length <= letters ? full : frame.name.length <= letters ? frame.name : cut(frame.name, letters);
  const text = shown === '' ? '' : `<text x="${round(x + 3)}" y="${y + ROW - 5.5}">${escapeXml(shown)}</text>`;
  const colour = KINDS.find(([, , isOf]) => isOf.test(frame.group))?.[1];
  return (
    `<g><title>${escapeXml(title)}</title>` +
    `<rect x="${round(x)}" y="${y}" width="${round(Math.max(w - 0.4, 0.3))}" height="${ROW - 1}" rx="1.5" fill="${colour}"/>${text}</g>`
  );
}

function cut(name: string, letters: number): string {
  return letters < 4 ? '' : `${name.slice(0, letters - 1)}…`;
}

function legend(): string[] {
  let x = MARGIN;
  return KINDS.map(([name, colour]) => {
    const item = `<rect x="${x}" y="38" width="12" height="12" rx="2" fill="${colour}"/><text x="${x + 17}" y="48">${name}</text>`;
    x += 40 + name.length * LETTER;
    return item;
  });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
