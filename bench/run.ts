import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPostgresDatabase, startPostgres } from '../test/support/postgres.ts';
import { pathOf, vaultOf } from './data-set.ts';
import { CIPHER_SIZES, cipherPerSecond, encryptionCases } from './encryption.ts';
import { getRequest, type Load, type Measured, measure, writeRequest } from './load.ts';
import { loginsPerSecond } from './logins.ts';
import { machineReads } from './machines.ts';
import { aggregateThousand, compareScale, type ScaleSubject, startSeeded } from './scale.ts';
import { cpuSeconds, memoryMiB, startProcess, stopProcess } from './subject.ts';

/**
 * Measures the service beside a bare node:http server, in one run, with the same client. Rounds alternate between the subjects, so that a
 * machine that is busy for a while is busy for all of them; tables show medians, and ratios to the bare server.
 */
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32);
const ENCRYPTION_ROUNDS = Math.min(ROUNDS, 3);
const LARGE_VAULTS = Number(process.env['BENCH_VAULTS'] ?? 1000);
const PER_VAULT = 1000;

interface Case {
  what: string;
  name: string;
  pid: number;
  load: Pick<Load, 'port' | 'request' | 'tls'>;
}

const cleanUp: (() => Promise<void> | void)[] = [];
const out: string[] = [];
try {
  const head = `${CONNECTIONS} connections; ${ROUNDS} rounds of ${SECONDS} s; ${availableParallelism()} × ${cpus()[0]?.model}; Node ${process.version}`;
  out.push(head);
  const postgres = await startPostgres();
  cleanUp.push(() => postgres.remove());
  const databases: [string, () => Promise<Record<string, string>>][] = [
    ['SQLite', async () => ({})],
    ['PostgreSQL', async () => ({ CV_DATABASE_URL: await newPostgresDatabase(postgres) })],
  ];
  const small = new Map<string, ScaleSubject>();
  for (const [name, env] of databases) small.set(name, await seeded(name, await env(), 1));
  out.push(await compareWithBare(small));
  out.push(await compareMachines(small));
  out.push(await compareEncryption(small));
  out.push(await loginsPerSecond());
  for (const [name, env] of databases) out.push(await scaleOf(name, small.get(name) as ScaleSubject, await env()));
} finally {
  for (const step of cleanUp.reverse()) await step();
}
const text = `${out.join('\n\n')}\n`;
process.stdout.write(`\n${text}`);
mkdirSync('bench/results', { recursive: true });
writeFileSync('bench/results/latest.md', text);
process.exit(0);

async function seeded(name: string, env: Record<string, string>, vaults: number) {
  const CV_DATA_DIR = mkdtempSync(join(tmpdir(), 'coffer-bench-'));
  cleanUp.push(() => rmSync(CV_DATA_DIR, { recursive: true, force: true }));
  const subject = await startSeeded(`Coffer, ${name}`, { CV_DATA_DIR, ...env }, vaults, PER_VAULT);
  cleanUp.push(() => subject.stop());
  return subject;
}

async function compareWithBare(subjects: Map<string, ScaleSubject>): Promise<string> {
  const cases: Case[] = [];
  const secret = `/v1/vaults/${vaultOf(0)}/secrets/${pathOf(7)}`;
  for (const [what, path] of [
    ['GET /auth/me', '/auth/me'],
    ['GET a secret', secret],
  ] as const) {
    const first = subjects.values().next().value as ScaleSubject;
    const answer = await fetch(`http://127.0.0.1:${first.port}${path}`, {
      headers: { authorization: `Bearer ${first.token}` },
    });
    // It gets the very bytes the service gets, and answers as many.
    const bare = await startProcess('bench/bare-process.ts', [String((await answer.text()).length)], {});
    cleanUp.push(() => stopProcess(bare.child));
    const load = { port: bare.port, request: getRequest(path, first.token) };
    cases.push({ what, name: 'bare node:http', pid: Number(bare.child.pid), load });
    for (const { name, port, pid, token } of subjects.values()) {
      cases.push({ what, name, pid, load: { port, request: getRequest(path, token) } });
    }
  }
  for (const { name, port, pid, token } of subjects.values()) {
    let n = 0;
    const request = () =>
      writeRequest('PUT', `/v1/vaults/${vaultOf(0)}/secrets/${pathOf(n++ % PER_VAULT)}`, token, { value: 'x' });
    cases.push({ what: 'PUT a secret', name, pid, load: { port, request } });
  }
  return table(cases, await measureAll(cases));
}

