import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  backup,
  loadConfig,
  rekey,
  restore,
  verifyBackup,
  verifyInstallation,
} from '../../server/src/operator/index.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { newDataDir, spawnService, stopService } from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-progress-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Part {
  title: string;
  unit: string;
  total: number | null;
  reached: number[];
}

/** Writes down what it is shown. */
function recorder(isShown = true) {
  const parts: Part[] = [];
  const progress = {
    isShown,
    begin: (part: Omit<Part, 'reached'>) => void parts.push({ ...part, reached: [] }),
    reach: (done: number) => void parts.at(-1)?.reached.push(done),
  };
  return { parts, progress };
}

/** It only grows, and reaches the end if that is known. */
function assertReached({ title, total, reached }: Part): void {
  assert.ok(reached.length > 0, title);
  assert.deepEqual(
    reached,
    reached.toSorted((a, b) => a - b),
    title,
  );
  if (total !== null) assert.equal(reached.at(-1), total, title);
}

onBothDatabases('progress of an operator’s commands', (kind) => {
  const fresh = async () => ({
    dataDir: newDataDir(),
    databaseUrl: kind === 'postgres' ? await newPostgresDatabase() : undefined,
  });
  const configOf = ({ dataDir, databaseUrl }: Awaited<ReturnType<typeof fresh>>) =>
    loadConfig({ CV_DATA_DIR: dataDir, ...(databaseUrl !== undefined && { CV_DATABASE_URL: databaseUrl }) });
  const file = join(folder, `${kind}.backup`);
  let from: Awaited<ReturnType<typeof fresh>>;

  before(async () => {
    from = await fresh();
    const service = await spawnService(from);
    for (const name of ['a', 'b', 'c']) {
      const made = await call(service.url, 'POST', '/v1/vaults', { token: service.adminToken(), body: { name } });
      assert.equal(made.status, 201, made.text);
    }
    await stopService(service);
  });

  test('a backup says how many rows there are, and reaches all of them', async () => {
    const { parts, progress } = recorder();
    await backup(configOf(from), file, { progress });
    assert.deepEqual(
      parts.map(({ title, unit }) => [title, unit]),
      [['Backup', 'rows']],
    );
    assert.ok(Number(parts[0]?.total) > 10);
    for (const part of parts) assertReached(part);
  });

  test('nothing is counted where nobody sees it', async () => {
    const { parts, progress } = recorder(false);
    await backup(configOf(from), `${file}.unseen`, { progress });
    assert.equal(parts[0]?.total, null);
  });

  test('a restore checks first, and then knows how many rows it writes', async () => {
    const to = await fresh();
    mkdirSync(to.dataDir, { recursive: true, mode: 0o700 });
    copyFileSync(join(from.dataDir, 'root.key'), join(to.dataDir, 'root.key'));
    const { parts, progress } = recorder();
    await restore(configOf(to), file, { progress });
    const [checking, writing] = parts;
    assert.deepEqual([checking?.title, checking?.total, writing?.title], ['Checking', null, 'Writing']);
    assert.equal(writing?.total, checking?.reached.at(-1));
    for (const part of parts) assertReached(part);
  });

  test('a verification reaches the last entry of every log', async () => {
    const { parts, progress } = recorder();
    assert.ok((await verifyInstallation(configOf(from), [], progress)).isValid);
    assert.deepEqual(
      parts.map(({ title, unit }) => [title, unit]),
      [['Verifying', 'entries']],
    );
    for (const part of parts) assertReached(part);
    const trial = recorder();
    await verifyBackup(configOf(from), file, trial.progress);
    assert.deepEqual(
      trial.parts.map(({ title }) => title),
      ['Writing', 'Verifying'],
    );
  });

  test('a rekey reaches every row that gets a new MAC', async () => {
    const { parts, progress } = recorder();
    await rekey(configOf(from), { progress });
    assert.deepEqual(
      parts.map(({ title, unit }) => [title, unit]),
      [['Replacing keys', 'rows']],
    );
    for (const part of parts) assertReached(part);
  });
});
