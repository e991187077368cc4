import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, rekey } from '../../server/src/operator/index.ts';
import { assertSameAs, type Everything, everythingOf } from './everything.ts';
import { newPostgresDatabase, query } from './postgres.ts';
import { killService, newDataDir, pause, runCoffer, spawnService, startCoffer } from './process.ts';
import { call, type DatabaseKind, startService } from './service.ts';

const READING = /^(vaults:list|secrets:(list|read|read_metadata)|audit:\w+|eaas:\w+|tokens:create|server:rekey)$/;
const REKEY = ['server', 'rekey'];
const PRELOADED = 'end-at-step.ts';
/** While one copy waits for a process, the others are read. */
const COPIES_AT_ONCE = 4;
/** Each is a process and a copy of everything, and a rekey changes hundreds of rows in one transaction. */
const TRIED_IN_TRANSACTION = 8;

export interface Place {
  dataDir: string;
  databaseUrl?: string | undefined;
  env: Record<string, string>;
}

/**
 * Two tenants with secrets in several versions, an encryption key, and what all of it said before. It is left by a kill, so that a rekey has
 * to bring in first what still waits beside the database.
 */
export class Installation {
  readonly kind: DatabaseKind;
  readonly env: Record<string, string>;
  /** What a rekey does, one after the other. */
  steps: string[] = [];
  #place: Place = { dataDir: '', env: {} };
  #tokens: string[] = [];
  #envelope = '';
  #before: Everything[] = [];

  constructor(kind: DatabaseKind, env: Record<string, string> = {}) {
    this.kind = kind;
    this.env = env;
  }

