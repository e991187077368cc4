import { assignmentMatches } from './assignments.ts';
import { privateKeyRuns } from './binary-keys.ts';
import { contextOf, type FileContext } from './context.ts';
import { decodedRuns } from './encoded-runs.ts';
import { formatsIn } from './formats.ts';
import { privateKeys, publicBlocks } from './key-blocks.ts';
import { fileMatches } from './known-files.ts';
import { kubernetesMatches } from './kubernetes.ts';
import type { Match, SecretKind } from './match.ts';
import { RANDOM_LENGTH_MIN, randomIn } from './random-text.ts';
import { structureMatches } from './structures.ts';
import {
  joined,
  originOf,
  percentDecoded,
  type Unfold,
  unescaped,
  withoutInvisible,
  withoutNumericEscapes,
} from './unfolding.ts';

/** Text that was encoded more often than this is not searched. */
const DEPTH_MAX = 3;
const RUN_LENGTH_MIN = 16;
/** Characters between two steps. */
const STEP_LENGTH = 65_536;

/** Every way in which a text can be read besides as it stands. */
export const UNFOLDINGS: readonly Unfold[] = [withoutInvisible, unescaped, percentDecoded, joined];
/** Those that hide something. */
const QUICK_UNFOLDINGS: readonly Unfold[] = [withoutNumericEscapes, percentDecoded, joined];
/** How much of what is around an encoded part is searched with it. */
const REACH = 256;

/** How a text is searched. */
export interface Reading<Kind extends string = SecretKind> {
  /** The name of the file, for what it says about the text; null for a text that is in none. */
  readonly file: string | null;
  /** Whether encodings are removed one inside the other, and all of the text is read again. Otherwise one is, where it hides something. */
  readonly isThorough: boolean;
  /** What else the caller searches for, in each reading of the text. */
  readonly rules?: readonly ((text: string) => Match<Kind>[])[];
}

/**
 * Everything in a text that looks like a secret, with how sure that is: in the text itself, and in what is encoded or put together in it. They may
 * overlap. Work is done in steps, so that others have their turn between them.
 */
export function* detectSteps<Kind extends string = SecretKind>(
  text: string,
  { file, isThorough, rules = [] }: Reading<Kind>,
): Generator<void, Match<Kind | SecretKind>[]> {
  return yield* found({ text, file: contextOf(file), isThorough, rules }, isThorough ? 0 : DEPTH_MAX - 1);
}

interface Part<Kind extends string> {
  text: string;
  file: FileContext;
  isThorough: boolean;
  rules: readonly ((text: string) => Match<Kind>[])[];
}

function* found<Kind extends string>(part: Part<Kind>, depth: number): Generator<void, Match<Kind | SecretKind>[]> {
  const { text, file, isThorough, rules } = part;
  const matches: Match<Kind | SecretKind>[] = yield* asItStands(text, file);
  for (const rule of rules) {
    for (const match of rule(text)) matches.push(match);
    yield;
  }
  if (depth >= DEPTH_MAX) return matches;
  // A reading that leaves out what is far from an encoded part may show a certificate without its first line.
  const isPublic = publicBlocks(text);
  for (const unfold of isThorough ? UNFOLDINGS : QUICK_UNFOLDINGS) {
    const unfolded = unfold(text, isThorough ? Number.POSITIVE_INFINITY : REACH);
    if (unfolded === null) continue;
    // The deeper, the fewer ways are combined. The depth grows with every step, or a text that is encoded many times over would never end.
    const next = Math.max(depth + 1, unfold === joined || depth > 0 ? DEPTH_MAX - 1 : 0);
    for (const match of yield* found({ ...part, text: unfolded.text }, next)) {
      const origin = originOf(unfolded, match.start, match.end);
      if (match.confidence === 'high' || !isPublic(origin.start)) matches.push({ ...match, ...origin });
    }
  }
  for (const run of decodedRuns(text)) {
    const inside = yield* found({ ...part, text: run.text, file: contextOf(null) }, depth + 1);
    const [best] = inside.toSorted(bySureness);
    if (best !== undefined) matches.push({ ...best, start: run.start, end: run.end });
  }
  return matches;
}

const CONFIDENCE_ORDER = { high: 0, medium: 1, low: 2, possible: 3 } as const;
const bySureness = (a: Match<string>, b: Match<string>) =>
  CONFIDENCE_ORDER[a.confidence] - CONFIDENCE_ORDER[b.confidence];

function* asItStands(text: string, file: FileContext): Generator<void, Match[]> {
  const isPublic = publicBlocks(text);
  const matches = privateKeys(text);
  for (const match of privateKeyRuns(text)) matches.push(match);
  yield;
  for (const match of yield* runMatches(text, file, isPublic)) matches.push(match);
  for (const match of yield* structureMatches(text, isPublic)) matches.push(match);
  for (const match of yield* assignmentMatches(text, file, isPublic)) matches.push(match);
  for (const match of fileMatches(text, file)) matches.push(match);
  for (const match of kubernetesMatches(text)) matches.push(match);
  return matches;
}

const IN_RUN = new Uint8Array(128);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-.=~')
  IN_RUN[character.charCodeAt(0)] = 1;

const BACKSLASH = 92;

/** What is found in one run of characters without a space or quote. */
function* runMatches(
  text: string,
  { hasDigests }: FileContext,
  isPublic: (at: number) => boolean,
): Generator<void, Match[]> {
  const matches: Match[] = [];
  let start = 0;
  let stepEnd = STEP_LENGTH;
  for (let at = 0; at <= text.length; at++) {
    // Beyond the end there is no number, and beyond ASCII no entry.
    if (IN_RUN[text.charCodeAt(at)] === 1) continue;
    if (at - start >= RUN_LENGTH_MIN) {
      // The letter of an escape such as that of a line end does not belong to what follows.
      if (text.charCodeAt(start - 1) === BACKSLASH && 'nrt'.includes(text.charAt(start))) start++;
      for (const match of formatsIn(text, start, at)) matches.push(match);
      const random = at - start < RANDOM_LENGTH_MIN || hasDigests ? null : randomIn(text, start, at);
      if (random !== null && !isPublic(random.start)) matches.push(random);
    }
    start = at + 1;
    if (at < stepEnd) continue;
    stepEnd = at + STEP_LENGTH;
    yield;
  }
  return matches;
}
