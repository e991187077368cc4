import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type LogLine, logLines } from './log-lines.ts';
import { newPostgresDatabase, query } from './postgres.ts';
import { type ProcessOptions, type ServiceProcess, spawnService } from './process.ts';
import { type Answer, type CallOptions, call } from './service.ts';
import { until } from './until.ts';

export const WORKERS = 3;

/** The service with several workers on PostgreSQL, once all of them are ready. */
export async function spawnWorkers(options: ProcessOptions = {}): Promise<ServiceProcess & { databaseUrl: string }> {
  const databaseUrl = options.databaseUrl ?? (await newPostgresDatabase());
  return { ...(await spawnReady({ ...options, databaseUrl })), databaseUrl };
}

/** The same on SQLite. */
export function spawnWorkersOnSqlite(options: Omit<ProcessOptions, 'databaseUrl'> = {}): Promise<ServiceProcess> {
  return spawnReady(options);
}

async function spawnReady(options: ProcessOptions): Promise<ServiceProcess> {
  const env = { CV_WORKERS: String(WORKERS), ...options.env };
  const service = await spawnService({ ...options, env });
  await until('all workers are ready', () => workerPids(service).size === Number(env.CV_WORKERS));
  return service;
}

/** Runs SQL on the database of the service, beside it. */
export function queryOf(service: ServiceProcess & { databaseUrl?: string }, sql: string): Promise<Row[]> | Row[] {
  if (service.databaseUrl !== undefined) return query(service.databaseUrl, sql);
  const database = new DatabaseSync(join(service.dataDir, 'coffer.db'), { timeout: 5000 });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

type Row = Record<string, unknown>;

/** The process of each worker that was ready last, by its number. */
export function workerPids(service: Pick<ServiceProcess, 'stdout'>): Map<number, number> {
  const ready = logLines(service).filter(({ msg }) => msg === 'a worker is ready');
  return new Map(ready.map(({ worker, pid }) => [Number(worker), Number(pid)]));
}

/** The lines about workers that ended and are replaced. */
export function replacedIn(service: Pick<ServiceProcess, 'stdout'>): LogLine[] {
  return logLines(service).filter(({ msg }) => msg === 'a worker ended and is replaced');
}

/** One that ended and that nobody has waited for yet does not run. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    return false;
  }
  const file = `/proc/${pid}/stat`;
  return !existsSync(file) || !/\) Z /.test(readFileSync(file, 'utf8'));
}

/** Over a connection of its own, so that each call may reach another worker. */
export function freshCall(url: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  return call(url, method, path, { ...options, headers: { connection: 'close', ...options.headers } });
}

export async function metricsOf(service: ServiceProcess): Promise<string[]> {
  const { status, text } = await freshCall(service.url, 'GET', '/metrics', { token: service.adminToken() });
  assert.equal(status, 200, text);
  return text.split('\n');
}

/** The same, once every worker has reported in time. */
export async function metricsOfAll(service: ServiceProcess): Promise<string[]> {
  let lines: string[] = [];
  await until('all workers report their metrics', async () => {
    lines = await metricsOf(service);
    return sumOf(lines, 'cv_workers_reporting') === WORKERS;
  });
  return lines;
}

/** The value of a series; of all series with this name, the sum; 0 if there is none. */
export function sumOf(lines: readonly string[], series: string): number {
  const found = lines.filter((line) => line.startsWith(`${series} `) || line.startsWith(`${series}{`));
  return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

export async function isRefused(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    assert.match(String((error as NodeJS.ErrnoException).code), /^(ECONNREFUSED|ECONNRESET)$/);
    return true;
  } finally {
    socket.destroy();
  }
}

/** A request whose headers the service has accepted and whose body is still to be sent. */
export async function beginRequest(
  service: ServiceProcess,
  path: string,
  body: unknown,
): Promise<{ finish(): Promise<number | undefined> }> {
  const text = JSON.stringify(body);
  const sent = request(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.adminToken()}`,
      'content-type': 'application/json',
      'content-length': text.length,
      expect: '100-continue',
    },
  });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    sent.once('response', (response) => response.resume().once('end', () => resolve(response.statusCode)));
    sent.once('error', reject);
  });
  // An error before the body is sent is an error of the test, which then waits for `finish`.
  answered.catch(() => {});
  sent.flushHeaders();
  await once(sent, 'continue');
  return {
    finish: () => {
      sent.end(text);
      return answered;
    },
  };
}
