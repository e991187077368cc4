import { type Coffer, CofferError, CursorCheck, collected } from '../../../client/src/index.ts';
import { CONFIDENCES, isGuessable } from '../../../detection/src/index.ts';
import { inParallel } from '../migrate/parallel.ts';
import type { Finding } from './findings.ts';

/** How many different values are compared, and how many are searched for as parts of others, at most. */
export const COMPARED_MAX = 1000;
export const SEARCHED_MAX = 200;
const QUERY_LENGTH_MIN = 6;
const QUERY_LENGTH_MAX = 256;
const AT_ONCE = 4;
/** Secrets that are named for one value, at most. */
const PATHS_MAX = 1000;

export interface Comparison {
  /** Values that were compared. */
  compared: number;
  /** Those of them that could be guessed, so that only secrets that the caller may read were considered. */
  guessable: number;
  /** Values that were not, because there were too many. */
  left: number;
  /** False if some secrets cannot be compared yet. */
  isComplete: boolean;
}

export interface Search {
  /** Vaults that were searched. */
  vaults: string[];
  /** Vaults that could not be, with why. */
  refused: { vault: string; code: string }[];
  /** Values that were not looked for because there were too many. */
  left: number;
}

/**
 * Asks the service which secrets have the values, of those that the caller may list. Only digests are sent, of what looks like a secret.
 */
export async function compareStored(
  coffer: Coffer,
  findings: readonly Finding[],
  vault: string | undefined,
): Promise<Comparison> {
  // The caller learns that there is no such vault, or that they may not list it.
  if (vault !== undefined) await coffer.secrets.list(vault).next();
  const { chosen, left } = strongest(
    Map.groupBy(findings, ({ value }) => value.toWellFormed()),
    COMPARED_MAX,
  );
  const sent = chosen.flatMap(([value, all]) =>
    spellingsOf(value, all[0]?.kind).map((spelling) => ({ spelling, all })),
  );
  const { known, isComplete } = await coffer.secrets.findKnown(sent.map(({ spelling }) => spelling));
  for (const { index, secrets } of known) {
    for (const secret of secrets.filter((one) => vault === undefined || one.vault === vault))
      for (const { stored } of sent[index]?.all ?? []) stored.push(`${secret.vault}/${secret.path}`);
  }
  const guessable = chosen.filter(([value]) => isGuessable(value)).length;
  return { compared: chosen.length, guessable, left, isComplete };
}

/** The spellings in which a value may be stored: files end with a newline, and a key in quotes has its lines escaped. */
function spellingsOf(value: string, kind: string | undefined): string[] {
  if (kind !== 'private-key') return [value, `${value}\n`];
  const lines = value.replaceAll('\\n', '\n').replaceAll('\r\n', '\n').trimEnd();
  return [lines, `${lines}\n`];
}

/**
 * Asks the service which secrets contain the values, with the rights of the caller: it searches what the caller may read, and neither logs nor
 * answers a value. What looks like a secret is sent as it is: no digest tells what is inside a longer value.
 */
export async function searchStored(
  coffer: Coffer,
  findings: readonly Finding[],
  vault: string | undefined,
): Promise<Search> {
  const byQuery = Map.groupBy(
    findings.filter(({ value, stored }) => value.length >= QUERY_LENGTH_MIN && stored.length === 0),
    // The end of a long one is its random part: of a token the signature.
    ({ value }) => value.slice(-QUERY_LENGTH_MAX).toWellFormed(),
  );
  const { chosen, left } = strongest(byQuery, SEARCHED_MAX);
  const vaults = vault === undefined ? await searchable(coffer) : [vault];
  const search: Search = { vaults: [], refused: [], left };
  if (chosen.length === 0) return search;
  for (const name of vaults) {
    try {
      await inParallel(chosen, AT_ONCE, async ([query, all]) => {
        for (const path of await pathsWith(coffer, name, query))
          for (const { stored } of all) stored.push(`${name}/${path}`);
      });
      search.vaults.push(name);
    } catch (error) {
      const isOfThisVault = error instanceof CofferError && [403, 404, 409].includes(error.status);
      if (!isOfThisVault || vault !== undefined) throw error;
      search.refused.push({ vault: name, code: error.code });
    }
  }
  return search;
}

const rankOf = (finding: Finding | undefined) => CONFIDENCES.indexOf(finding?.confidence ?? 'possible');

/** What surely is a secret comes before what only may be one. */
function strongest(byText: ReadonlyMap<string, Finding[]>, max: number) {
  const sorted = [...byText].toSorted(([, a], [, b]) => rankOf(b[0]) - rankOf(a[0]));
  return { chosen: sorted.slice(0, max), left: Math.max(0, sorted.length - max) };
}

async function searchable(coffer: Coffer): Promise<string[]> {
  const all = await collected(coffer.vaults.list());
  return all
    .filter(({ status, is_zero_knowledge }) => status === 'active' && !is_zero_knowledge)
    .map(({ name }) => name);
}

async function pathsWith(coffer: Coffer, vault: string, query: string): Promise<string[]> {
  const paths: string[] = [];
  const cursors = new CursorCheck();
  let cursor: string | null = null;
  do {
    const body: { query: string; cursor?: string } = cursor === null ? { query } : { query, cursor };
    const page: { matches: { path: string }[]; next_cursor: string | null } = await coffer.call(
      'POST /v1/vaults/{vault}/search',
      { path: { vault }, body },
      { isRead: true },
    );
    paths.push(...page.matches.map(({ path }) => path));
    cursor = cursors.next(page);
    // More places do not help anybody who looks for a leak.
  } while (cursor !== null && paths.length < PATHS_MAX);
  return paths;
}
