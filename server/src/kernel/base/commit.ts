import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const UNKNOWN_COMMIT = 'unknown';
/** A commit of git, by SHA-1 or SHA-256. */
const COMMIT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const POINTER_BYTES_MAX = 4096;

/**
 * The commit that a release was made from. Packages and images name it in their package.json as `gitHead`, like npm; in a checkout it is read from the
 * files of git, because git need not be installed.
 */
export function findCommit(packageFolder: string): string {
  const { gitHead } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { gitHead?: unknown };
  if (typeof gitHead === 'string' && COMMIT_ID.test(gitHead)) return gitHead;
  return commitOfCheckout(join(packageFolder, '..'));
}

/** The commit that a checkout is at, with or without changes that are not committed. */
export function commitOfCheckout(root: string): string {
  const folder = gitFolder(root);
  const head = line(join(folder, 'HEAD'));
  if (COMMIT_ID.test(head)) return head;
  const [, ref] = /^ref: (refs\/[A-Za-z0-9._/-]+)$/.exec(head) ?? [];
  if (ref === undefined || ref.includes('..')) return UNKNOWN_COMMIT;
  // Branches are shared by all work trees of a repository.
  const shared = resolve(folder, line(join(folder, 'commondir')));
  const commit = line(join(shared, ref)) || packedCommit(join(shared, 'packed-refs'), ref);
  return COMMIT_ID.test(commit) ? commit : UNKNOWN_COMMIT;
}

/** In a further work tree `.git` is a file that names the folder. */
function gitFolder(root: string): string {
  const path = join(root, '.git');
  const [, named] = /^gitdir: (.+)$/.exec(line(path)) ?? [];
  return named === undefined ? path : resolve(root, named);
}

function packedCommit(file: string, ref: string): string {
  const packed = textOf(file)
    .split('\n')
    .find((each) => each.endsWith(` ${ref}`));
  return packed?.split(' ', 1)[0] ?? '';
}

function line(file: string): string {
  return textOf(file).slice(0, POINTER_BYTES_MAX).trim();
}

/** Without a file the commit is unknown, and so it is where the file may not be read: that must not keep a service from starting. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** The commit of the code that runs. */
export const COMMIT = findCommit(join(import.meta.dirname, '../../..'));
