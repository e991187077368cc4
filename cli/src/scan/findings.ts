import { isAscii } from 'node:buffer';
import { type Confidence, detect, type Match } from '../../../detection/src/index.ts';
import { newlinesIn, type Piece } from './files.ts';

/** A leak, and where it is. The value is shown to nobody. */
export interface Finding {
  file: string;
  line: number;
  /** A key has several lines. */
  lastLine: number;
  column: number;
  kind: string;
  confidence: Confidence;
  /** At most four characters of it. */
  sample: string;
  commit: string | null;
  value: string;
  /** Secrets that have the value, as `vault/path`. */
  stored: string[];
}

/** A line with this mark is meant to be as it is. */
const ALLOWED = 'coffer:allow';
const SAMPLE_MAX = 4;

export function findingsIn({ file, bytes, line, commit }: Piece): Finding[] {
  const text = isAscii(bytes) ? bytes.toString('latin1') : bytes.toString('utf8');
  const findings: Finding[] = [];
  let counted = 0;
  let current = line;
  for (const match of detect(text, { file, isThorough: false })) {
    // They come in their order, so that each line is counted once.
    current += newlinesIn(text, counted, match.start);
    counted = match.start;
    const lineStart = match.start === 0 ? 0 : text.lastIndexOf('\n', match.start - 1) + 1;
    const lineEnd = text.indexOf('\n', match.start);
    if (text.slice(lineStart, lineEnd === -1 ? text.length : lineEnd).includes(ALLOWED)) continue;
    const lastLine = current + newlinesIn(text, match.start, match.end);
    const where = { file, line: current, lastLine, column: match.start - lineStart + 1, commit: commit ?? null };
    findings.push(findingOf(match, text.slice(match.start, match.end), where));
  }
  return findings;
}

/** Those that the former texts do not have: on a new line, or not found in any of them. */
export async function addedFindings(piece: Piece): Promise<Finding[]> {
  const findings = findingsIn(piece);
  if (piece.before === undefined || findings.length === 0) return findings;
  const former = await piece.before();
  const known = new Set(former.flatMap(linesOf));
  const lines = linesOf(piece.bytes);
  const isOnNewLine = ({ line, lastLine }: Finding) =>
    lines.slice(line - piece.line, lastLine - piece.line + 1).some((text) => !known.has(text));
  const isKnownValue = memoized(() => former.flatMap((bytes) => findingsIn({ ...piece, bytes, line: 1 })).map(keyOf));
  return findings.filter((finding) => isOnNewLine(finding) || !isKnownValue().has(keyOf(finding)));
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('latin1').split('\n');
}

function keyOf({ kind, value }: Finding): string {
  return `${kind}\0${value}`;
}

function memoized(compute: () => string[]): () => ReadonlySet<string> {
  let known: ReadonlySet<string> | undefined;
  return () => {
    known ??= new Set(compute());
    return known;
  };
}

function findingOf(
  { rule, confidence }: Match,
  value: string,
  where: Pick<Finding, 'file' | 'line' | 'lastLine' | 'column' | 'commit'>,
): Finding {
  return { ...where, kind: rule, confidence, sample: sampleOf(value), value, stored: [] };
}

/** Enough to find it on its line, and less of what is short. */
export function sampleOf(value: string): string {
  const characters = [...value];
  return `${characters.slice(0, Math.min(SAMPLE_MAX, Math.floor(characters.length / 5))).join('')}…`;
}
