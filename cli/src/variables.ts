import { CommandError } from './failure.ts';
import { isLoadingName } from './loading-names.ts';

/** Names and values for the environment of a program. */
export type Variables = ReadonlyMap<string, string>;

/** `db/password` becomes `DB_PASSWORD`, as in the exports of the service. A prefix that was asked for is left out. */
export function variableName(path: string, prefix: string): string {
  const below = prefix === '' ? path : path.slice(prefix.length).replace(/^\//, '');
  const name = below.replaceAll(/[^A-Za-z0-9_]/g, '_').toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

/** Two secrets with the same name are refused: which of them a program would get must not be left to chance. */
export function variablesOf(secrets: Iterable<{ path: string; value: string }>, prefix: string): Map<string, string> {
  const paths = new Map<string, string>();
  const variables = new Map<string, string>();
  for (const { path, value } of secrets) {
    const name = variableName(path, prefix);
    const other = paths.get(name);
    if (other !== undefined) {
      throw new CommandError(`${other} and ${path} would both be ${name}. Rename one, or choose with --prefix.`);
    }
    paths.set(name, path);
    variables.set(name, value);
  }
  return variables;
}

/** Whoever may write a secret must not thereby be able to run code: such names are taken only if they were asked for by name. */
export function refuseLoading(name: string, only: readonly string[] = []): void {
  if (isLoadingName(name) && !only.includes(name)) {
    throw new CommandError(
      `${name} changes how programs are loaded. If that is meant, name it with --only; otherwise rename the secret.`,
    );
  }
}
