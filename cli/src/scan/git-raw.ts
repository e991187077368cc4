/** A file that a commit or the index has changed. */
export interface FileChange {
  commit: string | null;
  path: string;
  /** The new content. */
  blob: string;
  /** The former contents: one, or in a merge one of each parent. */
  before: readonly string[];
}

const NUL = 0;
const GITLINK = '160000';
const NONE = /^0+$/;

/** Parses what `git diff-index` and `git diff-tree --stdin` print with `--raw -z`. Files that were deleted, and sub-modules, have no content. */
export async function* parseChanges(output: AsyncIterable<Buffer>): AsyncGenerator<FileChange> {
  let commit: string | null = null;
  const fields = fieldsOf(output);
  for await (const field of fields) {
    if (!field.startsWith(':')) {
      commit = field;
      continue;
    }
    const parents = /^:+/.exec(field)?.[0].length ?? 1;
    const parts = field.slice(parents).split(' ');
    const modes = parts.slice(0, parents + 1);
    const ids = parts.slice(parents + 1, -1);
    const status = parts.at(-1) ?? '';
    const first = await nextOf(fields);
    const path = /^[RC]/.test(status) && parents === 1 ? await nextOf(fields) : first;
    const blob = ids.at(-1) ?? '';
    if (NONE.test(blob) || modes.at(-1) === GITLINK) continue;
    const before = ids.slice(0, -1).filter((id, i) => !NONE.test(id) && modes[i] !== GITLINK);
    if (!before.includes(blob)) yield { commit, path: utf8(path), blob, before };
  }
}

async function nextOf(fields: AsyncGenerator<string>): Promise<string> {
  const { done, value } = await fields.next();
  if (done === true) throw new Error('git ended in the middle of a change');
  return value;
}

/** Fields as bytes, one character each. */
async function* fieldsOf(output: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of output) {
    let start = 0;
    for (let end = chunk.indexOf(NUL); end !== -1; end = chunk.indexOf(NUL, start)) {
      yield rest + chunk.toString('latin1', start, end);
      rest = '';
      start = end + 1;
    }
    rest += chunk.toString('latin1', start);
  }
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
