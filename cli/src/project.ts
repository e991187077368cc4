import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandError } from './failure.ts';
import { printable } from './printable.ts';

/** What `.coffer.yaml` can say. It is committed with a project, so it never has a secret. */
export interface Project {
  url?: string;
  vault?: string;
  /** A composed environment. */
  environment?: string;
  /** Only secrets below it. */
  prefix?: string;
}

export const PROJECT_FILE = '.coffer.yaml';
const BYTES_MAX = 64 * 1024;
const KEYS = ['url', 'vault', 'environment', 'prefix'] as const satisfies readonly (keyof Project)[];

/** The nearest file from the working directory upwards, or nothing. */
export function findProject(from: string = process.cwd()): { file: string; project: Project } | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    if (isOwnFile(file)) return { file, project: parseProject(readFileSync(file, 'utf8'), file) };
    if (dirname(folder) === folder) return null;
  }
}

/** Somebody else's file in a folder above, such as /tmp, must not decide where secrets come from. */
function isOwnFile(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile()) return false;
  const isOwn = process.getuid === undefined || found.uid === process.getuid() || found.uid === 0;
  if (!isOwn || found.size > BYTES_MAX) {
    throw new CommandError(`${file} is not yours, or too large. Remove it, or make it yours if you trust it.`);
  }
  return true;
}

/** The file is a flat map of texts, which is all of YAML that it needs. */
export function parseProject(text: string, file: string): Project {
  const project: Project = {};
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || line === '---') continue;
    const { key, value } = /^(?<key>[a-z_]+):\s+(?<value>.*?)\s*$/.exec(line)?.groups ?? {};
    const known = KEYS.find((one) => one === key);
    const plain = value === undefined ? null : scalarOf(value);
    if (known === undefined || plain === null || plain === '' || printable(plain) !== plain || /[\n\t]/.test(plain)) {
      throw new CommandError(`${file}, line ${i + 1}: expected one of ${KEYS.join(', ')}, as in "vault: shop".`);
    }
    project[known] = plain;
  }
  return project;
}

export function formatProject(project: Project): string {
  const lines = KEYS.flatMap((key) => (project[key] === undefined ? [] : [`${key}: ${quotedIfNeeded(project[key])}`]));
  return `# Which secrets of Coffer this project uses. It has no secrets: commit it.\n${lines.join('\n')}\n`;
}

function scalarOf(value: string): string | null {
  if (value.startsWith('"')) {
    const quoted = /^("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/.exec(value)?.[1];
    try {
      return quoted === undefined ? null : String(JSON.parse(quoted));
    } catch {
      return null;
    }
  }
  if (value.startsWith("'")) return /^'((?:[^']|'')*)'\s*(?:#.*)?$/.exec(value)?.[1]?.replaceAll("''", "'") ?? null;
  const plain = value.replace(/\s+#.*$/, '');
  return /^[&*!|>%@`[\]{},?-]|: /.test(plain) ? null : plain;
}

function quotedIfNeeded(text: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9/._:-]*$/.test(text) ? text : JSON.stringify(text);
}
