import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { ok } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call } from '../support/service.ts';
import { until } from '../support/until.ts';

const LOADED = /"taken":(\[[^\]]*\]).*the settings were loaded again/;

/** Files with settings, beside the data folder. */
function settingFiles(dataDir: string) {
  mkdirSync(dirname(dataDir), { recursive: true });
  const path = (name: string) => join(dirname(dataDir), name);
  return { path, write: (name: string, content: string) => writeFileSync(path(name), `${content}\n`) };
}

async function reloaded(service: ServiceProcess, expected: RegExp): Promise<void> {
  const before = service.stdout().length;
  service.kill('SIGHUP');
  await until(`the log has ${expected}`, () => expected.test(service.stdout().slice(before)));
}

describe('SIGHUP', () => {
  test('loads the log level again, and nothing that is wrong', async () => {
    const dataDir = newDataDir();
    const files = settingFiles(dataDir);
    files.write('level', 'info');
    const service = await spawnService({ dataDir, env: { CV_LOG_LEVEL_FILE: files.path('level') } });
    await reloaded(service, /"taken":\[\].*the settings were loaded again/);
    files.write('level', 'debug');
    await reloaded(service, /"taken":\["CV_LOG_LEVEL"\].*the settings were loaded again/);
    files.write('level', 'loud');
    await reloaded(service, /CV_LOG_LEVEL must be .*the settings are wrong; those from before stay in use/);
    files.write('level', 'info');
    await reloaded(service, LOADED);
    assert.equal((await call(service.url, 'GET', '/health/ready', {})).status, 200);
    await stopService(service);
  });

  test('uses a new password of the database, and no other database', async () => {
    const admin = await newPostgresDatabase();
    const role = `reloaded_${process.pid}`;
    const url = (password: string, database = new URL(admin).pathname) => {
      const changed = new URL(admin);
      [changed.username, changed.password, changed.pathname] = [role, password, database];
      return changed.href;
    };
    await query(admin, `create role ${role} login superuser password 'first'`);
    const dataDir = newDataDir();
    const files = settingFiles(dataDir);
    files.write('url', url('first'));
    const service = await spawnService({ dataDir, env: { CV_DATABASE_URL_FILE: files.path('url') } });
    const token = service.adminToken();
    await query(admin, `alter role ${role} password 'second'`);
    files.write('url', url('second'));
    await reloaded(service, /"taken":\["CV_DATABASE_URL"\].*the settings were loaded again/);
    await query(admin, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
    await until('the service has connected again', async () => {
      return (await call(service.url, 'GET', '/health/ready', {})).status === 200;
    });
    const body = { name: 'after', environment: 'staging' };
    await ok(call(service.url, 'POST', '/v1/vaults', { token, body }), 201);

    files.write('url', url('second', '/another'));
    await reloaded(service, /"settings":\["CV_DATABASE_URL"\].*need a restart/);
    await ok(call(service.url, 'GET', '/v1/vaults/after', { token }));
    assert.doesNotMatch(service.stdout() + service.stderr(), /first@|second@|:second|:first/);
    await stopService(service);
    await query(admin, `reassign owned by ${role} to current_user; drop role ${role}`);
  });
});
