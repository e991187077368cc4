export interface VaultSummary {
  readonly name: string;
  readonly environment: string;
  readonly is_zero_knowledge: boolean;
}

export interface Listed {
  readonly version: number;
  readonly environment: string;
}

/** A vault that is compared with others. */
export interface Column extends VaultSummary {
  readonly secrets: ReadonlyMap<string, Listed>;
  readonly mayCreate: boolean;
  readonly mayUpdate: boolean;
}

/** What becomes of a path that one vault lacks when it is copied from another. */
export type Step = 'copy' | 'absent' | 'refused' | 'environment';

export interface PlannedKey {
  readonly path: string;
  readonly step: Step;
}

/** `mayCopy` says whether the person may take the secret from one vault and create it in the other. */
export async function planCopies(
  source: Column,
  target: VaultSummary,
  paths: readonly string[],
  mayCopy: (path: string) => Promise<boolean>,
): Promise<PlannedKey[]> {
  return Promise.all(
    paths.map(async (path): Promise<PlannedKey> => {
      if (!source.secrets.has(path)) return { path, step: 'absent' };
      if (!fitsInto(source, target, path)) return { path, step: 'environment' };
      return { path, step: (await mayCopy(path)) ? 'copy' : 'refused' };
    }),
  );
}

/** Whether the environments of both vaults let a secret be copied from one to the other. */
export function fitsInto(source: Column, target: VaultSummary, path: string): boolean {
  const secret = source.secrets.get(path);
  return secret !== undefined && fits(secret.environment, source.environment, target.environment);
}

/** A secret that has the environment of its vault takes that of the other vault, but a production secret stays one. The service decides the same way. */
function fits(own: string, from: string, to: string): boolean {
  if (own === to) return true;
  if (own === 'production') return false;
  return own === from || to === 'development';
}

/** A value of a path in one vault: its number among the different ones, or why there is none. */
export type Kind = number | 'outdated' | 'not read' | 'missing';

export interface ComparedRow {
  /** With one vault that has a value there is nothing to compare; unknown if fewer than two of several could be read. */
  readonly state: 'alone' | 'outdated' | 'unknown' | 'same' | 'differs';
  /** By the number of a value, where some vaults have the same value and others do not. Empty if all of them differ. */
  readonly letters: ReadonlyMap<number, string>;
}

/** What is said of a path in all vaults. One value that was written since makes the others unknown too: they may be the same as it or not. */
export function comparedRow(kinds: readonly Kind[]): ComparedRow {
  const present = kinds.filter((kind) => kind !== 'missing');
  const known = present.filter((kind) => typeof kind === 'number');
  if (present.length < 2) return { state: 'alone', letters: new Map() };
  if (present.includes('outdated')) return { state: 'outdated', letters: new Map() };
  if (known.length < 2) return { state: 'unknown', letters: new Map() };
  const different = [...new Set(known)];
  if (different.length === 1) return { state: 'same', letters: new Map() };
  const shared = different.length < known.length ? different : [];
  return { state: 'differs', letters: new Map(shared.map((kind, index) => [kind, letterOf(index)])) };
}

/** A to Z, then A2 and so on. */
const letterOf = (index: number) =>
  String.fromCharCode(65 + (index % 26)) + (index < 26 ? '' : String(Math.floor(index / 26) + 1));
