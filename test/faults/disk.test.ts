import assert from 'node:assert/strict';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { assertOnlyPutOff, assertSaysSo, assertUnharmed, assertWorksAgain, untilReady } from '../support/faults.ts';
import { Load } from '../support/load.ts';
import { newPostgresDatabase, query, startPostgres } from '../support/postgres.ts';
import {
  killService,
  pause,
  runCoffer,
  runService,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const REFUSED_WITHIN_MS = 60_000;

function diskOr(t: TestContext, kind: 'tmpfs' | 'ext4', mebibytes: number): SmallDisk | null {
  const disk = SmallDisk.make(kind, mebibytes);
  if (disk instanceof SmallDisk) return disk;
  t.skip(disk.whyNot);
  return null;
}

/** From here on the log is what tells the operator. */
function adviceIn(service: ServiceProcess): string[] {
  const lines = service
    .stdout()
    .split('\n')
    .filter((line) => line.includes('what_to_do'));
  return [...new Set(lines.map((line) => String(JSON.parse(line).what_to_do)))];
}

async function untilNothingIsAnswered(load: Load): Promise<void> {
  const started = performance.now();
  for (let last = -1; load.refused.length === 0 || last !== load.acknowledged.length; await pause(500)) {
    last = load.acknowledged.length;
    assert.ok(performance.now() - started < REFUSED_WITHIN_MS, 'the fault does not show');
  }
}

function assertRefusedToStart({ code, stderr }: { code: number | null; stderr: string }, expected: RegExp): void {
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^[^\n]+\n$/, 'a sentence, not a stack');
  assert.match(stderr, expected);
}

describe('a disk that is full', () => {
  test('puts every request off and says what to do; with room again it goes on by itself', async (t) => {
    const disk = diskOr(t, 'tmpfs', 24);
    if (disk === null) return;
    const service = await spawnService({ dataDir: join(disk.folder, 'data') });
    const load = new Load();
    load.start(service.url, service.adminToken());
    for (let round = 1; round <= 3; round++) {
      await pause(500);
      disk.fill();
      await untilNothingIsAnswered(load);
      await assertSaysSo(service, load);
      disk.free();
      t.diagnostic(`round ${round}: ready ${await untilReady(service.url)} ms after there was room`);
    }
    await assertWorksAgain(service.url, service.adminToken(), load);
    assert.ok(
      adviceIn(service).some((text) => /disk .* is full: free some space/.test(text)),
      adviceIn(service).join(),
    );
    await stopService(service);
    assert.equal(service.stderr(), '');
  });

  test('and a kill: the next start is refused or works, and with room nothing is missing', async (t) => {
    const disk = diskOr(t, 'tmpfs', 24);
    if (disk === null) return;
    const dataDir = join(disk.folder, 'data');
    const service = await spawnService({ dataDir });
    const load = new Load();
    load.start(service.url, service.adminToken());
    await pause(700);
    disk.fill();
    await untilNothingIsAnswered(load);
    await killService(service);
    await load.stop();
    for (const run of [() => runService({ dataDir }), () => runCoffer(['server', 'rekey'], { dataDir })]) {
      assertRefusedToStart(await run(), /The disk with the data folder is full: free some space/);
    }
    disk.free();
    const again = await spawnService({ dataDir });
    await assertUnharmed(again.url, again.adminToken(), load.acknowledged);
    await stopService(again);
  });

  test('refuses a start also if the files of the database have room from before', async (t) => {
    const disk = diskOr(t, 'tmpfs', 24);
    if (disk === null) return;
    const dataDir = join(disk.folder, 'data');
    const service = await spawnService({ dataDir });
    const load = new Load();
    load.start(service.url, service.adminToken());
    await until('fewer than 20 writes are acknowledged', () => load.acknowledged.length >= 20);
    await killService(service);
    await load.stop();
    // As a log that was longer once: what comes after its last commit is written over, which takes no room of the disk.
    appendFileSync(join(dataDir, 'coffer.db-wal'), Buffer.alloc(4 * 1024 * 1024));
    disk.fill();
    assertRefusedToStart(await runService({ dataDir }), /The disk with the data folder is full: free some space/);
    assert.ok(!existsSync(join(dataDir, 'room')));
    disk.free();
    const again = await spawnService({ dataDir });
    await assertUnharmed(again.url, again.adminToken(), load.acknowledged);
    await stopService(again);
    // A clean stop leaves neither a log nor a journal.
    disk.fill();
    assertRefusedToStart(await runService({ dataDir }), /The disk with the data folder is full: free some space/);
  });

  test('at the first start: it is refused, and with room the next one makes everything', async (t) => {
    const disk = diskOr(t, 'tmpfs', 24);
    if (disk === null) return;
    const dataDir = join(disk.folder, 'data');
    disk.fill();
    assertRefusedToStart(await runService({ dataDir }), /full: free some space|that the disk has free space/);
    disk.free();
    const service = await spawnService({ dataDir });
    await assertUnharmed(service.url, service.adminToken(), []);
    await stopService(service);
  });
});