  async make(): Promise<void> {
    const databaseUrl = this.kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const service = await spawnService({ databaseUrl, env: this.env });
    const admin = service.adminToken();
    const send = async (token: string, method: string, path: string, body: unknown) => {
      const answer = await call(service.url, method, path, { token, body });
      assert.ok(answer.status < 300, answer.text);
      return answer.body;
    };
    const tenant = await send(admin, 'POST', '/v1/tenants', { name: 'other', owner_email: 'o@example.com' });
    this.#tokens = [admin, tenant.owner.token];
    for (const token of this.#tokens) {
      for (const [name, paths] of [
        ['shop', ['db/password', 'api/key']],
        ['bank', ['pin']],
      ] as const) {
        await send(token, 'POST', '/v1/vaults', { name, environment: 'staging' });
        for (const path of paths) {
          await send(token, 'POST', `/v1/vaults/${name}/secrets`, { path, value: `${name} ${path} 1` });
          for (const n of [2, 3])
            await send(token, 'PUT', `/v1/vaults/${name}/secrets/${path}`, { value: `${path} ${n}` });
        }
      }
    }
    await send(admin, 'POST', '/eaas/keys', { name: 'orders' });
    const sealed = await send(admin, 'POST', '/eaas/keys/orders/encrypt', { plaintext: 'sealed before' });
    this.#envelope = sealed.envelope;
    for (const token of this.#tokens) this.#before.push(await everythingOf(service.url, token));
    await killService(service);
    this.#place = { dataDir: service.dataDir, databaseUrl, env: this.env };
    if (databaseUrl !== undefined) await untilLeft(databaseUrl);
  }

  /** Rekeys a copy to the end, and notes each of its steps. */
  async noteSteps(given: Record<string, string> = {}): Promise<void> {
    await this.#onCopy(async (place) => {
      const file = `${place.dataDir}.steps`;
      const env = { ...place.env, ...given, COFFER_TEST_STEPS_FILE: file };
      const { code, stderr } = await runCoffer(REKEY, { ...place, env, preloaded: PRELOADED });
      assert.equal(code, 0, stderr);
      this.steps = readFileSync(file, 'utf8').trimEnd().split('\n');
    });
  }

  /**
   * Ends a rekey just before each of its steps, from the given one on, every time on a copy of its own, and checks what that left. Most of the
   * first steps change nothing: what is left the same, in every file and every row, as what was checked before is not checked again. Nor does a
   * statement inside a transaction: of those, so many are tried, as far apart as they can be.
   */
  async endAtEach(
    check: (place: Place) => Promise<void>,
    { from = 1, given = {} }: { from?: number; given?: Record<string, string> } = {},
  ): Promise<{ ended: number; checked: number }> {
    const waiting = triedSteps(this.steps).filter((step) => step >= from);
    const ended = waiting.length;
    const seen = new Set<string>();
    const endAndCheck = async (place: Place, step: number) => {
      await this.#endAt(place, step, given);
      const left = await digestOf(place);
      if (seen.has(left)) return;
      seen.add(left);
      await check(place);
    };
    const work = async () => {
      for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
        const where = `before step ${step} of ${this.steps.length} (${this.steps[step - 1]})`;
        await this.#onCopy((place) => endAndCheck(place, step)).catch((cause: unknown) => {
          waiting.length = 0;
          throw new Error(`a rekey that ended ${where}`, { cause });
        });
      }
    };
    await Promise.all(Array.from({ length: COPIES_AT_ONCE }, work));
    return { ended, checked: seen.size };
  }

  async #onCopy(act: (place: Place) => Promise<void>): Promise<void> {
    const dataDir = newDataDir();
    cpSync(this.#place.dataDir, dataDir, { recursive: true });
    const databaseUrl = this.#place.databaseUrl && (await copyOf(this.#place.databaseUrl));
    await act({ ...this.#place, dataDir, databaseUrl });
    // Hundreds of copies would need gigabytes.
    rmSync(dataDir, { recursive: true });
    if (databaseUrl !== undefined) await drop(databaseUrl);
  }

  async #endAt(place: Place, step: number, given: Record<string, string>): Promise<void> {
    const env = { ...place.env, ...given, COFFER_TEST_END_AT: String(step) };
    const { signal, stderr, code } = await startCoffer(REKEY, { ...place, env, preloaded: PRELOADED }).exited;
    assert.equal(signal, 'SIGKILL', `it ended by itself (${code}): ${stderr}`);
    if (place.databaseUrl !== undefined) await untilLeft(place.databaseUrl);
  }

  /** Starts the service there and holds everything against what was there before the first rekey. */
  async assertWhole(place: Place, env: Record<string, string> = place.env): Promise<void> {
    const { dataDir, databaseUrl } = place;
    const service = await startService(this.kind, {
      dataDir,
      env,
      keepData: true,
      ...(databaseUrl && { databaseUrl }),
    });
    for (const [i, token] of this.#tokens.entries()) {
      assertSameAs(await everythingOf(service.url, token), this.#before[i] as Everything, READING);
      const signed = await service.call('POST', '/auth/tokens', { token, body: { name: `made ${Math.random()}` } });
      assert.equal(signed.status, 201, signed.text);
    }
    const opened = await service.call('POST', '/eaas/keys/orders/decrypt', { body: { envelope: this.#envelope } });
    assert.equal(opened.body.plaintext, 'sealed before');
    await service.close();
    if (databaseUrl !== undefined) await untilLeft(databaseUrl);
  }
}

/** What leaves everything as it was: to end after it is to end before it. */
const CHANGES_NOTHING = /^(?:sent: )?(?:select|show|set|begin|pragma)\b/i;

/** Numbers of the steps, from 1: every one outside a transaction and every one of a file, and some of the statements inside each. */
function triedSteps(steps: readonly string[]): number[] {
  const tried = new Set<number>();
  let inside: number[] = [];
  let isInside = false;
  for (const [i, what] of steps.entries()) {
    const isStatement = /^(?:sent: )?(?:insert|update|delete|with)\b/i.test(what);
    if (isInside && isStatement) inside.push(i + 1);
    else if (i === 0 || !CHANGES_NOTHING.test(steps[i - 1] ?? '')) tried.add(i + 1);
    if (/^(?:sent: )?begin\b/i.test(what)) isInside = true;
    if (/^(?:sent: )?(?:commit|rollback)\b/i.test(what)) {
      const every = Math.max(1, inside.length / TRIED_IN_TRANSACTION);
      for (let at = 0; at < inside.length; at += every) tried.add(inside[Math.floor(at)] as number);
      isInside = false;
      inside = [];
    }
  }
  return [...tried].sort((a, b) => a - b);
}

/** What the command does, without a process of its own: starting hundreds of them takes longer than all the rest. */
export function rekeyAgain({ dataDir, databaseUrl, env }: Place, given: Record<string, string> = {}): Promise<string> {
  const where = { CV_DATA_DIR: dataDir, ...(databaseUrl !== undefined && { CV_DATABASE_URL: databaseUrl }) };
  return rekey(loadConfig({ ...where, ...env, ...given }));
}

/** SQLite makes its `-shm` anew from the log when nobody has the database open, and the lock is an empty database with a journal that says so. */
const NOTHING_IN_IT = /-shm$|^lock(-journal)?$/;

/** Every file and every row. */
async function digestOf({ dataDir, databaseUrl }: Place): Promise<string> {
  const hash = createHash('sha256');
  for (const name of readdirSync(dataDir).sort()) {
    if (NOTHING_IN_IT.test(name)) continue;
    hash.update(`${name}\0`).update(readFileSync(join(dataDir, name)));
  }
  if (databaseUrl === undefined) return hash.digest('hex');
  const tables = await query(databaseUrl, `select tablename from pg_tables where schemaname = 'public'`);
  const rows = tables.map(
    ({ tablename }) =>
      `select '${tablename}' as name, md5(string_agg(one::text, ' ' order by one::text)) as rows from "${tablename}" one`,
  );
  const digests = await query(databaseUrl, `${rows.join(' union all ')} order by 1`);
  await untilLeft(databaseUrl);
  return hash.update(JSON.stringify(digests)).digest('hex');
}

/** The server's own database, from where others are made and dropped, and the name of the given one. */
function atServer(databaseUrl: string): { server: string; name: string } {
  const url = new URL(databaseUrl);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  return { server: url.href, name };
}

/** Sessions end a moment after their process; what a killed one was about to commit is committed by then. */
async function untilLeft(databaseUrl: string): Promise<void> {
  const { server, name } = atServer(databaseUrl);
  while ((await query(server, 'select 1 from pg_stat_activity where datname = $1', [name])).length > 0) await pause(20);
}

async function copyOf(databaseUrl: string): Promise<string> {
  const { server, name } = atServer(databaseUrl);
  const copy = `copy_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await query(server, `create database ${copy} template ${name} strategy file_copy`);
  return databaseUrl.replace(/\/\w+$/, `/${copy}`);
}

async function drop(databaseUrl: string): Promise<void> {
  const { server, name } = atServer(databaseUrl);
  await query(server, `drop database ${name}`);
}
