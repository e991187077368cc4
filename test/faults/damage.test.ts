import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { explainFailure } from '../../server/src/operator/index.ts';
import { assertUnharmed, statusOf, untilReady } from '../support/faults.ts';
import { type Acknowledged, Load } from '../support/load.ts';
import { newPostgresDatabase, query, startPostgres } from '../support/postgres.ts';
import {
  killService,
  newDataDir,
  pause,
  READY_LINE,
  runCoffer,
  spawnService,
  startServiceProcess,
  stopService,
} from '../support/process.ts';
import { call, startService } from '../support/service.ts';

const PAGE_BYTES = 4096;
const POSTGRES_PAGE_BYTES = 2 * PAGE_BYTES;
const FRAME_BYTES = PAGE_BYTES + 24;
const STARTS_WITHIN_MS = 30_000;

interface Killed {
  dataDir: string;
  token: string;
  acknowledged: readonly Acknowledged[];
}

/** A folder as a kill under load leaves it, with a log and a journal that are needed. */
async function killedUnderLoad(): Promise<Killed> {
  const service = await spawnService();
  const load = new Load();
  const token = service.adminToken();
  load.start(service.url, token);
  await pause(2000);
  await killService(service);
  await load.stop();
  return { dataDir: service.dataDir, token, acknowledged: load.acknowledged };
}

function copyOf({ dataDir }: { dataDir: string }): string {
  const copy = newDataDir();
  cpSync(dataDir, copy, { recursive: true });
  return copy;
}

/** Nothing is lost, or the start is refused in a sentence: there is no third way. Says which it was. */
async function startsWholeOrRefuses(
  t: TestContext,
  dataDir: string,
  killed: Killed,
  refusal: RegExp,
): Promise<boolean> {
  const started = startServiceProcess({ dataDir });
  const since = performance.now();
  for (;;) {
    const url = READY_LINE.exec(started.stdout())?.[1];
    if (url !== undefined) {
      await assertUnharmed(url, killed.token, killed.acknowledged);
      await killService(started);
      return true;
    }
    if (started.stderr() !== '') {
      const { code, stderr } = await started.exited;
      assert.equal(code, 1);
      assert.match(stderr, refusal);
      assert.match(stderr, /^Coffer cannot start\. [^\n]+ Nothing was changed\.\n$/);
      return false;
    }
    assert.ok(performance.now() - since < STARTS_WITHIN_MS, `neither: ${started.stdout()}`);
    await pause(10);
    t.signal.throwIfAborted();
  }
}

describe('after a kill', () => {
  let killed: Killed;
  before(async () => {
    killed = await killedUnderLoad();
  });

  test('a write-ahead log that was cut off is noticed wherever it was cut', async (t) => {
    const { size } = statSync(join(killed.dataDir, 'coffer.db-wal'));
    const ends = [0, 32, size >> 2, size >> 1, ...[40, 20, 10, 5, 1].map((n) => size - n * FRAME_BYTES), size - 100];
    let refused = 0;
    for (const end of ends) {
      const dataDir = copyOf(killed);
      truncateSync(join(dataDir, 'coffer.db-wal'), end);
      const refusal =
        /is older than before: acknowledged changes are missing|The audit journal \S+ (lacks batch|does not match)/;
      if (await startsWholeOrRefuses(t, dataDir, killed, refusal)) continue;
      refused++;
      assert.equal(statSync(join(dataDir, 'coffer.db-wal')).size, end, 'the refused start changed something');
      copyFileSync(join(killed.dataDir, 'coffer.db-wal'), join(dataDir, 'coffer.db-wal'));
      assert.ok(await startsWholeOrRefuses(t, dataDir, killed, refusal), 'with the log put back all is there');
    }
    t.diagnostic(`${refused} of ${ends.length} refused; in the others nothing was missing`);
    assert.ok(refused > 0);
  });

  test('without the mark of commits it goes on, as the message says', async () => {
    const dataDir = copyOf(killed);
    rmSync(join(dataDir, 'coffer.db-wal'));
    for (const name of ['coffer.db-commits', 'audit.journal']) rmSync(join(dataDir, name));
    const { code, stderr } = await runCoffer(['server', 'migrate'], { dataDir });
    assert.equal(code, 0, stderr);
  });

  test('an audit journal that was cut off is noticed wherever it was cut', async (t) => {
    const ends = [0, 100, 1, 2, 3, 5, 20, 200].map((n) => (n < 100 ? n * PAGE_BYTES : n));
    for (const end of ends) {
      const dataDir = copyOf(killed);
      truncateSync(join(dataDir, 'audit.journal'), end);
      const refusal = /The audit journal \S+ (was truncated|does not match).*move the file out of the folder/;
      assert.equal(await startsWholeOrRefuses(t, dataDir, killed, refusal), false, `cut at ${end}`);
    }
  });

  test('a page of the database that was damaged never gives a wrong value', async (t) => {
    const whole = copyOf(killed);
    // What the log held is in the file then.
    assert.equal((await runCoffer(['server', 'rekey'], { dataDir: whole })).code, 0);
    const pages = statSync(join(whole, 'coffer.db')).size / PAGE_BYTES;
    const seen = { refused: 0, failed: 0, unharmed: 0 };
    for (let n = 0; n < 30; n++) {
      const dataDir = copyOf({ dataDir: whole });
      damage(join(dataDir, 'coffer.db'), Math.floor((n / 30) * pages));
      seen[await seenOn(dataDir, killed)]++;
    }
    const { refused, failed, unharmed } = seen;
    t.diagnostic(
      `30 of ${pages} pages: ${refused} starts refused, ${failed} with requests that failed, ${unharmed} unharmed`,
    );
    assert.ok(failed > 0);
  });
});

