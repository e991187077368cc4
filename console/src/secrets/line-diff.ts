import { diffArrays } from 'diff';

export interface DiffLine {
  /** A run of equal lines that is left out stands as one line of kind `omitted`, with their number. */
  readonly kind: 'same' | 'added' | 'removed' | 'omitted';
  readonly text: string;
}

/** Texts that differ in more lines than these are shown one after the other: the shortest difference would take too long to find. */
const EDITS_MAX = 2000;
/** More equal lines than these between two changes are left out, except those next to a change. */
const EQUAL_MAX = 200;
const CONTEXT = 3;

/** The lines that two texts share, and those that only one of them has. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const parts = diffArrays(old, now, { maxEditLength: EDITS_MAX });
  if (parts === undefined) return [...linesOf('removed', old), ...linesOf('added', now)];
  return parts.flatMap(({ added, removed, value }) =>
    added ? linesOf('added', value) : removed ? linesOf('removed', value) : shortened(value),
  );
}

function linesOf(kind: DiffLine['kind'], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text: withVisibleEnd(text) }));
}

/** Otherwise two texts that differ in their line endings alone would look the same. */
function withVisibleEnd(text: string): string {
  return text.endsWith('\r') ? `${text.slice(0, -1)}␍` : text;
}

function shortened(lines: readonly string[]): DiffLine[] {
  if (lines.length <= EQUAL_MAX) return linesOf('same', lines);
  return [
    ...linesOf('same', lines.slice(0, CONTEXT)),
    { kind: 'omitted', text: String(lines.length - 2 * CONTEXT) },
    ...linesOf('same', lines.slice(-CONTEXT)),
  ];
}
