export interface DifferenceLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
  /** Its number in the text it comes from. */
  line: number;
}

/** Above this the table of the comparison would take too long: then everything between the equal ends counts as replaced. */
const CELLS_MAX = 4_000_000;

/** The lines that two texts have in common, and those that only one of them has, in order. */
export function lineDifference(before: string, after: string): DifferenceLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const start = commonLength(old, now);
  const end = Math.min(commonLength(old.toReversed(), now.toReversed()), Math.min(old.length, now.length) - start);
  const same = (from: number, to: number) =>
    now.slice(from, to).map((text, i) => ({ kind: 'same' as const, text, line: from + i + 1 }));
  return [
    ...same(0, start),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end), start),
    ...same(now.length - end, now.length),
  ];
}

function middle(old: readonly string[], now: readonly string[], offset: number): DifferenceLine[] {
  const removed = (i: number): DifferenceLine => ({ kind: 'removed', text: old[i] ?? '', line: offset + i + 1 });
  const added = (j: number): DifferenceLine => ({ kind: 'added', text: now[j] ?? '', line: offset + j + 1 });
  if (old.length * now.length > CELLS_MAX) return [...old.keys().map(removed), ...now.keys().map(added)];
  // lengths[i][j]: how many lines the rests from i and j have in common.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    const row = lengths[i] as Uint32Array;
    for (let j = now.length - 1; j >= 0; j--)
      row[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: DifferenceLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: 'same', text: now[j] ?? '', line: offset + ++j });
      i++;
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) lines.push(removed(i++));
    else lines.push(added(j++));
  }
  return lines;
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}
