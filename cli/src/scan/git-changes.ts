import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CommandError } from '../failure.ts';
import type { Piece, Tally } from './files.ts';
import { Ignored } from './ignore.ts';

/** What is added by what is staged, or by the commits since a reference. */
export type GitChanges = { staged: true } | { since: string };

const HUNK_BYTES_MAX = 4 * 1024 * 1024;
/** The configuration of a repository must not run programs here, and must not change the form of the output. */
const CONFIGURATION = [
  '-c',
  'core.quotePath=false',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'diff.noprefix=false',
  '-c',
  'log.showSignature=false',
];
const DIFF = [
  '-U0',
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--diff-filter=d',
];

/** The added lines, hunk by hunk. Lines that a later commit removed are in the history all the same. */
export async function* gitPieces(changes: GitChanges, tally: Tally): AsyncGenerator<Piece> {
  const args =
    'staged' in changes
      ? ['diff', '--cached', ...DIFF]
      : [
          'log',
          '--patch',
          '--reverse',
          '--diff-merges=separate',
          '--format=commit %H',
          ...DIFF,
          '--end-of-options',
          `${changes.since}..HEAD`,
          '--',
        ];
  const git = spawn('git', [...CONFIGURATION, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  git.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 1000);
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    git.once('close', resolve);
    git.once('error', () =>
      reject(new CommandError('git could not be started. Install it, or name the files to scan.')),
    );
  });
  // It is awaited when the output was read, and must not go unheard before.
  ended.catch(() => {});
  const ignored = Ignored.of(topOfRepository());
  yield* addedLines(createInterface({ input: git.stdout.setEncoding('latin1'), crlfDelay: 0 }), tally, (file) =>
    ignored.covers(file),
  );
  const code = await ended;
  if (code === 0) return;
  const [first = ''] = complaint.split('\n');
  throw new CommandError(
    `git failed: ${first} Run it inside a repository, and name a commit, tag or branch with --since.`,
  );
}

/** Paths in a patch begin there, wherever the command is run. */
function topOfRepository(): string {
  const { status, stdout } = spawnSync('git', [...CONFIGURATION, 'rev-parse', '--show-toplevel'], { encoding: 'utf8' });
  return status === 0 ? stdout.replace(/\n$/, '') : process.cwd();
}

/** Reads a patch. Its lines are bytes, one character each. */
export async function* addedLines(
  lines: AsyncIterable<string>,
  tally: Tally,
  isIgnored: (file: string) => boolean,
): AsyncGenerator<Piece> {
  let commit: string | null = null;
  let file: string | null = null;
  let isInHunk = false;
  let line = 1;
  let added: string[] = [];
  let size = 0;
  function* flush(): Generator<Piece> {
    if (added.length > 0 && file !== null) {
      const bytes = Buffer.from(`${added.join('\n')}\n`, 'latin1');
      tally.bytes += bytes.length;
      yield { file, bytes, line, ...(commit !== null && { commit }) };
    }
    line += added.length;
    added = [];
    size = 0;
  }
  for await (const text of lines) {
    if (isInHunk && text.startsWith('+')) {
      added.push(text.slice(1));
      size += text.length;
      if (size > HUNK_BYTES_MAX) yield* flush();
      continue;
    }
    if (isInHunk && /^[-\\]/.test(text)) continue;
    yield* flush();
    const hunk = /^@@ -\S+ \+(\d+)/.exec(text);
    if (hunk !== null) line = Number(hunk[1]);
    else if (text.startsWith('+++ ')) {
      file = fileOf(text.slice(4));
      if (file !== null && isIgnored(file)) file = null;
      if (file !== null) tally.files++;
    } else if (text.startsWith('commit ')) commit = text.slice(7);
    isInHunk = hunk !== null;
  }
  yield* flush();
}

/** `b/name`, in quotes with escapes if the name needs them, or nothing for a file that was removed. */
function fileOf(text: string): string | null {
  const quoted = /^"(.*)"$/.exec(text.trimEnd())?.[1];
  const plain =
    quoted === undefined ? text.replace(/\t$/, '') : quoted.replace(/\\([abfnrtv"\\]|[0-7]{3})/g, unescaped);
  return plain.startsWith('b/') ? Buffer.from(plain.slice(2), 'latin1').toString('utf8') : null;
}

const ESCAPES: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function unescaped(_: string, sign: string): string {
  return /^[0-7]{3}$/.test(sign) ? String.fromCharCode(Number.parseInt(sign, 8)) : (ESCAPES[sign] ?? sign);
}
