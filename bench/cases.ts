import type { DatabaseKind, Installations } from './installation.ts';
import { type Load, type Measured, measureAnswered, probe } from './load.ts';
import type { PeerName } from './peers.ts';
import type { Column, Row } from './report.ts';
import { median } from './statistics.ts';
import { cpuSeconds, memoryMiB } from './subject.ts';

export interface Settings {
  /** How long each measurement takes. */
  seconds: number;
  rounds: number;
  connections: number[];
  /** How many vaults, of a thousand secrets each, the large installation has. */
  vaults: number;
  databases: DatabaseKind[];
  /** Other checkouts of the service, measured in the same rounds as this one. */
  beside: string[];
  /** Other products, measured in the same rounds. */
  peers: PeerName[];
}

/** The number of connections where only one is measured. */
export const USUAL_CONNECTIONS = 32;
export const WARM_UP_SECONDS = 0.5;

export interface Case {
  request: string;
  subject: string;
  connections: number;
  /** Whose processor time and memory it is. */
  pids: number[];
  load: Pick<Load, 'port' | 'request' | 'tls'>;
  /** What its ratio is to; nothing if others are measured by it. */
  yardstick?: Case;
}

export const CASE_COLUMNS: Column[] = [
  { key: 'request', heading: 'request' },
  { key: 'subject', heading: 'subject' },
  { key: 'connections', heading: 'connections', digits: 0 },
  { key: 'perSecond', heading: 'requests/s', digits: 0 },
  { key: 'ratio', heading: 'ratio', digits: 3 },
  { key: 'p50Ms', heading: 'p50 ms', digits: 2 },
  { key: 'p99Ms', heading: 'p99 ms', digits: 2 },
  { key: 'p99ToP50', heading: 'p99 ÷ p50', digits: 1 },
  { key: 'cpuMicros', heading: 'processor µs/request', digits: 1 },
  { key: 'memoryMiB', heading: 'MiB', digits: 0 },
  { key: 'clientPercent', heading: 'client, % of a core', digits: 0 },
];

/** A bare node:http server that gets the very bytes the service gets, and answers as many. */
export async function bareCases(
  installations: Installations,
  request: string,
  { port, bytes }: { port: number; bytes: Load['request'] },
  connections: number[],
): Promise<Case[]> {
  const { status, bytes: answerBytes } = await probe(port, typeof bytes === 'function' ? bytes(0) : bytes);
  if (status < 200 || status > 299) throw new Error(`${request}: ${status}`);
  const bare = await installations.process('bench/bare-process.ts', [String(answerBytes)], {});
  const load = { port: bare.port, request: bytes };
  const pids = [Number(bare.child.pid)];
  return connections.map((count) => ({ request, subject: 'bare node:http', connections: count, pids, load }));
}

type Once = Measured & { cpuMicros: number };

/**
 * Rounds go through all cases in turn, so that a machine that is busy for a while is busy for all of them. What is shown are medians; a
 * request that is refused fails the whole.
 */
export async function measureCases(cases: Case[], { seconds, rounds }: Settings): Promise<Row[]> {
  const runs = new Map<Case, Once[]>(cases.map((one) => [one, []]));
  for (const one of cases) await measureOnce(one, Math.min(WARM_UP_SECONDS, seconds));
  for (let round = 0; round < rounds; round++) {
    for (const one of cases) runs.get(one)?.push(await measureOnce(one, seconds));
  }
  const of = (one: Case, pick: (row: Once) => number) => median((runs.get(one) ?? []).map((row) => pick(row)));
  return cases.map((one) => {
    const perSecond = of(one, (row) => row.perSecond);
    const base = one.yardstick ?? one;
    const [p50Ms, p99Ms] = [of(one, (row) => row.p50Ms), of(one, (row) => row.p99Ms)];
    return {
      request: one.request,
      subject: one.subject,
      connections: one.connections,
      perSecond,
      ratio: perSecond / of(base, (row) => row.perSecond),
      p50Ms,
      p99Ms,
      p99ToP50: p99Ms / p50Ms,
      cpuMicros: of(one, (row) => row.cpuMicros),
      memoryMiB: one.pids.reduce((sum, pid) => sum + (memoryMiB(pid) ?? Number.NaN), 0),
      clientPercent: of(one, (row) => row.clientShare) * 100,
    };
  });
}

export async function measureOnce({ request, subject, load, connections, pids }: Case, seconds: number): Promise<Once> {
  const used = () => pids.reduce((sum, pid) => sum + (cpuSeconds(pid) ?? Number.NaN), 0);
  const before = used();
  const measured = await measureAnswered(`${subject}, ${request}`, { ...load, connections, seconds });
  const cpuMicros = ((used() - before) * 1e6) / measured.requests;
  return { ...measured, cpuMicros };
}
