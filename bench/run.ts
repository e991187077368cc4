import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPostgresDatabase, startPostgres } from '../test/support/postgres.ts';
import { getRequest, type Measured, measure } from './load.ts';
import { cpuSeconds, memoryMiB, type Subject, startProcess, stopProcess } from './subject.ts';

/**
 * Measures the service beside a bare node:http server, in one run, with the same client. Rounds alternate between the subjects, so that a
 * machine that is busy for a while is busy for all of them; the table shows medians and ratios to the bare server.
 */
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32);
const SERVER = 'server/src/main.ts';

interface Row extends Measured {
  cpuMicros: number | null;
}

const cleanUp: (() => Promise<void> | void)[] = [];
try {
  const postgres = await startPostgres();
  cleanUp.push(() => postgres.remove());
  const sqlite = await startCoffer('Coffer, SQLite', {});
  const onPostgres = await startCoffer('Coffer, PostgreSQL', { CV_DATABASE_URL: await newPostgresDatabase(postgres) });
  const answer = await fetch(`http://127.0.0.1:${sqlite.port}/auth/me`, {
    headers: { authorization: sqlite.authorization },
  });
  const bare = await startBare((await answer.text()).length, sqlite.request);
  const subjects: Subject[] = [bare, sqlite, onPostgres];

  const idle = subjects.map((subject) => memoryMiB(subject.pid));
  const rows = new Map<Subject, Row[]>(subjects.map((subject) => [subject, []]));
  for (const subject of subjects) await measure({ ...subject, connections: CONNECTIONS, seconds: 2 });
  for (let round = 0; round < ROUNDS; round++) {
    for (const subject of subjects) rows.get(subject)?.push(await once(subject));
  }
  report(subjects, rows, idle);
} finally {
  for (const step of cleanUp.reverse()) await step();
}
process.exit(0);

async function startCoffer(name: string, env: Record<string, string>): Promise<Subject & { authorization: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'coffer-bench-'));
  const { child, port } = await startProcess(SERVER, [], { CV_PORT: '0', CV_DATA_DIR: dataDir, ...env });
  const stop = async () => {
    await stopProcess(child);
    rmSync(dataDir, { recursive: true, force: true });
  };
  cleanUp.push(stop);
  const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
  const request = getRequest('/auth/me', token);
  return { name, port, request, pid: Number(child.pid), stop, authorization: `Bearer ${token}` };
}

/** It gets the very bytes the service gets, and answers as many. */
async function startBare(bodyBytes: number, request: Buffer): Promise<Subject> {
  const { child, port } = await startProcess('bench/bare-process.ts', [String(bodyBytes)], {});
  const stop = () => stopProcess(child);
  cleanUp.push(stop);
  return { name: 'bare node:http', port, request, pid: Number(child.pid), stop };
}

async function once(subject: Subject): Promise<Row> {
  const before = cpuSeconds(subject.pid);
  const measured = await measure({ ...subject, connections: CONNECTIONS, seconds: SECONDS });
  const after = cpuSeconds(subject.pid);
  if (measured.refused > 0) throw new Error(`${subject.name} refused ${measured.refused} requests`);
  const cpuMicros = before === null || after === null ? null : ((after - before) * 1e6) / measured.requests;
  return { ...measured, cpuMicros };
}

function report(subjects: Subject[], rows: Map<Subject, Row[]>, idle: (number | null)[]): void {
  const results = subjects.map((subject, i) => {
    const of = (pick: (row: Row) => number | null) => median((rows.get(subject) ?? []).map((row) => pick(row) ?? 0));
    return {
      name: subject.name,
      per_second: Math.round(of((row) => row.perSecond)),
      p50_ms: round(
        of((row) => row.p50Ms),
        2,
      ),
      p99_ms: round(
        of((row) => row.p99Ms),
        2,
      ),
      cpu_us_per_request: round(
        of((row) => row.cpuMicros),
        1,
      ),
      memory_idle_mib: Math.round(idle[i] ?? 0),
      memory_loaded_mib: Math.round(memoryMiB(subject.pid) ?? 0),
    };
  });
  const bare = results[0];
  const head = `GET /auth/me with durable audit; ${CONNECTIONS} connections; ${ROUNDS} rounds of ${SECONDS} s; ${availableParallelism()} × ${cpus()[0]?.model}; Node ${process.version}`;
  const lines = [
    '| subject | requests/s | ratio | p50 ms | p99 ms | processor µs/request | MiB idle | MiB loaded |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    ...results.map((r) => {
      const ratio = round(r.per_second / (bare?.per_second ?? 1), 2);
      return `| ${r.name} | ${r.per_second} | ${ratio} | ${r.p50_ms} | ${r.p99_ms} | ${r.cpu_us_per_request} | ${r.memory_idle_mib} | ${r.memory_loaded_mib} |`;
    }),
  ];
  const text = `${head}\n\n${lines.join('\n')}\n`;
  process.stdout.write(`\n${text}`);
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/latest.md', text);
  writeFileSync('bench/results/latest.json', `${JSON.stringify({ head, results }, null, 2)}\n`);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
