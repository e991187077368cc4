import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addTenant, ok, refused, uniqueName } from '../../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../../test/support/postgres.ts';
import { asTheService } from '../../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import {
  addSecret,
  addVault,
  auditOf,
  readValue,
  runJobs,
  secretUrl,
  startNodeBeside,
} from '../../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';
import { SECRETS } from '../storage/index.ts';
import { BackendRotations } from './backend-rotation.ts';
import { rotateSecretsJob } from './rotation-job.ts';

onBothDatabases('scheduled rotation', (database, { rule }) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object) =>
    service.call(method, path, body === undefined ? {} : { body });
  const read = (path: string, where = vault) => ok(send('GET', secretUrl(where, path)));
  const make = async (more: object = {}) => {
    const path = uniqueName('due');
    const rotation = { interval_days: 7 };
    return { path, made: await addSecret(service, vault, path, { type: 'password', rotation, ...more }) };
  };

  test('happens when it is due, not before, and sets the next time', async () => {
    const { path, made } = await make();
    service.clock.advance(7 * DAY_MS - MINUTE_MS);
    await runJobs(service);
    assert.equal((await read(path)).version, 1);
    service.clock.advance(2 * MINUTE_MS);
    await runJobs(service);
    const rotated = await read(path);
    assert.equal(rotated.version, 2);
    assert.match(rotated.value, /^[A-Za-z0-9._~-]{32}$/);
    assert.ok(Date.parse(rotated.rotated_at) >= Date.parse(made.next_rotation));
    assert.equal(Date.parse(rotated.next_rotation) - Date.parse(rotated.rotated_at), 7 * DAY_MS);
    await runJobs(service);
    assert.equal((await read(path)).version, 2, 'once');
    service.clock.advance(8 * DAY_MS);
    await runJobs(service);
    assert.equal((await read(path)).version, 3);
    assert.equal(await readValue(service, vault, `${path}?version=1`), `value of ${path}`);
    const { versions } = await ok(send('GET', secretUrl(vault, path, 'versions')));
    assert.deepEqual(
      [versions[0].operation, versions[0].reason, versions[0].author.kind, versions[0].author.id],
      ['rotate', 'scheduled', 'system', 'job:rotate-secrets'],
    );
    const entries = await auditOf(service, `resource=vault/${vault}/${path}&action=secrets:rotate`);
    assert.deepEqual(
      entries.map((entry) => [entry.actor.kind, entry.actor.id, entry.decision, entry.details]),
      [3, 2].map((version) => ['system', 'job:rotate-secrets', 'allow', { secret: made.id, version }]),
    );
  });

  rule('makes what the type or the generator says', async () => {
    const rows: [object, RegExp][] = [
      [{ type: 'api_key' }, /^[A-Za-z0-9]{40}$/],
      [{ type: 'token' }, /^[A-Za-z0-9_-]{43}$/],
      [{ type: 'ssh_key', value: undefined }, /^-----BEGIN OPENSSH PRIVATE KEY-----/],
      [
        { type: 'custom', rotation: { interval_days: 7, generator: { length: 8, charset: 'digits', prefix: 'n-' } } },
        /^n-\d{8}$/,
      ],
    ];
    const paths: [string, RegExp, string][] = [];
    for (const [more, form] of rows) {
      const { path } = await make(more);
      paths.push([path, form, await readValue(service, vault, path)]);
    }
    service.clock.advance(7 * DAY_MS + MINUTE_MS);
    await runJobs(service);
    for (const [path, form, before] of paths) {
      const after = await read(path);
      assert.match(after.value, form);
      assert.notEqual(after.value, before);
      assert.equal(after.version, 2);
    }
  });

  rule('a change of the interval counts from the last rotation', async () => {
    const { path } = await make();
    await ok(send('POST', secretUrl(vault, path, 'rotate')));
    service.clock.advance(3 * DAY_MS);
    const changed = await ok(send('PUT', secretUrl(vault, path), { rotation: { interval_days: 2 } }));
    assert.equal(Date.parse(changed.next_rotation) - Date.parse(changed.rotated_at), 2 * DAY_MS);
    await runJobs(service);
    service.clock.advance(MINUTE_MS);
    await runJobs(service);
    assert.equal((await read(path)).version, 4);
    await ok(send('PUT', secretUrl(vault, path), { rotation: null }));
    service.clock.advance(30 * DAY_MS);
    await runJobs(service);
    assert.equal((await read(path)).version, 5);
  });

  rule('what is deleted, or in a deleted vault, is left alone until it is back', async () => {
    const where = await addVault(service);
    const rotation = { interval_days: 1 };
    await addSecret(service, where, 'gone', { type: 'password', rotation });
    await addSecret(service, where, 'there', { type: 'password', rotation });
    await ok(send('DELETE', secretUrl(where, 'gone')));
    service.clock.advance(2 * DAY_MS);
    await runJobs(service);
    await ok(send('POST', secretUrl(where, 'gone', 'restore')));
    assert.deepEqual([(await read('gone', where)).version, (await read('there', where)).version], [1, 2]);
    await ok(send('DELETE', `/v1/vaults/${where}`));
    service.clock.advance(2 * DAY_MS);
    await runJobs(service);
    await ok(send('POST', `/v1/vaults/${where}/restore`));
    assert.deepEqual([(await read('gone', where)).version, (await read('there', where)).version], [1, 2]);
    service.clock.advance(MINUTE_MS);
    await runJobs(service);
    assert.deepEqual([(await read('gone', where)).version, (await read('there', where)).version], [2, 3]);
  });

  test('many that are due together are all done in one run', async () => {
    const where = await addVault(service);
    for (let i = 0; i < 130; i++) {
      await addSecret(service, where, `s/${i}`, { type: 'api_key', rotation: { interval_days: 1 } });
    }
    service.clock.advance(DAY_MS + MINUTE_MS);
    await runJobs(service);
    const { secrets } = await ok(send('GET', `/v1/vaults/${where}/secrets?limit=1000`));
    assert.deepEqual(new Set(secrets.map((secret: { version: number }) => secret.version)), new Set([2]));
  });

  rule('one that cannot be rotated is tried again in an hour, says why, and holds up no other', async () => {
    const value = { host: 'h', port: 1, database: 'd', username: 'not a role!', password: 'p' };
    const rotation = { interval_days: 1, backend: { kind: 'postgres_role' } };
    const bad = await make({ type: 'database', value: JSON.stringify(value), rotation });
    await refused(send('POST', secretUrl(vault, bad.path, 'rotate')), 422, 'VALIDATION_FAILED');
    const good = await make({ rotation: { interval_days: 1 } });
    service.clock.advance(DAY_MS + MINUTE_MS);
    await runJobs(service);
    const [left, right] = [await read(bad.path), await read(good.path)];
    assert.deepEqual([left.version, right.version], [1, 2]);
    const wait = Date.parse(left.next_rotation) - service.clock.now();
    assert.ok(wait > HOUR_MS - MINUTE_MS && wait <= HOUR_MS, `${wait}`);
    const entries = await auditOf(service, `resource=vault/${vault}/${bad.path}&action=secrets:rotate&decision=error`);
    assert.equal(entries[0].details.failure, 'VALIDATION_FAILED');
    assert.equal(entries[0].actor.id, 'job:rotate-secrets');
  });

  test('one whose row is damaged holds up no other, of its own tenant or another', async () => {
    const { owner } = await addTenant(service);
    const theirs = await addVault(service, {}, owner.token);
    const damaged = await make({ rotation: { interval_days: 1 } });
    await asTheService(service.app.kernel.database, (tx) =>
      SECRETS.updateWhere(tx, (eb) => eb('secret_id', '=', damaged.made.id), { rotation: '{"interval_days":' }),
    );
    service.clock.advance(1000);
    const sound = await make({ rotation: { interval_days: 1 } });
    const rotation = { interval_days: 1 };
    await addSecret(service, theirs, 'a', { type: 'password', rotation }, owner.token);
    service.clock.advance(DAY_MS + MINUTE_MS);
    service.expectErrorLogs(/a scheduled rotation failed; it is retried in an hour/);
    service.expectErrorLogs(/the rotation schedule of a secret cannot be read/);
    await runJobs(service);
    assert.equal((await read(sound.path)).version, 2);
    const other = await ok(service.call('GET', secretUrl(theirs, 'a'), { token: owner.token }));
    assert.equal(other.version, 2);
    const entries = await auditOf(service, `resource=vault/${vault}/${damaged.path}&decision=error`);
    assert.equal(entries[0].action, 'secrets:rotate');
  });
});

