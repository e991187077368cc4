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
  return detect(bytes, file).flatMap((detected) => {
    const lineStart = bytes.lastIndexOf(10, detected.start - 1) + 1;
    const lineEnd = bytes.indexOf(10, detected.start);
    if (bytes.subarray(lineStart, lineEnd === -1 ? bytes.length : lineEnd).includes(ALLOWED)) return [];
    return [
      findingOf(detected, {
        file,
        line: line + newlinesIn(bytes, detected.start),
        column: detected.start - lineStart + 1,
        commit: commit ?? null,
      }),
    ];
  });
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
