import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf, RARE_TAG, RARE_TYPE, vaultOf } from './data-set.ts';
import { getRequest, type Measured, measure } from './load.ts';
import { memoryMiB, startProcess, stopProcess } from './subject.ts';

const SERVER = 'server/src/main.ts';
const ANY_PORTS = { CV_PORT: '0', CV_TLS_PORT: '0' };
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);

export interface ScaleSubject {
  name: string;
  port: number;
  tlsPort: number | null;
  pid: number;
  token: string;
  dataDir: string;
  vaults: number;
  perVault: number;
  stop(): Promise<void>;
}

/** Starts the service on a data set of its own: started once to make it, filled while it stands still, started again. */
export async function startSeeded(
  name: string,
  env: Record<string, string> & { CV_DATA_DIR: string },
  vaults: number,
  perVault: number,
): Promise<ScaleSubject & { seedSeconds: number }> {
  const first = await startProcess(SERVER, [], { ...ANY_PORTS, ...env });
  await stopProcess(first.child);
  const started = performance.now();
  execFileSync(process.execPath, ['bench/seed-process.ts', String(vaults), String(perVault)], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const seedSeconds = (performance.now() - started) / 1000;
  const { child, port, tlsPort } = await startProcess(SERVER, [], { ...ANY_PORTS, ...env });
  const token = readFileSync(join(env.CV_DATA_DIR, 'admin.token'), 'utf8').trim();
  const dataDir = env.CV_DATA_DIR;
  const pid = Number(child.pid);
  return { name, port, tlsPort, pid, token, dataDir, vaults, perVault, seedSeconds, stop: () => stopProcess(child) };
}

/** Reads spread over every secret there is: none is asked for often enough to be special. */
export function readAnywhere({ token, vaults, perVault }: ScaleSubject): () => Buffer {
  let n = 0;
  return () => {
    // A stride without a common factor visits all of them in an order no cache can guess.
    n = (n + 611_953) % (vaults * perVault);
    const at = `/v1/vaults/${vaultOf(Math.floor(n / perVault))}/secrets/${pathOf(n % perVault)}`;
    return getRequest(at, token);
  };
}

export interface ScaleRow {
  what: string;
  small: number;
  large: number;
}

/** The same questions to a small and a large installation, in turn; medians of their times. */
export async function compareScale(small: ScaleSubject, large: ScaleSubject, connections: number): Promise<ScaleRow[]> {
  const rows: ScaleRow[] = [];
  const take = async (what: string, of: (subject: ScaleSubject) => Promise<number>) => {
    const times = { small: [] as number[], large: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      times.small.push(await of(small));
      times.large.push(await of(large));
    }
    rows.push({ what, small: median(times.small), large: median(times.large) });
  };
  await take(`read any secret, ${connections} connections, requests/s`, async (subject) => {
    return (await run(subject, readAnywhere(subject), connections)).perSecond;
  });
  await take('read any secret, 1 connection, median µs', (subject) => p50(subject, readAnywhere(subject)));
  const list = (query: string) => (subject: ScaleSubject) =>
    p50(subject, () => getRequest(`/v1/vaults/${vaultOf(0)}/secrets?limit=100${query}`, subject.token));
  await take('first page of a list, median µs', list(''));
  await take('last page of a list, median µs', async (subject) => {
    const cursor = Buffer.from(JSON.stringify(['at', pathOf(subject.perVault - 101)])).toString('base64url');
    return list(`&cursor=${cursor}`)(subject);
  });
  await take('list by a tag one secret has, median µs', list(`&tags=${RARE_TAG}`));
  await take('list by a type one secret has, median µs', list(`&type=${RARE_TYPE}`));
  await take('list of vaults, median µs', (subject) => p50(subject, () => getRequest('/v1/vaults', subject.token)));
  return rows;
}

/** Time, and how much memory grows, for one answer with a thousand values. */
export async function aggregateThousand(subject: ScaleSubject): Promise<{ ms: number; mib: number }> {
  const before = memoryMiB(subject.pid) ?? 0;
  const started = performance.now();
  const url = `http://127.0.0.1:${subject.port}/v1/vaults/${vaultOf(0)}/aggregate?limit=1000`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${subject.token}` } });
  const { secrets } = (await answer.json()) as { secrets: unknown[] };
  if (secrets.length !== Math.min(1000, subject.perVault)) throw new Error(`aggregate gave ${secrets.length}`);
  return { ms: performance.now() - started, mib: (memoryMiB(subject.pid) ?? 0) - before };
}

async function p50(subject: ScaleSubject, request: () => Buffer): Promise<number> {
  return (await run(subject, request, 1)).p50Ms * 1000;
}

async function run(subject: ScaleSubject, request: () => Buffer, connections: number): Promise<Measured> {
  const measured = await measure({ port: subject.port, request, connections, seconds: SECONDS / 2 });
  if (measured.refused > 0) throw new Error(`${subject.name} refused ${measured.refused} requests`);
  return measured;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