describe('scheduled rotation on two nodes', () => {
  test('each secret is rotated once, however the nodes race', async () => {
    const databaseUrl = await newPostgresDatabase();
    const one = await startService('postgres', { databaseUrl });
    const two = await startNodeBeside(one, databaseUrl);
    const vault = await addVault(one);
    const paths = Array.from({ length: 25 }, (_, i) => `s/${i}`);
    const rotation = { interval_days: 1 };
    for (const path of paths) await addSecret(one, vault, path, { type: 'password', rotation });
    for (const node of [one, two]) node.clock.advance(DAY_MS + MINUTE_MS);
    const { signal } = new AbortController();
    // Past the lease that lets a job run on one node only: what counts is the lock on each secret.
    const runs = [one, two, one, two].map(({ app: { kernel } }) =>
      rotateSecretsJob(kernel, new BackendRotations(kernel, [])).run(signal),
    );
    await Promise.all([...runs, one.app.jobs.runDue(), two.app.jobs.runDue()]);
    // A node's own runner may hold a secret that all of these left to it.
    await runJobs(one);
    for (const path of paths) {
      const { version, value } = await ok(two.call('GET', secretUrl(vault, path)));
      assert.equal(version, 2, path);
      assert.equal(await readValue(one, vault, path), value);
    }
    assert.equal((await auditOf(one, `vault=${vault}&action=secrets:rotate`)).length, paths.length);
    assert.equal((await ok(one.call('GET', '/v1/audit/verify'))).valid, true);
    await two.close();
    await one.close();
  });
});
