import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { assertChainValid } from '../support/load.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import {
  killService,
  newDataDir,
  pause,
  randomBetween,
  runCoffer,
  runService,
  type ServiceProcess,
  spawnService,
  startCoffer,
  stopService,
} from '../support/process.ts';
import { call, type DatabaseKind, onBothDatabases } from '../support/service.ts';

/** Some at random here; `test/faults/rekey.test.ts` ends one before each of its steps. */
const KILLS = Number(process.env['COFFER_TEST_REKEY_KILLS'] ?? 2);
const REKEY = ['server', 'rekey'];
const OLD_KEY = Buffer.alloc(32, 1).toString('base64');
const NEW_KEY = Buffer.alloc(32, 2).toString('base64');
const OLD_PHRASE = 'the passphrase before it';
const NEW_PHRASE = 'the passphrase after it';

async function databaseOf(kind: DatabaseKind): Promise<string | undefined> {
  return kind === 'postgres' ? newPostgresDatabase() : undefined;
}

/** As somebody does who can write to the database and has no key. */
async function edit(dataDir: string, databaseUrl: string | undefined, sql: string): Promise<void> {
  if (databaseUrl !== undefined) {
    await query(databaseUrl, sql);
    return;
  }
  const database = new DatabaseSync(join(dataDir, 'coffer.db'));
  database.exec(sql);
  database.close();
}

