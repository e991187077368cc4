import { type KnownNumbers, type ListedNumbers, listedNumbers, type Unlinked } from './node-segments.ts';

/** The position of a segment as its node declares it. */
export type NumberedSegment = Pick<Unlinked, 'id' | 'node_id' | 'node_no' | 'voids'>;

export interface Sorted<S> {
  /** In the order in which they are linked. */
  linkable: S[];
  /** Copies of segments that are already linked. */
  repeated: S[];
  /** The last number of each node that is linked or void. */
  linkedNo: Map<string, number>;
  /** Numbers whose segments were committed and are gone. */
  missing: Gap[];
  /** Numbers that linking waits for: as far as anybody knows, they may still be committed. The id of their segment is null if only its node knows it. */
  open: OpenNumber[];
}

export interface Gap {
  node: string;
  from: number;
  to: number;
}

export interface OpenNumber {
  node: string;
  no: number;
  id: string | null;
}

/** What this node knew of its own numbers before the segments were read. */
export interface OwnNumbers extends KnownNumbers {
  nodeId: string;
  /** Whether all of its segments were read. Otherwise one that was not may list a number as void. */
  isComplete: boolean;
}

interface OfNode<S> {
  node: string;
  /** By number. */
  segments: { segment: S; no: number; open: ReadonlyMap<number, string> }[];
  voids: ReadonlySet<number>;
  /** All numbers that a segment lists, sorted. */
  listed: number[];
}

/**
 * Selects the segments that can be linked now: those of each node without a gap, except for numbers that were rolled back. No clock decides about a
 * gap: a number that was open when each later segment was signed may still be committed, and any other was committed and is gone.
 */
export function sortSegments<S extends NumberedSegment>(
  segments: readonly S[],
  linkedBefore: ReadonlyMap<string, number>,
  own: OwnNumbers,
): Sorted<S> {
  const sorted: Sorted<S> = { linkable: [], repeated: [], linkedNo: new Map(), missing: [], open: [] };
  for (const [node, group] of Map.groupBy(segments, ({ node_id }) => node_id ?? '')) {
    const ofNode = byNumber(node, group);
    const before = linkedBefore.get(node) ?? 0;
    let last = before;
    for (const { segment, no } of ofNode.segments) {
      if (no <= last) {
        sorted.repeated.push(segment);
        continue;
      }
      last = passGap(sorted, ofNode, { last, no }, own);
      if (last + 1 < no) {
        sorted.open.push(...openNumbers(ofNode, last, own));
        break;
      }
      last = no;
      sorted.linkable.push(segment);
    }
    if (last > before) sorted.linkedNo.set(node, last);
  }
  sorted.linkable.sort((a, b) => (a.id < b.id ? -1 : 1));
  return sorted;
}

function byNumber<S extends NumberedSegment>(node: string, group: readonly S[]): OfNode<S> {
  const voids = new Set<number>();
  const listed = new Set<number>();
  const segments = group.map((segment) => {
    const numbers: ListedNumbers = listedNumbers(segment);
    for (const no of numbers.voids) voids.add(no);
    const open = new Map(numbers.open);
    for (const no of [...numbers.voids, ...open.keys()]) listed.add(no);
    return { segment, no: Number(segment.node_no), open };
  });
  segments.sort((a, b) => a.no - b.no);
  return { node, segments, voids, listed: [...listed].sort((a, b) => a - b) };
}

/** Returns the last number before `no` that is linked, void or missing; less than `no - 1` if linking waits for the one after it. */
function passGap<S>(
  sorted: Sorted<S>,
  ofNode: OfNode<S>,
  { last, no }: { last: number; no: number },
  own: OwnNumbers,
): number {
  const { node, voids } = ofNode;
  let passed = last;
  const miss = (to: number) => {
    if (passed < to) addGap(sorted.missing, { node, from: passed + 1, to });
  };
  for (const number of notedNumbers(ofNode, own)) {
    if (number <= passed || number >= no) continue;
    if (!voids.has(number) && isOpen(ofNode, number, own)) {
      miss(number - 1);
      return number - 1;
    }
    if (voids.has(number)) miss(number - 1);
    else miss(number);
    passed = number;
  }
  miss(no - 1);
  return no - 1;
}

/** All numbers after this one that are waited for, so that none waits for the others before it is given up. */
function openNumbers<S>(ofNode: OfNode<S>, after: number, own: OwnNumbers): OpenNumber[] {
  const { node, segments, voids } = ofNode;
  const present = new Set(segments.map(({ no }) => no));
  const latest = segments.at(-1)?.no ?? 0;
  return notedNumbers(ofNode, own)
    .filter((no) => no > after && no < latest && !voids.has(no) && !present.has(no) && isOpen(ofNode, no, own))
    .map((no) => ({ node, no, id: idOf(ofNode, no) }));
}

/** The numbers about which something is said, sorted. */
function notedNumbers<S>({ node, listed }: OfNode<S>, own: OwnNumbers): number[] {
  return node === own.nodeId ? [...new Set([...listed, ...own.unsettled])].sort((a, b) => a - b) : listed;
}

/**
 * This node knows its own numbers, except for those that it gave out while the segments were read. Of these, and of another node's, each later segment
 * says whether the number was open when it was signed.
 */
function isOpen<S>({ node, segments }: OfNode<S>, number: number, own: OwnNumbers): boolean {
  if (node === own.nodeId && own.isComplete && number <= own.last) return own.unsettled.has(number);
  return segments.every(({ no, open }) => no < number || open.has(number));
}

function idOf<S>({ segments }: OfNode<S>, number: number): string | null {
  return segments.find(({ open }) => open.has(number))?.open.get(number) ?? null;
}

function addGap(gaps: Gap[], gap: Gap): void {
  const before = gaps.at(-1);
  if (before?.node === gap.node && before.to === gap.from - 1) before.to = gap.to;
  else gaps.push(gap);
}
