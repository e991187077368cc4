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

/** A line of a text, and whether findings on it are left out. */
interface Line {
  start: number;
  end: number;
  isAllowed: boolean;
}

function lineAt(text: string, position: number): Line {
  const start = position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1;
  const newline = text.indexOf('\n', position);
  const end = newline === -1 ? text.length : newline;
  return { start, end, isAllowed: text.slice(start, end).includes(ALLOWED) };
}

export function findingsIn({ file, bytes, line, column, commit }: Piece): Finding[] {
  const text = isAscii(bytes) ? bytes.toString('latin1') : bytes.toString('utf8');
  const findings: Finding[] = [];
  let current = line;
  let newline = text.indexOf('\n');
  let found: Line | null = null;
  for (const match of detect(text, { file, isThorough: false })) {
    // They come in their order, so that each line is counted once.
    for (; newline !== -1 && newline < match.start; newline = text.indexOf('\n', newline + 1)) current++;
    // A file of one line may have thousands of them, so its line is read once.
    if (found === null || match.start > found.end) found = lineAt(text, match.start);
    if (found.isAllowed) continue;
    const value = text.slice(match.start, match.end);
    const lastLine = current + newlinesIn(value, 0, value.length);
    const before = found.start === 0 ? column : 0;
    const where = {
      file,
      line: current,
      lastLine,
      column: before + match.start - found.start + 1,
      commit: commit ?? null,
    };
    findings.push(findingOf(match, value, where));
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
  const isKnownValue = memoized(() =>
    former.flatMap((bytes) => findingsIn({ ...piece, bytes, line: 1, column: 0 })).map(keyOf),
  );
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
