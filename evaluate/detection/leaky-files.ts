import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filePieces, type Tally } from '../../cli/src/scan/files.ts';
import { findingsIn } from '../../cli/src/scan/findings.ts';
import { isAtLeast } from '../../detection/src/index.ts';

const BYTES_MAX = 10 * 1024 * 1024;

/** A folder of files with secrets, and how many of their lines have one. */
export interface LeakyScore {
  readonly lines: number;
  /** Lines that are reported, and no more of a file than have a secret. */
  readonly found: number;
  readonly files: number;
  /** Files with a secret in which nothing is reported. */
  readonly silent: readonly string[];
  readonly partly: readonly string[];
}

/** Lines of `path,count` after comments; what follows the count is not read. */
export function scoreLeakyFiles(folder: string, list: string): LeakyScore {
  let [lines, found, files] = [0, 0, 0];
  const silent: string[] = [];
  const partly: string[] = [];
  for (const row of readFileSync(list, 'utf8').split('\n')) {
    const [path = '', count = '0'] = row.trim().split(',');
    const risks = Number(count);
    if (path === '' || path.startsWith('#') || !(risks > 0)) continue;
    files++;
    lines += risks;
    const seen = Math.min(risks, reportedLines(join(folder, path)));
    found += seen;
    if (seen === 0) silent.push(path);
    else if (seen < risks) partly.push(`${path} ${seen} of ${risks}`);
  }
  return { lines, found, files, silent, partly };
}

function reportedLines(path: string): number {
  const tally: Tally = { files: 0, bytes: 0, skipped: [] };
  const lines = new Set<number>();
  for (const piece of filePieces([path], BYTES_MAX, tally))
    for (const { line, confidence } of findingsIn(piece)) if (isAtLeast(confidence, 'medium')) lines.add(line);
  return lines.size;
}
