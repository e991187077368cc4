import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { newPostgresDatabase } from '../support/postgres.ts';
import { newDataDir, runCoffer, spawnService, stopService } from '../support/process.ts';
import { call } from '../support/service.ts';

describe('coffer', () => {
  test('explains itself', async () => {
    const top = await runCoffer(['--help']);
    assert.deepEqual([top.code, top.stderr], [0, '']);
    assert.match(top.stdout, /^Usage: coffer .*server {2,}Administer an installation/s);
    const server = await runCoffer(['server', '--help']);
    assert.equal(server.code, 0);
    for (const command of ['rekey', 'migrate', 'new-admin-token', 'accept-clock', 'allow-purge'])
      assert.match(server.stdout, new RegExp(`^  ${command} `, 'm'));
    assert.match((await runCoffer(['server', 'rekey', '--help'])).stdout, /CV_NEW_ROOT_PASSPHRASE_FILE/);
  });

  test('an unknown command or too much of one exits 1 with a hint', async () => {
    for (const [args, help] of [
      [['sevrer'], 'coffer'],
      [['server', 'rekye'], 'coffer server'],
      [['server', 'rekey', 'KEY'], 'coffer server rekey'],
      [['server', 'rekey', '--key=x'], 'coffer server rekey'],
    ] as const) {
      const { code, stdout, stderr } = await runCoffer(args, { dataDir: newDataDir() });
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(
        stderr,
        /^error: .*\n(\(Did you mean (server|rekey)\?\)\n|A value is never an argument.*\n\n?)?Run .* --help for usage\.\n$/,
      );
      assert.ok(stderr.endsWith(`\nRun ${help} --help for usage.\n`), stderr);
    }
  });

  test('a wrong setting is a sentence and exit 1', async () => {
    const { code, stderr } = await runCoffer(['server', 'migrate'], { env: { CV_PROT: '1' } });
    assert.equal(code, 1);
    assert.equal(stderr, 'CV_PROT is not a setting. Remove it, or correct it: did you mean CV_PORT?\n');
  });
});

describe('coffer server migrate', () => {
  test('says which steps ran, and that there are none the second time', async () => {
    const databaseUrl = await newPostgresDatabase();
    const first = await runCoffer(['server', 'migrate'], { databaseUrl });
    assert.equal(first.code, 0, first.stderr);
    assert.match(
      first.stdout,
      /^The schema is up to date; \d+ migrations were applied: release-0-4, authenticated-rows/,
    );
    const second = await runCoffer(['server', 'migrate'], { databaseUrl });
    assert.equal(second.stdout, 'The schema is up to date; no migrations were applied.\n');
    const service = await spawnService({ databaseUrl });
    await stopService(service);
  });
});

describe('coffer server migrate --plan', () => {
  test('says what would be done, and does nothing', async () => {
    const databaseUrl = await newPostgresDatabase();
    const first = await runCoffer(['server', 'migrate', '--plan'], { databaseUrl });
    assert.equal(first.code, 0, first.stderr);
    assert.match(
      first.stdout,
      /^\d+ migrations would be applied, from schema version 0 to \d+:\n {2}0014 release-0-4 \(ends earlier releases\)\n {7}\S/,
    );
    assert.match(first.stdout, /Stop every node of an earlier release first/);
    const again = await runCoffer(['server', 'migrate', '--plan'], { databaseUrl });
    assert.equal(again.stdout, first.stdout);
    await runCoffer(['server', 'migrate'], { databaseUrl });
    const done = await runCoffer(['server', 'migrate', '--plan'], { databaseUrl });
    assert.match(done.stdout, /^The schema is up to date at version \d+; no migrations would be applied\.\n$/);
  });

  test('works beside a running service on SQLite, and makes no database where there is none', async () => {
    const service = await spawnService();
    const plan = await runCoffer(['server', 'migrate', '--plan'], { dataDir: service.dataDir });
    assert.match(plan.stdout, /^The schema is up to date/);
    await stopService(service);
    const nothing = await runCoffer(['server', 'migrate', '--plan']);
    assert.deepEqual([nothing.code, nothing.stdout], [1, '']);
    assert.match(nothing.stderr, /There is no Coffer database/);
  });
});

describe('coffer server new-admin-token', () => {
  test('replaces the file by a token that works, and never prints it', async () => {
    const service = await spawnService();
    const { dataDir } = service;
    const old = service.adminToken();
    const running = await runCoffer(['server', 'new-admin-token'], { dataDir });
    assert.equal(running.code, 1);
    assert.match(running.stderr, /^Another Coffer process uses the data folder/);
    await stopService(service);

    const { code, stdout, stderr } = await runCoffer(['server', 'new-admin-token'], { dataDir });
    assert.equal(code, 0, stderr);
    const file = join(dataDir, 'admin.token');
    const fresh = readFileSync(file, 'utf8').trim();
    assert.notEqual(fresh, old);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(stdout.includes(file));
    assert.equal(`${stdout}${stderr}`.includes(fresh), false);

    const again = await spawnService({ dataDir });
    for (const token of [fresh, old]) {
      const me = await call(again.url, 'GET', '/auth/me', { token });
      assert.equal(me.body.user.role, 'owner', me.text);
    }
    const { body } = await call(again.url, 'GET', '/v1/audit?action=tokens:create', { token: fresh });
    const { actor, decision, details } = body.entries[0];
    assert.deepEqual([actor.kind, actor.id, decision], ['system', 'operator', 'allow']);
    assert.match(details.token, /^token_/);
    const { body: verified } = await call(again.url, 'GET', '/v1/audit/verify', { token: fresh });
    assert.equal(verified.valid, true);
    await stopService(again);
  });

  test('works beside running nodes on PostgreSQL', async () => {
    const databaseUrl = await newPostgresDatabase();
    const service = await spawnService({ databaseUrl });
    const { code, stderr } = await runCoffer(['server', 'new-admin-token'], { dataDir: service.dataDir, databaseUrl });
    assert.equal(code, 0, stderr);
    const me = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
    assert.equal(me.status, 200, me.text);
    await stopService(service);
  });

  test('needs an active owner, and an installation', async () => {
    const databaseUrl = await newPostgresDatabase();
    const { code, stderr } = await runCoffer(['server', 'new-admin-token'], { databaseUrl });
    assert.equal(code, 1);
    assert.match(stderr, /^The database is empty: start the service once/);
  });
});