function damage(file: string, page: number): void {
  const fd = openSync(file, 'r+');
  writeSync(fd, randomBytes(PAGE_BYTES / 2), 0, PAGE_BYTES / 2, page * PAGE_BYTES + PAGE_BYTES / 4);
  closeSync(fd);
}

/** Everything that was acknowledged is right, or is refused with the right code; and what the log says of the operator's part is there. */
async function seenOn(dataDir: string, { token, acknowledged }: Killed): Promise<'refused' | 'failed' | 'unharmed'> {
  const opened = await startService('sqlite', { dataDir, keepData: true }).catch((error: unknown) => error);
  if (opened instanceof Error) {
    assert.match(explainFailure(opened), /^[^\n]+(restore a backup|Restore)[^\n]*$/i);
    return 'refused';
  }
  const service = opened as Awaited<ReturnType<typeof startService>>;
  service.expectErrorLogs(/./);
  let failures = 0;
  for (const { version: known } of acknowledged) {
    if (known === undefined) continue;
    const path = `/v1/vaults/load/secrets/${known.path}?version=${known.version}`;
    const { status, body, text } = await service.call('GET', path, { token });
    if (status === 200) assert.equal(body.value, known.value);
    else failures++;
    assert.ok([200, 503, 500, 404, 401].includes(status), text);
    if (status === 500) assert.match(body.error.message, /damaged or changed/, service.logs.join(''));
    if (status === 503 || status === 500) assert.match(service.logs.join(''), /"what_to_do":"[^"]*backup/);
  }
  const verified = await service.call('GET', '/v1/audit/verify', { token });
  if (verified.status !== 200 || verified.body.valid !== true) failures++;
  assert.ok([200, 503, 401].includes(verified.status), `${verified.text} ${service.logs.slice(-3).join('')}`);
  await service.close();
  return failures > 0 ? 'failed' : 'unharmed';
}

test('a database that is damaged while it runs: refusals, no wrong value, and a backup brings all of it back', async (t) => {
  const service = await spawnService();
  const token = service.adminToken();
  const load = new Load();
  load.start(service.url, token);
  await pause(1500);
  const acknowledged = [...load.acknowledged];
  const file = `${service.dataDir}.backup`;
  const made = await runCoffer(['server', 'backup', file], { dataDir: service.dataDir });
  assert.equal(made.code, 0, made.stderr);

  const database = join(service.dataDir, 'coffer.db');
  const isTold = () =>
    /"what_to_do":"The database in the data folder cannot be used: its file is damaged/.test(service.stdout());
  for (const since = performance.now(); !isTold(); await pause(50)) {
    assert.ok(performance.now() - since < 60_000, 'the damage does not show');
    for (let page = 2; page < statSync(database).size / PAGE_BYTES; page++) damage(database, page);
  }
  await pause(300);
  assert.equal(await statusOf(service.url, '/health'), 200, 'the process lives');
  assert.equal(load.broken, 0);
  // Whether a false value was read shows here.
  await load.stop();
  const statuses = Map.groupBy(load.refused, ({ status }) => status);
  t.diagnostic([...statuses].map(([status, all]) => `${all.length} × ${status}`).join(', '));
  await killService(service);

  const dataDir = newDataDir();
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(join(service.dataDir, 'root.key'), join(dataDir, 'root.key'));
  const restored = await runCoffer(['server', 'restore', file], { dataDir });
  assert.equal(restored.code, 0, restored.stderr);
  const again = await spawnService({ dataDir });
  await assertUnharmed(again.url, token, acknowledged);
  await killService(again);
});

test('damaged pages of PostgreSQL are refused with what to do, and what is not damaged works', async () => {
  const server = await startPostgres();
  try {
    const databaseUrl = await newPostgresDatabase(server);
    const service = await spawnService({ databaseUrl });
    const token = service.adminToken();
    const load = new Load();
    load.start(service.url, token);
    await pause(1500);
    await load.stop();
    const [row] = await query(databaseUrl, `select pg_relation_filepath('secret_versions') as path`);
    const file = join(server.folder, 'data', String(row?.['path']));
    await server.stop();
    const whole = readFileSync(file);
    for (let page = 0; page < whole.length / POSTGRES_PAGE_BYTES; page++) damage(file, 2 * page);
    await server.start();
    await untilReady(service.url);
    const known = load.acknowledged.find(({ version }) => version !== undefined)?.version;
    const read = () => call(service.url, 'GET', `/v1/vaults/load/secrets/${known?.path}?version=1`, { token });
    assert.equal((await read()).status, 503);
    assert.match(service.stdout(), /"what_to_do":"PostgreSQL reports that its data is damaged/);
    assert.equal((await call(service.url, 'GET', '/auth/me', { token })).status, 200);
    await server.stop();
    writeFileSync(file, whole);
    await server.start();
    await untilReady(service.url);
    await assertUnharmed(service.url, token, load.acknowledged);
    await stopService(service);
  } finally {
    await server.remove();
  }
});