describe('a disk of PostgreSQL that is full', () => {
  test('puts requests off and says what to do; with room again, and PostgreSQL up, it goes on by itself', async (t) => {
    const disk = diskOr(t, 'tmpfs', 256);
    if (disk === null) return;
    const flags = ['-c', 'min_wal_size=32MB', '-c', 'max_wal_size=32MB'];
    const server = await startPostgres({ parent: disk.folder, flags });
    try {
      const service = await spawnService({ databaseUrl: await newPostgresDatabase(server) });
      const load = new Load();
      load.start(service.url, service.adminToken());
      await pause(700);
      disk.fill();
      await untilNothingIsAnswered(load);
      await assertSaysSo(service, load);
      disk.free();
      // Without room for its own log PostgreSQL may have ended.
      await query(server.url, 'select 1').catch(() => server.start());
      t.diagnostic(`ready ${await untilReady(service.url)} ms after`);
      await assertWorksAgain(service.url, service.adminToken(), load);
      t.diagnostic(adviceIn(service).join(' / '));
      assert.ok(adviceIn(service).length > 0);
      await stopService(service);
    } finally {
      await server.remove();
    }
  });
});

describe('a disk that is read-only', () => {
  test('refuses the start with what to do, and changes nothing', async (t) => {
    const disk = diskOr(t, 'tmpfs', 24);
    if (disk === null) return;
    const dataDir = join(disk.folder, 'data');
    const service = await spawnService({ dataDir });
    const load = new Load();
    load.start(service.url, service.adminToken());
    await pause(700);
    await killService(service);
    await load.stop();
    disk.setReadOnly(true);
    assertRefusedToStart(await runService({ dataDir }), /is read-only: check it, mount it for writing again/);
    assertRefusedToStart(await runCoffer(['server', 'rekey'], { dataDir }), /is read-only/);
    disk.setReadOnly(false);
    const again = await spawnService({ dataDir });
    await assertUnharmed(again.url, again.adminToken(), load.acknowledged);
    await stopService(again);
  });

  test('from one moment to the next: every request is put off, and after the repair nothing is missing', async (t) => {
    const disk = diskOr(t, 'ext4', 64);
    if (disk === null) return;
    const dataDir = join(disk.folder, 'data');
    const service = await spawnService({ dataDir });
    const token = service.adminToken();
    const load = new Load();
    load.start(service.url, token);
    await pause(700);
    disk.abort();
    await untilNothingIsAnswered(load);
    await assertSaysSo(service, load);
    await load.stop();
    assertOnlyPutOff(load);
    assert.ok(
      adviceIn(service).some((text) => /read-only|reports errors: check it/.test(text)),
      adviceIn(service).join(),
    );
    // It cannot end well: what it has to write down last cannot be written.
    service.kill('SIGTERM');
    const { signal, stderr } = await service.exited;
    assert.deepEqual([signal, stderr], [null, '']);
    disk.unmount();
    disk.mount();
    const again = await spawnService({ dataDir });
    await assertUnharmed(again.url, token, load.acknowledged);
    await stopService(again);
  });
});
