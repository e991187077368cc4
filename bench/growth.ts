import { type Settings, USUAL_CONNECTIONS } from './cases.ts';
import { PER_VAULT, RARE_TAG, RARE_TYPE, vaultOf } from './data-set.ts';
import { DATABASE_NAMES, type DatabaseKind, type Installation, type Installations } from './installation.ts';
import { getRequest, type Load, type Measured, measureAnswered } from './load.ts';
import { passwordLogins } from './password-logins.ts';
import type { Column, Row, Table } from './report.ts';
import { readSecret, requestOf, writeSecret } from './requests.ts';
import { secretsIn, spread } from './spread.ts';
import { median } from './statistics.ts';
import { memoryMiB } from './subject.ts';

export const GROWTH_COLUMNS: Column[] = [
  { key: 'what', heading: 'what' },
  { key: 'small', heading: 'small', digits: 0 },
  { key: 'large', heading: 'large', digits: 0 },
  { key: 'growth', heading: 'large ÷ small', digits: 2 },
];

export function growthRow(what: string, small: number, large: number): Row {
  return { what, small, large, growth: large / small };
}

export interface Pair {
  small: Installation;
  large: Installation;
}

/** A small and a large installation that differ in nothing else. */
export async function pairOf(installations: Installations, database: DatabaseKind, vaults: number): Promise<Pair> {
  const small = await installations.shared(database, { isTrusting: true });
  return { small, large: await installations.shared(database, { isTrusting: true, vaults }) };
}

export function pairTitle(database: DatabaseKind, { small, large }: Pair): string {
  const size = (one: Installation) => [secretsIn(one), one.vaults.length].map((count) => count.toLocaleString('en-GB'));
  const [few, many] = [size(small), size(large)];
  return `${DATABASE_NAMES[database]}: ${few[0]} secrets in ${few[1]} vaults, ${many[0]} in ${many[1]}`;
}

/** The same questions to a small and a large installation, in turn. */
export async function growth(installations: Installations, settings: Settings): Promise<Table[]> {
  const tables: Table[] = [];
  for (const database of settings.databases) {
    const pair = await pairOf(installations, database, settings.vaults);
    const rows = await compared(pair, settings);
    const { ms, mib } = await aggregateThousand(pair.large);
    const notes = [
      `The large one was filled in ${Math.round(pair.large.seedSeconds)} s. One aggregate of ${PER_VAULT} secrets there: ${Math.round(ms)} ms, ${Math.round(mib)} MiB more memory.`,
    ];
    tables.push({ name: `growth ${database}`, title: pairTitle(database, pair), columns: GROWTH_COLUMNS, rows, notes });
  }
  return tables;
}

type Make = (installation: Installation) => Promise<Load['request']> | Load['request'];

async function compared({ small, large }: Pair, { seconds, rounds }: Settings): Promise<Row[]> {
  const rows: Row[] = [];
  const take = async (what: string, make: Make, connections: number, pick: (measured: Measured) => number) => {
    const [ofSmall, ofLarge] = [await make(small), await make(large)];
    const [s, l]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      s.push(pick(await once(small, ofSmall, connections, seconds / 2)));
      l.push(pick(await once(large, ofLarge, connections, seconds / 2)));
    }
    rows.push(growthRow(what, median(s), median(l)));
  };
  const perSecond = (what: string, make: Make) =>
    take(`${what}, ${USUAL_CONNECTIONS} connections, requests/s`, make, USUAL_CONNECTIONS, (m) => m.perSecond);
  const micros = (what: string, make: Make) => take(`${what}, median µs`, make, 1, (m) => m.p50Ms * 1000);

  await perSecond('read any secret', readAnywhere);
  await micros('read any secret', readAnywhere);
  await perSecond('write any secret', writeAnywhere);
  await micros('write any secret', writeAnywhere);
  await micros('first page of a list', list(''));
  await micros('last page of a list', lastPage);
  await micros('list by a tag one secret has', list(`&tags=${RARE_TAG}`));
  await micros('list by a type one secret has', list(`&type=${RARE_TYPE}`));
  await micros('list of vaults', (installation) =>
    spread(installation, ({ token }) => getRequest('/v1/vaults', token)),
  );
  await micros('aggregate of 100', (installation) => requestOf('aggregate', installation));
  await micros('encrypt 64 B', (installation) => requestOf('encrypt', installation));
  await micros('login by password', passwordLogins);
  return rows;
}

async function once({ name, port }: Installation, request: Load['request'], connections: number, seconds: number) {
  return measureAnswered(name, { port, request, connections, seconds });
}

function list(query: string): Make {
  return (installation) =>
    spread(installation, ({ vault, token }) => getRequest(`${vault}/secrets?limit=100${query}`, token));
}

/** A cursor works only in the list that returned it, so this one belongs to one vault. */
async function lastPage({ port, token, perVault }: Installation): Promise<Buffer> {
  const path = `/v1/vaults/${vaultOf(0)}/secrets?limit=`;
  let cursor = '';
  for (let left = perVault - 100; left > 0; left -= 100) {
    const url = `http://127.0.0.1:${port}${path}${Math.min(left, 100)}${cursor}`;
    const page = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (!page.ok) throw new Error(`no page of a list: ${page.status}`);
    cursor = `&cursor=${((await page.json()) as { next_cursor: string }).next_cursor}`;
  }
  return getRequest(`${path}100${cursor}`, token);
}

/** To every secret there is: none is read often enough to be special. */
export function readAnywhere(installation: Installation): () => Buffer {
  return spread(installation, readSecret, secretsIn(installation));
}

export function writeAnywhere(installation: Installation): () => Buffer {
  return spread(installation, writeSecret, secretsIn(installation));
}

/** Time, and how much memory grows, for one answer with a thousand values. */
async function aggregateThousand({ pid, port, token, perVault }: Installation): Promise<{ ms: number; mib: number }> {
  const before = memoryMiB(pid) ?? Number.NaN;
  const started = performance.now();
  const url = `http://127.0.0.1:${port}/v1/vaults/${vaultOf(0)}/aggregate?limit=1000`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const { secrets } = (await answer.json()) as { secrets: unknown[] };
  if (secrets.length !== Math.min(1000, perVault)) throw new Error(`aggregate gave ${secrets.length}`);
  return { ms: performance.now() - started, mib: (memoryMiB(pid) ?? Number.NaN) - before };
}