/** Things sealed under every purpose there is, to be opened again later. */
async function sealThings(service: ServiceProcess) {
  const token = service.adminToken();
  const send = (url: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    call(url, method, path, { token, ...(body !== undefined && { body }), ...(headers && { headers }) });
  const replay = { 'idempotency-key': 'made-before-the-rekey' };
  const user = { email: 'before@example.com' };
  const enrolled = await send(service.url, 'POST', '/auth/mfa/totp');
  assert.equal(enrolled.status, 201, enrolled.text);
  const made = await send(service.url, 'POST', '/v1/users', user, replay);
  assert.equal(made.status, 201, made.text);
  return {
    token,
    async assertOpen(url: string): Promise<void> {
      assert.equal((await send(url, 'GET', '/auth/me')).status, 200, 'the token, by its signing key');
      const again = await send(url, 'POST', '/v1/users', user, replay);
      assert.equal(again.headers.get('idempotency-replayed'), 'true', again.text);
      assert.deepEqual(again.body, made.body, 'the kept answer');
      const signed = await send(url, 'POST', '/auth/tokens', { name: 'signed by the key from before' });
      assert.equal(signed.status, 201, signed.text);
      await assertChainValid(url, token);
      const otp = new TOTP({ secret: Secret.fromBase32(enrolled.body.secret) }).generate();
      const confirmed = await send(url, 'POST', '/auth/mfa/totp/confirm', { otp });
      assert.equal(confirmed.status, 200, confirmed.text);
    },
  };
}

async function assertOldKeyRefused(options: Parameters<typeof runService>[0]): Promise<void> {
  const { code, stderr } = await runService(options);
  assert.equal(code, 1);
  assert.match(stderr, /cannot decrypt this database/);
}

onBothDatabases('rekey with a key file', (kind) => {
  test('makes a new key; what was sealed opens, and the old key opens nothing', async () => {
    const databaseUrl = await databaseOf(kind);
    const service = await spawnService({ databaseUrl });
    const { dataDir } = service;
    const things = await sealThings(service);
    await stopService(service);
    const file = join(dataDir, 'root.key');
    const old = readFileSync(file, 'utf8');

    const { code, stdout, stderr } = await runCoffer(REKEY, { dataDir, databaseUrl });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^The root key [0-9a-f]{16} was replaced by [0-9a-f]{16}; 2 tenant keys .*back it up.*\n$/);
    assert.equal(stderr, '');
    const fresh = readFileSync(file, 'utf8');
    assert.notEqual(fresh, old);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    for (const key of [old, fresh]) assert.equal(stdout.includes(key.trim()), false);
    const keyFiles = readdirSync(dataDir).filter((name) => name.includes('key'));
    assert.deepEqual(keyFiles, ['root.key'], 'no other key lies around');

    const elsewhere = join(dataDir, 'old.key');
    writeFileSync(elsewhere, old, { mode: 0o600 });
    await assertOldKeyRefused({ dataDir, databaseUrl, env: { CV_ROOT_KEY_FILE: elsewhere } });

    // As if killed between the commit and the last rename: the next start finishes it.
    writeFileSync(`${file}.next`, fresh, { mode: 0o600 });
    writeFileSync(file, old);
    const again = await spawnService({ dataDir, databaseUrl });
    assert.equal(readFileSync(file, 'utf8'), fresh);
    assert.equal(existsSync(`${file}.next`), false);
    await things.assertOpen(again.url);
    const { body } = await call(again.url, 'GET', '/v1/audit?action=server:rekey', { token: things.token });
    assert.equal(body.entries.length, 1);
    assert.deepEqual([body.entries[0].actor.kind, body.entries[0].actor.id], ['system', 'operator']);
    await stopService(again);
  });

  test('ends every token if it is told to, and says which rows were forged before it', async () => {
    const databaseUrl = await databaseOf(kind);
    const service = await spawnService({ databaseUrl });
    const { dataDir } = service;
    const token = service.adminToken();
    const send = (url: string, by: string, method: string, path: string, body?: object) =>
      call(url, method, path, { token: by, ...(body && { body }) });
    const tenant = await send(service.url, token, 'POST', '/v1/tenants', {
      name: 'other',
      owner_email: 'o@example.com',
    });
    await send(service.url, token, 'POST', '/eaas/keys', { name: 'edited' });
    await stopService(service);
    await edit(dataDir, databaseUrl, "update eaas_keys set description = 'forged' where name = 'edited'");

    const { code, stdout, stderr } = await runCoffer([...REKEY, '--revoke-tokens'], { dataDir, databaseUrl });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /2 tokens and sessions were revoked: run "coffer server new-admin-token"/);
    assert.match(stdout, /Forged rows, which the service did not write, stay rejected \(1: eaas_keys edited\)/);
    assert.match(stdout, /a row was not written by the service or was changed outside it/, 'the log says it too');

    const made = await runCoffer(['server', 'new-admin-token'], { dataDir, databaseUrl });
    assert.equal(made.code, 0, made.stderr);
    const again = await spawnService({ dataDir, databaseUrl });
    for (const revoked of [token, tenant.body.owner.token]) {
      assert.equal((await send(again.url, revoked, 'GET', '/auth/me')).status, 401);
    }
    const fresh = again.adminToken();
    const listed = await send(again.url, fresh, 'GET', '/v1/audit?action=server:rekey');
    assert.equal(listed.status, 200, listed.text);
    const { body } = listed;
    assert.deepEqual([body.entries[0].details.tokens_ended, body.entries[0].details.forged_rows], [1, 1]);
    const verified = await send(again.url, fresh, 'GET', '/v1/audit/verify');
    assert.equal(verified.body.rows.problems.length, 1, verified.text);
    assert.notEqual((await send(again.url, fresh, 'GET', '/eaas/keys/edited')).status, 200);
    await stopService(again);
  });

  test('is refused while the service runs, and changes nothing', async () => {
    const databaseUrl = await databaseOf(kind);
    const service = await spawnService({ databaseUrl });
    const before = readFileSync(join(service.dataDir, 'root.key'), 'utf8');
    const { code, stderr } = await runCoffer(REKEY, { dataDir: service.dataDir, databaseUrl });
    assert.equal(code, 1);
    assert.match(
      stderr,
      kind === 'sqlite' ? /^Another Coffer process uses/ : /^Coffer is still running on this database/,
    );
    assert.match(stderr, /Stop (it|every node) first/);
    assert.equal(readFileSync(join(service.dataDir, 'root.key'), 'utf8'), before);
    await stopService(service);
    const again = await spawnService({ dataDir: service.dataDir, databaseUrl });
    assert.equal((await call(again.url, 'GET', '/auth/me', { token: again.adminToken() })).status, 200);
    await stopService(again);
  });

  test('killed at any instant, leaves a key that opens everything', async (t) => {
    const databaseUrl = await databaseOf(kind);
    const service = await spawnService({ databaseUrl });
    const { dataDir } = service;
    const token = service.adminToken();
    // Enough tenants that the transaction takes a while, so that kills come in the middle of it.
    const tenants = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        call(service.url, 'POST', '/v1/tenants', { token, body: { name: `t${i}`, owner_email: 'o@example.com' } }),
      ),
    );
    for (const tenant of tenants) assert.equal(tenant.status, 201, tenant.text);
    await stopService(service);

    const started = performance.now();
    assert.equal((await runCoffer(REKEY, { dataDir, databaseUrl })).code, 0);
    const usualMs = performance.now() - started;
    const seen = new Set([readFileSync(join(dataDir, 'root.key'), 'utf8')]);
    for (let round = 0; round < KILLS; round++) {
      await startAndKill(round, usualMs, { dataDir, databaseUrl });
      const again = await spawnService({ dataDir, databaseUrl });
      const owner = tenants[round % tenants.length]?.body.owner.token;
      for (const credential of [token, owner]) {
        const made = await call(again.url, 'POST', '/auth/tokens', { token: credential, body: { name: `r${round}` } });
        assert.equal(made.status, 201, made.text);
        await assertChainValid(again.url, credential);
      }
      await stopService(again);
      seen.add(readFileSync(join(dataDir, 'root.key'), 'utf8'));
      assert.equal(statSync(join(dataDir, 'root.key')).mode & 0o777, 0o600);
    }
    t.diagnostic(`${KILLS} kills, ${seen.size - 1} of them after the commit`);
    assert.equal((await runCoffer(REKEY, { dataDir, databaseUrl })).code, 0);
    const left = readdirSync(dataDir).filter((name) => /key/.test(name));
    assert.deepEqual(left, ['root.key'], 'the next rekey clears what killed ones left');
  });
});

