import { type Coffer, CofferError } from '../../../client/src/index.ts';
import { inParallel } from '../migrate/parallel.ts';
import type { Finding } from './findings.ts';

/** How many different values are looked for at most. */
export const CANDIDATES_MAX = 200;
const QUERY_LENGTH_MIN = 6;
const QUERY_LENGTH_MAX = 256;
const AT_ONCE = 4;

export interface Search {
  /** Vaults that were searched. */
  vaults: string[];
  /** Vaults that could not be, with why. */
  refused: { vault: string; code: string }[];
  /** Values that were not looked for because there were too many. */
  left: number;
}

/**
 * Asks the service which secrets have the values, with the rights of the caller: it searches what the caller may read, and neither logs nor
 * answers a value. Only what looks like a secret is sent.
 */
export async function findStored(
  coffer: Coffer,
  findings: readonly Finding[],
  vault: string | undefined,
): Promise<Search> {
  const byQuery = Map.groupBy(
    findings.filter(({ value }) => value.length >= QUERY_LENGTH_MIN),
    // The end of a long one is its random part: of a token the signature.
    ({ value }) => value.slice(-QUERY_LENGTH_MAX).toWellFormed(),
  );
  const strongFirst = [...byQuery].toSorted(([, a], [, b]) => Number(a[0]?.isWeak) - Number(b[0]?.isWeak));
  const queries = strongFirst.slice(0, CANDIDATES_MAX);
  const vaults = vault === undefined ? await searchable(coffer) : [vault];
  const search: Search = { vaults: [], refused: [], left: byQuery.size - queries.length };
  if (queries.length === 0) return search;
  for (const name of vaults) {
    try {
      await inParallel(queries, AT_ONCE, async ([query, all]) => {
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

async function searchable(coffer: Coffer): Promise<string[]> {
  const all = await Array.fromAsync(coffer.vaults.list());
  return all
    .filter(({ status, is_zero_knowledge }) => status === 'active' && !is_zero_knowledge)
    .map(({ name }) => name);
}

async function pathsWith(coffer: Coffer, vault: string, query: string): Promise<string[]> {
  const paths: string[] = [];
  let cursor: string | null = null;
  do {
    const body: { query: string; cursor?: string } = cursor === null ? { query } : { query, cursor };
    const page: { matches: { path: string }[]; next_cursor: string | null } = await coffer.call(
      'POST /v1/vaults/{vault}/search',
      { path: { vault }, body },
      { isRead: true },
    );
    paths.push(...page.matches.map(({ path }) => path));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return paths;
}
