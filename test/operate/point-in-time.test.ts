import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { InstalledPostgres, postgresPrograms } from '../support/installed-postgres.ts';
import { ok } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, runCoffer, spawnService, stopService } from '../support/process.ts';
import { call, DATABASES } from '../support/service.ts';
import { until } from '../support/until.ts';

const programs = postgresPrograms();
const skip = 'missing' in programs ? programs.missing : false;
const bin = 'bin' in programs ? programs.bin : '';
const folder = mkdtempSync(join(tmpdir(), 'coffer-point-in-time-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** An empty data folder with the root key of another. */
function dataDirWithKeyOf(from: string): string {
  const dataDir = newDataDir();
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  copyFileSync(join(from, 'root.key'), join(dataDir, 'root.key'));
  return dataDir;
}

if (DATABASES.includes('postgres'))
  describe('PostgreSQL with an archive of its log', { skip }, () => {
    test('is brought back to the moment before a mistake, and Coffer goes on from there', async () => {
      const primary = await InstalledPostgres.create(bin);
      const archive = primary.newFolder('archive');
      await primary.start({
        wal_level: 'replica',
        archive_mode: 'on',
        archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
      });
      const service = await spawnService({ databaseUrl: primary.url });
      const token = service.adminToken();
      const send = (method: string, path: string, body?: object) => call(service.url, method, path, { token, body });
      await ok(send('POST', '/v1/vaults', { name: 'shop', environment: 'staging' }), 201);
      await ok(send('POST', '/v1/vaults/shop/secrets', { path: 'before-the-base', value: 'one' }), 201);
      const base = await InstalledPostgres.baseBackup(bin, primary.port);
      await ok(send('POST', '/v1/vaults/shop/secrets', { path: 'after-the-base', value: 'two' }), 201);
      await ok(send('GET', '/v1/vaults/shop/secrets/after-the-base'));
      const [{ moment = '' } = {}] = await query(primary.url, 'select now()::text as moment');

      await ok(send('POST', '/v1/vaults/shop/secrets', { path: 'too-late', value: 'three' }), 201);
      await query(primary.url, 'delete from secrets');
      assert.equal((await send('GET', '/v1/vaults/shop/secrets/after-the-base')).status, 404);
      const [{ file = '' } = {}] = await query(primary.url, 'select pg_walfile_name(pg_switch_wal()) as file');
      await until('the log is archived', () => readdirSync(archive).includes(String(file)));
      await stopService(service);
      await primary.kill('SIGINT');

      await base.recover(archive, String(moment));
      const [{ secrets } = {}] = await query(base.url, 'select count(*)::integer as secrets from secrets');
      assert.equal(secrets, 2);
      // The data folder of before knows of a longer log than there is now, and does not go on as if nothing had happened.
      const onIt = { databaseUrl: base.url, dataDir: service.dataDir };
      const cutBack = await runCoffer(['server', 'verify'], onIt);
      assert.equal(cutBack.code, 1, cutBack.stdout);
      assert.match(cutBack.stdout, /VERIFICATION FAILED/);

      const recovered = { databaseUrl: base.url, dataDir: dataDirWithKeyOf(service.dataDir) };
      const copy = join(folder, 'recovered.backup');
      const backedUp = await runCoffer(['server', 'backup', copy], recovered);
      assert.equal(backedUp.code, 0, backedUp.stderr);
      const target = { databaseUrl: await newPostgresDatabase(), dataDir: dataDirWithKeyOf(service.dataDir) };
      const restored = await runCoffer(['server', 'restore', copy], target);
      assert.equal(restored.code, 0, restored.stderr);
      const verified = await runCoffer(['server', 'verify'], target);
      assert.equal(verified.code, 0, verified.stdout + verified.stderr);
      assert.match(verified.stdout, /Verification succeeded/);
      const accepted = await runCoffer(['server', 'accept-clock'], target);
      assert.match(accepted.stdout, /No record is later than the clock; nothing was changed/);

      const again = await spawnService(target);
      const read = (path: string) => call(again.url, 'GET', `/v1/vaults/shop/secrets/${path}`, { token });
      assert.equal((await ok(read('before-the-base'))).value, 'one');
      assert.equal((await ok(read('after-the-base'))).value, 'two');
      assert.equal((await read('too-late')).status, 404);
      assert.equal((await ok(call(again.url, 'GET', '/v1/audit/verify', { token }))).valid, true);
      const { entries } = await ok(call(again.url, 'GET', '/v1/audit?action=server:restore', { token }));
      assert.equal(entries.length, 1, 'the restore is recorded');
      await stopService(again);
      await base.remove();
      await primary.remove();
    });
  });
