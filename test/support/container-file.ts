import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Instruction {
  name: string;
  text: string;
}

export interface Stage {
  name: string;
  image: string;
  instructions: Instruction[];
}

/** The stages of a container file; the lint test reads it with BuildKit's own parser. */
export function stagesOf(file: string): Stage[] {
  const stages: Stage[] = [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line));
  for (const line of lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')) {
    const [, name = '', text = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    const [, image = '', as = ''] = name === 'FROM' ? (/^(\S+)(?: AS (\S+))?$/.exec(text) ?? []) : [];
    if (image !== '') stages.push({ name: as, image, instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

/** The command of an instruction in its JSON form, as of CMD, and of HEALTHCHECK after its options. */
export function commandIn({ text }: Instruction): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}

/** The variables that a stage sets for what it runs. */
export function environmentOf({ instructions }: Stage): Record<string, string> {
  const set = instructions.filter(({ name }) => name === 'ENV').flatMap(({ text }) => text.split(/\s+/));
  return Object.fromEntries(
    set.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
}

/** Whether `.dockerignore` sends a file to the builder: the last pattern that matches it, or a folder that it is in, decides. */
export function isSent(file: string, patterns: readonly string[]): boolean {
  const last = patterns.findLast((pattern) => asExpression(pattern.replace(/^!/, '')).test(file));
  return last === undefined || last.startsWith('!');
}

/** Unlike a shell's, the asterisk of these patterns matches names that begin with a dot. */
function asExpression(pattern: string): RegExp {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
  const wild = escaped.replaceAll(/\*\*\/|\*\*|\*/g, (found) => ({ '**/': '(?:.*/)?', '**': '.*' })[found] ?? '[^/]*');
  return new RegExp(`^${wild}(?:/.*)?$`);
}

export function ignorePatterns(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Large folders that no pattern sends; they are not walked through. */
const NEVER_SENT = new Set(['.git', 'node_modules', 'data', 'dist']);

/** The files of a folder that a builder would get. */
export function sentFiles(from: string): string[] {
  const patterns = ignorePatterns(join(from, '.dockerignore'));
  const sent: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(from, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (NEVER_SENT.has(path)) continue;
      if (entry.isDirectory()) walk(path);
      else if (isSent(path, patterns)) sent.push(path);
    }
  };
  walk('');
  return sent;
}

export function sendContext(from: string, to: string): void {
  for (const path of sentFiles(from)) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(from, path), join(to, path));
  }
}
