import { diffArrays } from 'diff';

export interface DifferenceLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
  /** Its number in the text it comes from. */
  line: number;
}

/** Texts that differ in more lines than these are shown one after the other: the shortest difference would take too long to find. */
const EDITS_MAX = 1000;

/** The lines that two texts have in common, and those that only one of them has, in order. */
export function lineDifference(before: string, after: string): DifferenceLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const parts = diffArrays(old, now, { maxEditLength: EDITS_MAX }) ?? [
    { removed: true, added: false, value: old },
    { removed: false, added: true, value: now },
  ];
  const lines: DifferenceLine[] = [];
  let [inOld, inNow] = [0, 0];
  for (const { added, removed, value } of parts) {
    for (const text of value) {
      if (removed) lines.push({ kind: 'removed', text, line: ++inOld });
      else lines.push({ kind: added ? 'added' : 'same', text, line: ++inNow });
      if (!removed && !added) inOld++;
    }
  }
  return lines;
}