/** Ratios are to the read with a personal access token. */
async function compareMachines(subjects: Map<string, ScaleSubject>): Promise<string> {
  const parts: string[] = [];
  for (const subject of subjects.values()) {
    const { name, pid } = subject;
    const cases = (await machineReads(subject)).map(({ what, load }) => ({ what, name, pid, load }));
    parts.push(table(cases, await measureAll(cases, 1)));
  }
  return parts.join('\n\n');
}

async function compareEncryption(subjects: Map<string, ScaleSubject>): Promise<string> {
  const cases: Case[] = [];
  const perRequest = new Map<string, number>();
  for (const subject of subjects.values()) {
    for (const { what, items, request, answerBytes } of await encryptionCases(subject)) {
      if (!perRequest.has(what)) {
        const bare = await startProcess('bench/bare-process.ts', [String(answerBytes)], {});
        cleanUp.push(() => stopProcess(bare.child));
        cases.push({ what, name: 'bare node:http', pid: Number(bare.child.pid), load: { port: bare.port, request } });
        perRequest.set(what, items);
      }
      cases.push({ what, name: subject.name, pid: subject.pid, load: { port: subject.port, request } });
    }
  }
  cases.sort((a, b) => [...perRequest.keys()].indexOf(a.what) - [...perRequest.keys()].indexOf(b.what));
  const measured = await measureAll(cases, ENCRYPTION_ROUNDS);
  const ciphers = CIPHER_SIZES.map((size) => `${size} B ${Math.round(cipherPerSecond(size))}/s`);
  return `${table(cases, measured)}\n\nThe cipher alone: ${ciphers.join(', ')}.`;
}

type Row = Measured & { cpuMicros: number | null };

async function measureAll(cases: Case[], rounds = ROUNDS): Promise<Map<Case, Row[]>> {
  const rows = new Map<Case, Row[]>(cases.map((one) => [one, []]));
  for (const { load } of cases) await measure({ ...load, connections: CONNECTIONS, seconds: 1 });
  for (let round = 0; round < rounds; round++) {
    for (const one of cases) rows.get(one)?.push(await once(one));
  }
  return rows;
}

async function once({ what, name, load, pid }: Case): Promise<Row> {
  const before = cpuSeconds(pid);
  const measured = await measure({ ...load, connections: CONNECTIONS, seconds: SECONDS });
  const after = cpuSeconds(pid);
  if (measured.refused > 0) throw new Error(`${name}, ${what}: refused ${measured.refused} requests`);
  const cpuMicros = before === null || after === null ? null : ((after - before) * 1e6) / measured.requests;
  return { ...measured, cpuMicros };
}

function table(cases: Case[], rows: Map<Case, Row[]>): string {
  const lines = [
    '| request | subject | requests/s | ratio | p50 ms | p99 ms | processor µs/request | MiB |',
    '|---|---|---:|---:|---:|---:|---:|---:|',
  ];
  // Ratios are to the bare server, or to the first where there is none.
  let bare: number | null = null;
  for (const one of cases) {
    const of = (pick: (row: Row) => number | null) => median((rows.get(one) ?? []).map((row) => pick(row) ?? 0));
    const perSecond = of((row) => row.perSecond);
    if (bare === null || one.name.startsWith('bare')) bare = perSecond;
    const ratio = (perSecond / bare).toFixed(2);
    const times = [
      of((row) => row.p50Ms).toFixed(2),
      of((row) => row.p99Ms).toFixed(2),
      of((row) => row.cpuMicros).toFixed(1),
    ];
    const memory = Math.round(memoryMiB(one.pid) ?? 0);
    lines.push(
      `| ${one.what} | ${one.name} | ${Math.round(perSecond)} | ${ratio} | ${times.join(' | ')} | ${memory} |`,
    );
  }
  return lines.join('\n');
}

async function scaleOf(name: string, small: ScaleSubject, env: Record<string, string>): Promise<string> {
  const large = await seeded(name, env, LARGE_VAULTS);
  const rows = await compareScale(small, large, CONNECTIONS);
  const aggregate = await aggregateThousand(large);
  const total = LARGE_VAULTS * PER_VAULT;
  return [
    `${name}: ${PER_VAULT} secrets in 1 vault beside ${total} in ${LARGE_VAULTS} (seeded in ${Math.round(large.seedSeconds)} s)`,
    '',
    '| what | small | large | large ÷ small |',
    '|---|---:|---:|---:|',
    ...rows.map(
      ({ what, small: s, large: l }) => `| ${what} | ${Math.round(s)} | ${Math.round(l)} | ${(l / s).toFixed(2)} |`,
    ),
    '',
    `Aggregate of 1,000 secrets: ${Math.round(aggregate.ms)} ms, ${Math.round(aggregate.mib)} MiB more memory.`,
  ].join('\n');
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
