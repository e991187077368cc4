import { dirname, join } from 'node:path';
import { readBoundedFile } from './bounded-file.ts';
import { CommandError } from './failure.ts';
import { printable } from './printable.ts';
import { isNamePattern } from './variables.ts';

/** What `.coffer.yaml` can say. It is committed with a project, so it never has a secret. */
export interface Project {
  url?: string;
  vault?: string;
  /** A composed environment. */
  environment?: string;
  /** Only secrets below it. */
  prefix?: string;
  /** `keep`: variables are called as secrets are, `lower_case` too, and not in capitals. */
  names?: string;
  /** The variables that commands are given: names, or beginnings of names with a final star. */
  variables?: string[];
}

export const PROJECT_FILE = '.coffer.yaml';
const BYTES_MAX = 64 * 1024;
const TEXTS = ['url', 'vault', 'environment', 'prefix', 'names'] as const satisfies readonly (keyof Project)[];
const LIST = 'variables' satisfies keyof Project;

/** The nearest file from the working directory upwards, or nothing. */
export function findProject(from: string = process.cwd()): { file: string; project: Project } | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    const text = readBoundedFile(file, BYTES_MAX, ({ uid }) => refuseIfOfOthers(file, uid));
    if (text !== null) return { file, project: parseProject(text, file) };
    if (dirname(folder) === folder) return null;
  }
}

/** Somebody else's file in a folder above, such as /tmp, must not decide where secrets come from. */
function refuseIfOfOthers(file: string, owner: number): void {
  if (process.getuid === undefined || owner === process.getuid() || owner === 0) return;
  throw new CommandError(`${file} is not yours. Remove it, or make it yours if you trust it.`);
}

/** The file is a flat map of texts and one list, which is all of YAML that it needs. */
export function parseProject(text: string, file: string): Project {
  const project: Project = {};
  let isInList = false;
  for (const [i, line] of text.split('\n').entries()) {
    const bare = line.trimEnd();
    if (bare.trimStart() === '' || bare.trimStart().startsWith('#') || bare === '---') continue;
    const wrong = () =>
      new CommandError(
        `${file}, line ${i + 1}: expected one of ${TEXTS.join(', ')}, as in "vault: shop", or ${LIST} and then lines such as "  - API_KEY" or "  - 'DB_*'".`,
      );
    if (isInList && bare.trimStart().startsWith('- ')) {
      const name = scalarOf(bare.trimStart().slice(2).trimStart());
      if (name === null || !isNamePattern(name)) throw wrong();
      project[LIST]?.push(name);
      continue;
    }
    const colon = bare.indexOf(':');
    const key = bare.slice(0, colon);
    const rest = bare.slice(colon + 1);
    isInList = key === LIST && (rest === '' || rest.trimStart().startsWith('#'));
    if (isInList) {
      if (project[LIST] !== undefined) throw wrong();
      project[LIST] = [];
      continue;
    }
    const known = TEXTS.find((one) => one === key);
    const plain = /^\s/.test(rest) ? scalarOf(rest.trimStart()) : null;
    if (known === undefined || plain === null || plain === '' || printable(plain) !== plain || /[\n\t]/.test(plain))
      throw wrong();
    if (known === 'names' && plain !== 'keep')
      throw new CommandError(`${file}, line ${i + 1}: names can only be "keep".`);
    project[known] = plain;
  }
  return project;
}

export function formatProject(project: Project): string {
  const { variables = [] } = project;
  const lines = [
    ...TEXTS.flatMap((key) => (project[key] === undefined ? [] : [`${key}: ${quotedIfNeeded(project[key])}`])),
    ...(variables.length > 0
      ? [
          '# What commands get in their environment; a new secret must be added here. A final * stands for any rest of a name.',
          `${LIST}:`,
          ...variables.map((name) => `  - ${quotedIfNeeded(name)}`),
        ]
      : []),
  ];
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
  const plain = withoutComment(value);
  return /^[&*!|>%@`[\]{},?#-]|: /.test(plain) ? null : plain;
}

/** A comment begins with a # after a space. */
function withoutComment(value: string): string {
  for (let at = value.indexOf('#'); at !== -1; at = value.indexOf('#', at + 1))
    if (/\s/.test(value.charAt(at - 1))) return value.slice(0, at).trimEnd();
  return value;
}

function quotedIfNeeded(text: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9/._:-]*$/.test(text) ? text : JSON.stringify(text);
}
