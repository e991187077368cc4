import { type Detected, detect } from './detect.ts';
import { newlinesIn, type Piece } from './files.ts';

/** A leak, and where it is. The value is shown to nobody. */
export interface Finding {
  file: string;
  line: number;
  column: number;
  kind: string;
  /** At most four characters of it. */
  sample: string;
  commit: string | null;
  value: string;
  isWeak: boolean;
  /** Secrets that have the value, as `vault/path`. */
  stored: string[];
}

/** A line with this mark is meant to be as it is. */
const ALLOWED = 'coffer:allow';
const SAMPLE_MAX = 4;

export function findingsIn({ file, bytes, line, commit }: Piece): Finding[] {
  const findings: Finding[] = [];
  let counted = 0;
  let current = line;
  for (const detected of detect(bytes, file)) {
    // They come in their order, so that each line is counted once.
    current += newlinesIn(bytes, counted, detected.start);
    counted = detected.start;
    const lineStart = detected.start === 0 ? 0 : bytes.lastIndexOf(10, detected.start - 1) + 1;
    const lineEnd = bytes.indexOf(10, detected.start);
    if (bytes.subarray(lineStart, lineEnd === -1 ? bytes.length : lineEnd).includes(ALLOWED)) continue;
    const where = { file, line: current, column: detected.start - lineStart + 1, commit: commit ?? null };
    findings.push(findingOf(detected, where));
  }
  return findings;
}

function findingOf(
  { kind, value, isWeak }: Detected,
  where: Pick<Finding, 'file' | 'line' | 'column' | 'commit'>,
): Finding {
  return { ...where, kind, sample: sampleOf(value), value, isWeak, stored: [] };
}

/** Enough to find it on its line, and less of what is short. */
export function sampleOf(value: string): string {
  const characters = [...value];
  return `${characters.slice(0, Math.min(SAMPLE_MAX, Math.floor(characters.length / 5))).join('')}…`;
}
