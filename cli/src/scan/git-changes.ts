import { type Piece, piecesOfText, type Tally, textIn, tooLarge } from './files.ts';
import { GitObjects } from './git-objects.ts';
import { type FileChange, parseChanges } from './git-raw.ts';
import { GitRepository } from './git-repository.ts';
import { Ignored } from './ignore.ts';

/** What is added by what is staged, or by the commits since a reference. */
export type GitChanges = { staged: true } | { since: string };

const RAW = ['-r', '-z', '--raw', '--no-abbrev', '--find-renames', '--ignore-submodules=all'];
const EMPTY_TREES: Readonly<Record<string, string>> = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
};

/**
 * The files that were changed, whole, so that the same is found as in a file; `Piece.before` says what was there already. Blobs are read instead of
 * differences: attributes and settings decide what a difference shows, and it can run programs. What a later commit removed is in the history all the
 * same.
 */
export async function* gitPieces(changes: GitChanges, bytesMax: number, tally: Tally): AsyncGenerator<Piece> {
  const repository = GitRepository.open();
  try {
    const objects = new GitObjects(repository);
    try {
      const ignored = Ignored.of(repository.top ?? process.cwd());
      const seen = new Set<string>();
      for await (const change of 'staged' in changes ? stagedIn(repository) : since(repository, changes.since)) {
        if (!ignored.covers(change.path)) yield* piecesOf(change, objects, bytesMax, { tally, seen });
      }
    } finally {
      objects.close();
    }
  } finally {
    repository.close();
  }
}

function stagedIn(repository: GitRepository): AsyncGenerator<FileChange> {
  const tree = repository.head() ?? EMPTY_TREES[repository.format] ?? '';
  return parseChanges(repository.output(repository.start('diff-index', '--cached', ...RAW, tree)));
}

/** Oldest first. Of a merge only what no parent has: the rest came with other commits. */
function since(repository: GitRepository, reference: string): AsyncGenerator<FileChange> {
  const from = repository.commitOf(reference);
  const commits = repository.start('rev-list', '--reverse', '--topo-order', repository.commitOf('HEAD'), `^${from}`);
  const trees = repository.start('diff-tree', '--stdin', '--root', '-c', ...RAW);
  return parseChanges(repository.output(trees, repository.output(commits)));
}

async function* piecesOf(
  { commit, path, blob, before }: FileChange,
  objects: GitObjects,
  bytesMax: number,
  { tally, seen }: { tally: Tally; seen: Set<string> },
): AsyncGenerator<Piece> {
  const { size, content } = (await objects.blob(blob, bytesMax)) ?? { size: 0, content: null };
  if (content === null) {
    const why = size > bytesMax ? tooLarge(path, bytesMax) : `${path} is not in this clone (${blob.slice(0, 10)})`;
    if (!seen.has(why)) tally.skipped.push(why);
    seen.add(why);
    return;
  }
  const text = textIn(content);
  if (text === null) return;
  tally.files++;
  tally.bytes += size;
  const former = async () => {
    const texts: Buffer[] = [];
    for (const id of before) {
      const old = await objects.blob(id, bytesMax);
      const oldText = old?.content == null ? null : textIn(old.content);
      if (oldText !== null) texts.push(oldText);
    }
    return texts;
  };
  for (const piece of piecesOfText(path, text)) yield { ...piece, before: former, ...(commit !== null && { commit }) };
}
