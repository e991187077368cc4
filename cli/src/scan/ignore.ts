import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const IGNORE_FILE = '.cofferignore';

interface Rule {
  form: RegExp;
  isNegated: boolean;
  isForFolders: boolean;
}

/** Which paths are left out, by the rules of `.gitignore`: later lines win, and `!` takes a path in again. */
export class Ignored {
  readonly #rules: readonly Rule[];

  constructor(text: string) {
    this.#rules = text.split(/\r?\n/).flatMap(ruleOf);
  }

  static of(folder: string): Ignored {
    const file = join(folder, IGNORE_FILE);
    return new Ignored(existsSync(file) ? readFileSync(file, 'utf8') : '');
  }

  /** For a path below the folder of the file, with slashes. */
  has(path: string, isFolder: boolean): boolean {
    const last = this.#rules.findLast(({ form, isForFolders }) => (isFolder || !isForFolders) && form.test(path));
    return last !== undefined && !last.isNegated;
  }

  /** Also for a path in a folder that is left out, where nobody walks through the folders. */
  covers(path: string): boolean {
    const parts = path.split('/');
    return parts.some((_, i) => this.has(parts.slice(0, i + 1).join('/'), i < parts.length - 1));
  }
}

function ruleOf(line: string): Rule[] {
  const trimmed = line.replace(/(?<!\\)\s+$/, '');
  if (trimmed === '' || trimmed.startsWith('#')) return [];
  const isNegated = trimmed.startsWith('!');
  const pattern = isNegated ? trimmed.slice(1) : trimmed.replace(/^\\(?=[#!])/, '');
  const isForFolders = pattern.endsWith('/');
  const bare = pattern.replace(/\/$/, '');
  // A slash at the beginning or inside ties the pattern to the folder of the file.
  const isTied = bare.includes('/');
  const body = bare.replace(/^\//, '').split('/').map(segmentForm).join('/').replaceAll('(?:.*)/', '(?:.*/)?');
  return [{ form: new RegExp(`^${isTied ? '' : '(?:.*/)?'}${body}$`, 's'), isNegated, isForFolders }];
}

function segmentForm(segment: string): string {
  if (segment === '**') return '(?:.*)';
  return segment.replace(
    /\\(.)|(\*+)|(\?)|[.+^${}()|[\]\\]/g,
    (sign, escaped?: string, stars?: string, one?: string) => {
      if (stars !== undefined) return '[^/]*';
      if (one !== undefined) return '[^/]';
      return `\\${escaped ?? sign}`.replace(/^\\(?=[A-Za-z0-9])/, '');
    },
  );
}