/** Kills come at any instant, and every other time just where it matters: around the commit, which follows the new key's file. */
async function startAndKill(
  round: number,
  usualMs: number,
  options: { dataDir: string; databaseUrl?: string | undefined },
) {
  const next = join(options.dataDir, 'root.key.next');
  const read = () => (existsSync(next) ? readFileSync(next, 'utf8') : '');
  const before = read();
  const rekeying = startCoffer(REKEY, options);
  if (round % 2 === 0) {
    await pause(randomBetween(usualMs * 0.4, usualMs * 1.02));
  } else {
    const deadline = performance.now() + usualMs * 3;
    while (read() === before && performance.now() < deadline) await pause(0);
    await pause(randomBetween(0, usualMs / 2));
  }
  await killService(rekeying);
}

describe('rekey with other providers', () => {
  const env = { CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: OLD_KEY };
  const passphrase = { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE: OLD_PHRASE };

  async function replaces(
    before: Record<string, string>,
    given: (dataDir: string) => Record<string, string>,
    now: Record<string, string>,
    hint: RegExp,
  ): Promise<void> {
    const service = await spawnService({ env: before });
    const { dataDir } = service;
    const things = await sealThings(service);
    await stopService(service);
    const { code, stdout, stderr } = await runCoffer(REKEY, { dataDir, env: { ...before, ...given(dataDir) } });
    assert.equal(code, 0, stderr);
    assert.match(stdout, hint);
    for (const secret of [OLD_KEY, NEW_KEY, OLD_PHRASE, NEW_PHRASE]) assert.equal(stdout.includes(secret), false);
    await assertOldKeyRefused({ dataDir, env: before });
    const again = await spawnService({ dataDir, env: { ...before, ...now } });
    await things.assertOpen(again.url);
    await stopService(again);
    assert.equal(existsSync(join(dataDir, 'root.key')), false);
  }

  test('env: the new key comes from CV_NEW_ROOT_KEY', async () => {
    await replaces(env, () => ({ CV_NEW_ROOT_KEY: NEW_KEY }), { CV_ROOT_KEY: NEW_KEY }, /Set CV_ROOT_KEY to the value/);
  });

  test('passphrase: the new one comes from CV_NEW_ROOT_PASSPHRASE', async () => {
    const now = { CV_ROOT_PASSPHRASE: NEW_PHRASE };
    await replaces(passphrase, () => ({ CV_NEW_ROOT_PASSPHRASE: NEW_PHRASE }), now, /Set CV_ROOT_PASSPHRASE/);
  });

  test('passphrase: or from a file', async () => {
    const given = (dataDir: string) => {
      mkdirSync(`${dataDir}-phrase`, { mode: 0o700 });
      writeFileSync(join(`${dataDir}-phrase`, 'new'), `${NEW_PHRASE}\n`, { mode: 0o600 });
      return { CV_NEW_ROOT_PASSPHRASE_FILE: join(`${dataDir}-phrase`, 'new') };
    };
    await replaces(passphrase, given, { CV_ROOT_PASSPHRASE: NEW_PHRASE }, /Set CV_ROOT_PASSPHRASE/);
  });

  test('no new key, or the present one again, is refused and changes nothing', async () => {
    const service = await spawnService({ env: passphrase });
    const { dataDir } = service;
    await stopService(service);
    const refused = async (extra: Record<string, string>, expected: RegExp) => {
      const { code, stdout, stderr } = await runCoffer(REKEY, { dataDir, env: { ...passphrase, ...extra } });
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, expected);
      assert.match(stderr, /^[^\n]+\n$/);
    };
    await refused({}, /^Set CV_NEW_ROOT_PASSPHRASE or CV_NEW_ROOT_PASSPHRASE_FILE/);
    await refused({ CV_NEW_ROOT_PASSPHRASE: OLD_PHRASE }, /^The new root key is the same as the current one/);
    await refused({ CV_NEW_ROOT_PASSPHRASE: 'short' }, /^CV_NEW_ROOT_PASSPHRASE must be/);
    await refused({ CV_NEW_ROOT_PASSPHRASE_FILE: '/nowhere' }, /^The root passphrase file \/nowhere cannot be read/);
    const again = await spawnService({ dataDir, env: passphrase });
    await stopService(again);
  });

  test('a folder without a database is refused, and stays as it is', async () => {
    const dataDir = newDataDir();
    const { code, stderr } = await runCoffer(REKEY, { dataDir });
    assert.equal(code, 1);
    assert.match(stderr, /^There is no Coffer database in /);
    assert.equal(existsSync(dataDir), false);
  });
});
