import { CommandError } from './failure.ts';
import { isLoadingName } from './loading-names.ts';

/** Names and values for the environment of a program. */
export type Variables = ReadonlyMap<string, string>;

/** `db/password` becomes `DB_PASSWORD`, as in the exports of the service, or keeps its small letters. A prefix that was given is left out. */
export function variableName(path: string, prefix: string, keepsNames = false): string {
  const below = prefix === '' ? path : path.slice(prefix.length).replace(/^\//, '');
  const plain = below.replaceAll(/[^A-Za-z0-9_]/g, '_');
  const name = keepsNames ? plain : plain.toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

/** Two secrets with the same name are refused: which of them a program would get must not be left to chance. */
export function variablesOf(
  secrets: Iterable<{ path: string; value: string }>,
  prefix: string,
  keepsNames = false,
): Map<string, string> {
  const paths = new Map<string, string>();
  const variables = new Map<string, string>();
  for (const { path, value } of secrets) {
    const name = variableName(path, prefix, keepsNames);
    const other = paths.get(name);
    if (other !== undefined) {
      throw new CommandError(`${other} and ${path} would both be ${name}. Rename one, or choose with --prefix.`);
    }
    paths.set(name, path);
    variables.set(name, value);
  }
  return variables;
}

/** A name of a variable, a beginning with a final star, or a star alone for every name. */
export function isNamePattern(text: string): boolean {
  return text === '*' || /^[A-Za-z_][A-Za-z0-9_]{0,254}\*?$/.test(text);
}

/** Whether one of the patterns stands for the name. */
export function isNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name));
}

/** Patterns that stand for nothing that is there. */
export function unmatched(patterns: readonly string[], names: Iterable<string>): string[] {
  const all = [...names];
  return patterns.filter((one) => !all.some((name) => isNamed(name, [one])));
}

/** Anyone who may write a secret must not thereby be able to run code: such names are accepted only if the command names them exactly. */
export function refuseLoading(name: string, only: readonly string[] = []): void {
  if (isLoadingName(name) && !only.includes(name)) {
    throw new CommandError(
      `${name} changes how programs are loaded. If that is meant, name it with --only; otherwise rename the secret.`,
    );
  }
}
