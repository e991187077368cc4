import { createHash } from 'node:crypto';
import { filePieces, newlinesIn, type Tally } from '../../cli/src/scan/files.ts';
import { findingsIn } from '../../cli/src/scan/findings.ts';
import { isAtLeast } from '../../detection/src/index.ts';
import { CREDENTIAL_KINDS } from '../../server/src/features/copilot/redactor/finding.ts';
import { scan } from '../../server/src/features/copilot/redactor/scan.ts';

const BYTES_MAX = 10 * 1024 * 1024;
const PROSE = /\.(?:md|mdx|rst|txt|adoc)$/i;
const PARAGRAPH_LENGTH_MIN = 40;
const PARAGRAPH_LENGTH_MAX = 8000;
const PARAGRAPHS_MAX = 20_000;

/** What is found in the code and documentation of others, where hardly anything is a secret. */
export interface CleanScore {
  readonly lines: number;
  readonly findings: number;
  readonly byRule: ReadonlyMap<string, number>;
  readonly places: readonly string[];
  readonly paragraphs: number;
  /** Paragraphs in which the redactor masks a credential, and those in which it masks personal data or an address. */
  readonly touched: { readonly credentials: number; readonly others: number };
  readonly examples: readonly string[];
}

export function scoreCleanTree(folder: string): CleanScore {
  const tally: Tally = { files: 0, bytes: 0, skipped: [] };
  const byRule = new Map<string, number>();
  const places: string[] = [];
  const paragraphs: string[] = [];
  let lines = 0;
  for (const piece of filePieces([folder], BYTES_MAX, tally)) {
    lines += newlinesIn(piece.bytes, 0, piece.bytes.length);
    for (const { kind, confidence, file, line, value } of findingsIn(piece)) {
      if (!isAtLeast(confidence, 'medium')) continue;
      byRule.set(kind, (byRule.get(kind) ?? 0) + 1);
      places.push(`${kind} ${file}:${line} ${value.slice(0, 60).replaceAll('\n', '⏎')}`);
    }
    if (PROSE.test(piece.file)) paragraphs.push(...paragraphsOf(piece.bytes.toString('utf8')));
  }
  return { lines, findings: places.length, byRule, places, ...touchedIn(sampleOf(paragraphs)) };
}

function paragraphsOf(text: string): string[] {
  return text
    .split(/\n[ \t\r]*\n/)
    .filter(({ length }) => length >= PARAGRAPH_LENGTH_MIN && length <= PARAGRAPH_LENGTH_MAX);
}

/** Some of them, always the same. */
function sampleOf(paragraphs: readonly string[]): string[] {
  const distinct = [...new Set(paragraphs)];
  if (distinct.length <= PARAGRAPHS_MAX) return distinct;
  const byDigest = distinct.map((text) => ({ text, digest: createHash('sha256').update(text).digest('hex') }));
  return byDigest
    .toSorted((a, b) => (a.digest < b.digest ? -1 : 1))
    .slice(0, PARAGRAPHS_MAX)
    .map(({ text }) => text);
}

function touchedIn(paragraphs: readonly string[]): Pick<CleanScore, 'paragraphs' | 'touched' | 'examples'> {
  const touched = { credentials: 0, others: 0 };
  const examples: string[] = [];
  for (const text of paragraphs) {
    const findings = scan(text);
    const credential = findings.find(({ kind }) => CREDENTIAL_KINDS.has(kind));
    if (credential !== undefined) {
      touched.credentials++;
      examples.push(`${credential.rule} ${text.slice(Math.max(0, credential.start - 60), credential.end + 10)}`);
    } else if (findings.length > 0) touched.others++;
  }
  return { paragraphs: paragraphs.length, touched, examples };
}
