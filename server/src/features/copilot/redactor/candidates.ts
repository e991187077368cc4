import {
  decodedRuns,
  NextMatch,
  originOf,
  type Quoting,
  quotedRuns,
  startOfTrailing,
  UNFOLDINGS,
} from '../../../../../detection/src/index.ts';

/** A part of a text that may be a stored value. */
export interface Candidate {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** A shorter value is also a word, a number or a port, which would be masked wherever it stands. */
export const STORED_LENGTH_MIN = 6;
/** Values with spaces are found if they have no more words than this, are quoted, or are a line or block of their own. */
const WORDS_MAX = 5;
const LINE_LENGTH_MAX = 4096;
const CANDIDATES_PER_STEP = 100;

const WORD = /\S+/g;
const PIECE = /[^\s"'`()<>[\]{},;|]+/g;
const VALUE_PIECE = /[^\s"'`()<>[\]{},;|=:&?@#]+/g;
const QUOTED: readonly Quoting[] = ['"', "'", '`'].map((quote) => ({
  quote,
  isEscaping: quote !== '`',
  isOneLine: false,
}));
const LINE = /[^\n]+/g;
const AFTER_SIGN = /^[^:=\n]{0,200}?[:=]>?[ \t]*/;
const FENCED = /```[^\n]{0,40}\n([\s\S]{6,20000}?)\n?```/g;
const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{3,40}-----/g;
const PEM_END = /-----END [A-Z0-9 ]{3,40}-----/g;
const PEM_BODY_MAX = 20_000;
const PARAGRAPH = /\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*/g;
const SENTENCE_END = '.,;:!?';
const withoutSentenceEnd = (text: string) => text.slice(0, startOfTrailing(text, SENTENCE_END));

function* pemBlocks(text: string): Generator<{ start: number; end: number }> {
  const ends = new NextMatch(text, PEM_END);
  let after = 0;
  for (const { index: start, 0: begin } of text.matchAll(PEM_BEGIN)) {
    if (start < after) continue;
    const bodyStart = start + begin.length;
    const end = ends.from(bodyStart + 1);
    if (end === null) return;
    if (end.index - bodyStart > PEM_BODY_MAX) continue;
    after = end.index + end[0].length;
    yield { start, end: after };
  }
}

/** Everything that may have been pasted from a vault, as it stands and as it reads once decoded. */
export function* candidateSteps(text: string): Generator<void, Candidate[]> {
  const candidates: Candidate[] = [];
  for (const candidate of plainCandidates(text)) {
    candidates.push(candidate);
    if (candidates.length % CANDIDATES_PER_STEP === 0) yield;
  }
  yield;
  for (const unfold of UNFOLDINGS) {
    const unfolded = unfold(text);
    if (unfolded === null) continue;
    for (const { start, end, value } of plainCandidates(unfolded.text)) {
      candidates.push({ ...originOf(unfolded, start, end), value });
      if (candidates.length % CANDIDATES_PER_STEP === 0) yield;
    }
    yield;
  }
  for (const { start, end, text: plain } of decodedRuns(text)) {
    candidates.push({ start, end, value: plain }, { start, end, value: plain.trim() });
    for (const { value } of plainCandidates(plain)) candidates.push({ start, end, value });
    yield;
  }
  return candidates.filter(({ value }) => value.length >= STORED_LENGTH_MIN);
}

function* plainCandidates(text: string): Generator<Candidate> {
  yield* wordRuns(text);
  for (const form of [PIECE, VALUE_PIECE]) {
    for (const match of text.matchAll(form)) {
      yield candidate(match.index, match[0]);
      yield candidate(match.index, withoutSentenceEnd(match[0]));
    }
  }
  for (const { start, end } of quotedRuns(text, QUOTED, { min: STORED_LENGTH_MIN, max: LINE_LENGTH_MAX }))
    yield candidate(start + 1, text.slice(start + 1, end - 1));
  for (const match of text.matchAll(LINE)) {
    if (match[0].length > LINE_LENGTH_MAX) continue;
    const [sign = ''] = AFTER_SIGN.exec(match[0]) ?? [];
    yield trimmed(match.index, match[0]);
    yield trimmed(match.index + sign.length, match[0].slice(sign.length));
  }
  for (const match of text.matchAll(FENCED)) yield* block(match.index + match[0].indexOf('\n') + 1, match[1] ?? '');
  for (const { start, end } of pemBlocks(text)) yield* block(start, text.slice(start, end));
  for (const match of text.matchAll(PARAGRAPH)) if (match[0].includes('\n')) yield* block(match.index, match[0]);
  const [open, close] = [text.indexOf('{'), text.lastIndexOf('}')];
  if (open !== -1 && close > open) yield* block(open, text.slice(open, close + 1));
  yield* block(0, text);
}

/** One to five neighbouring words of a line, as a passphrase has them. */
function* wordRuns(text: string): Generator<Candidate> {
  const words = [...text.matchAll(WORD)].map((match) => ({ start: match.index, end: match.index + match[0].length }));
  for (const [at, { start }] of words.entries()) {
    for (let count = 1; count <= WORDS_MAX; count++) {
      const last = words[at + count - 1];
      if (last === undefined) break;
      const run = text.slice(start, last.end);
      if (run.includes('\n')) break;
      yield candidate(start, run);
      const bare = withoutSentenceEnd(run);
      if (bare !== run) yield candidate(start, bare);
    }
  }
}

/** A block of lines, with and without the line end that files have. */
function* block(start: number, text: string): Generator<Candidate> {
  const lead = text.length - text.trimStart().length;
  const bare = text.trim();
  yield { start: start + lead, end: start + lead + bare.length, value: bare };
  yield { start: start + lead, end: start + lead + bare.length, value: `${bare}\n` };
  yield { start, end: start + text.length, value: text };
}

function candidate(start: number, value: string): Candidate {
  return { start, end: start + value.length, value };
}

function trimmed(start: number, text: string): Candidate {
  const lead = text.length - text.trimStart().length;
  return candidate(start + lead, text.trim());
}
