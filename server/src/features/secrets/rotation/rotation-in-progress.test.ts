import assert from 'node:assert/strict';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { invalid, ok, refused, uniqueName } from '../../../../../test/support/people.ts';
import { freePort } from '../../../../../test/support/ports.ts';
import {
  newPostgresDatabase,
  type PostgresServer,
  query,
  startPostgres,
} from '../../../../../test/support/postgres.ts';
import { killService, spawnService } from '../../../../../test/support/process.ts';
import { type Answer, call, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { until } from '../../../../../test/support/until.ts';
import { addSecret, addVault, auditOf, pathsIn, runJobs, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';

/** Rotations that change the password of a role in a real PostgreSQL, through the API. */

const PASSWORD = 'first-password';
const ALLOW = { CV_OUTBOUND_ALLOW: '127.0.0.1/32' };
const ROTATION = { interval_days: 30, backend: { kind: 'postgres_role' } };
/** The server the secrets are about, which asks for passwords. */
let target: PostgresServer;
let port: number;
let roles = 0;

before(async () => {
  target = await startPostgres();
  port = Number(new URL(target.url).port);
});
after(() => target.remove());

interface Role {
  name: string;
  value: string;
}

async function newRole(at = port, options = ''): Promise<Role> {
  const name = `app_${++roles}`;
  await query(target.url, `create role ${name} login password '${PASSWORD}' ${options}`);
  return { name, value: JSON.stringify({ ...login(name), port: at, note: 'kept' }) };
}

function login(username: string) {
  return { host: '127.0.0.1', port, database: 'postgres', username, password: PASSWORD, tls: false };
}

async function logsIn(role: Role, password: string): Promise<boolean> {
  try {
    await query(`postgres://${role.name}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`, 'select 1');
    return true;
  } catch (error) {
    assert.equal((error as { code?: string }).code, '28P01');
    return false;
  }
}

const open: (Server | Socket)[] = [];
function closeAll(): void {
  for (const thing of open.splice(0)) 'destroy' in thing ? thing.destroy() : thing.close();
}

type Fate = 'pass' | 'hold' | 'drop all';

interface Gate {
  port: number;
  /** Connections so far. */
  count: number;
  /** What becomes of the nth connection from now on; passed unless told. */
  fate: (nth: number) => Fate;
  /** Called with each connection that is held. */
  onHeld: (client: Socket) => void;
}

/** Stands before the server. The second connection of a rotation comes after the password was changed, to try it. */
async function newGate(fate: Gate['fate'] = () => 'pass'): Promise<Gate> {
  const gate: Gate = { port: 0, count: 0, fate, onHeld: () => {} };
  const sockets: Socket[] = [];
  const listener = createServer((client) => {
    open.push(client);
    sockets.push(client);
    client.on('error', () => {});
    const what = gate.fate(++gate.count);
    if (what === 'hold') {
      gate.onHeld(client.resume());
      return;
    }
    if (what === 'drop all') {
      for (const socket of sockets) socket.destroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    open.push(upstream);
    sockets.push(upstream);
    upstream.on('error', () => {}).on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    client.pipe(upstream).pipe(client);
  });
  open.push(listener);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  assert.ok(address !== null && typeof address === 'object');
  gate.port = address.port;
  return gate;
}

onBothDatabases('rotation through a backend', (database) => {
  afterEach(closeAll);

  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database, { env: ALLOW });
    vault = await addVault(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object) =>
    service.call(method, path, body === undefined ? {} : { body });
  const make = async (value: string, more = {}) => {
    const path = uniqueName('db');
    await addSecret(service, vault, path, { type: 'database', value, rotation: ROTATION, ...more });
    return path;
  };
  const read = (path: string) => ok(send('GET', secretUrl(vault, path)));
  const rotate = (path: string) => ok(send('POST', secretUrl(vault, path, 'rotate'), { reason: 'asked' }));
  const ended = async (path: string): Promise<Answer['body']> => {
    let secret: Answer['body'];
    await until('the rotation does not get there', async () => {
      secret = await read(path);
      return secret.rotation_status.status !== 'in_progress';
    });
    return secret;
  };
  const passwordIn = (value: string) => String((JSON.parse(value) as { password: string }).password);
  const entriesOf = (path: string) => auditOf(service, `resource=vault/${vault}/${path}&action=secrets:rotate`);

  test('is in progress first and completed later, and the new password logs in', async () => {
    const role = await newRole();
    const path = await make(role.value);
    const started = await rotate(path);
    assert.match(started.rotation_id, /^rotation_/);
    assert.deepEqual([started.status, started.version, started.rotated_at], ['in_progress', 1, null]);
    const done = await ended(path);
    assert.deepEqual(done.rotation_status, { rotation_id: started.rotation_id, status: 'completed', failure: '' });
    assert.equal(done.version, 2);
    assert.equal(Date.parse(done.next_rotation) - Date.parse(done.rotated_at), 30 * DAY_MS);
    const password = passwordIn(done.value);
    assert.deepEqual(JSON.parse(done.value), { ...JSON.parse(role.value), password });
    assert.deepEqual([await logsIn(role, password), await logsIn(role, PASSWORD)], [true, false]);
    const { versions } = await ok(send('GET', secretUrl(vault, path, 'versions')));
    const { user } = await ok(send('GET', '/auth/me'));
    assert.deepEqual([versions[0].operation, versions[0].reason, versions[0].author.id], ['rotate', 'asked', user.id]);
    const entries = await entriesOf(path);
    assert.deepEqual(
      entries.map((entry) => [entry.actor.kind, entry.decision, entry.details.rotation, entry.details.backend]),
      [
        ['system', 'allow', started.rotation_id, 'postgres_role'],
        ['user', 'allow', started.rotation_id, 'postgres_role'],
      ],
    );
    assert.ok(!JSON.stringify(entries).includes(password));
    const again = await rotate(path);
    assert.notEqual(again.rotation_id, started.rotation_id);
    assert.equal((await ended(path)).version, 3);
    const read1 = await ok(send('GET', `${secretUrl(vault, path)}?version=1`));
    assert.equal(passwordIn(read1.value), PASSWORD);
  });

  test('who is told that it is completed is told the new value with it', async () => {
    const role = await newRole();
    const path = await make(role.value);
    for (let version = 2; version <= 11; version++) {
      const { rotation_id } = await rotate(path);
      const poll = async () => {
        for (;;) {
          const seen = await read(path);
          assert.equal(seen.rotation_status.rotation_id, rotation_id);
          if (seen.rotation_status.status === 'completed') {
            assert.equal(seen.version, version);
            return;
          }
        }
      };
      await Promise.all(Array.from({ length: 6 }, poll));
    }
  });

  test('while it goes on nobody changes the secret, and everybody reads the old value', async (t) => {
    const gate = await newGate((nth) => (nth === 1 ? 'hold' : 'pass'));
    const path = await make((await newRole(gate.port)).value);
    const other = await addVault(service);
    // Held here and not at the server, whose silence is waited for only five seconds.
    const { outbound } = service.app.kernel;
    const resolve = outbound.resolve.bind(outbound);
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    t.mock.method(outbound, 'resolve', async (host: string) => {
      begun.resolve();
      await goOn.promise;
      return resolve(host);
    });
    const { rotation_id } = await rotate(path);
    await begun.promise;
    const url = secretUrl(vault, path);
    const tries: [string, string, object?][] = [
      ['PUT', url, { value: '{}' }],
      ['PUT', url, { metadata: { tags: ['x'] } }],
      ['PUT', url, { rotation: null }],
      ['POST', `${url}/rotate`],
      ['POST', `${url}/rollback`, { to_version: 1 }],
      ['DELETE', url],
      ['POST', `${url}/move`, { to_path: `${path}.moved` }],
      ['POST', `${url}/move`, { to_vault: other, to_path: 'moved' }],
      ['POST', `${url}/copy`, { to_path: `${path}.copied` }],
      ['POST', `/v1/vaults/${vault}/import`, { secrets: { [path]: '{}' } }],
    ];
    for (const [method, where, body] of tries) {
      const error = await refused(send(method, where, body), 409, 'ROTATION_IN_PROGRESS');
      assert.equal(error.details.rotation_id, rotation_id);
    }
    const meanwhile = await read(path);
    assert.deepEqual([meanwhile.version, passwordIn(meanwhile.value)], [1, PASSWORD]);
    assert.deepEqual(meanwhile.rotation_status, { rotation_id, status: 'in_progress', failure: '' });
    // The server stays silent; the service gives up and nothing has changed.
    goOn.resolve();
    const done = await ended(path);
    assert.deepEqual(done.rotation_status, { rotation_id, status: 'failed', failure: 'unreachable' });
    await ok(send('PUT', url, { metadata: { tags: ['x'] } }));
    await rotate(path);
    assert.equal((await ended(path)).rotation_status.status, 'completed');
  });

  test('the old value stays when the server is gone, refuses, or does not permit it', async () => {
    const wrong = await newRole();
    const locked = await newRole(port);
    await query(target.url, `alter role ${locked.name} set default_transaction_read_only = on`);
    const rows: [string, string][] = [
      [(await newRole(await freePort())).value, 'unreachable'],
      [wrong.value.replace(PASSWORD, 'not-the-password'), 'login_refused'],
      [locked.value, 'not_permitted'],
      [(await newRole()).value.replace('"tls":false', '"tls":true'), 'tls_required'],
    ];
    const blocked = await make((await newRole()).value.replace('127.0.0.1', '10.255.255.1'));
    await assert.rejects(rotate(blocked), /VALIDATION_FAILED.*whose host is at a public address/);
    const failed: string[] = [];
    for (const [value, failure] of rows) {
      const path = await make(value);
      const { rotation_id } = await rotate(path);
      const done = await ended(path);
      assert.deepEqual(done.rotation_status, { rotation_id, status: 'failed', failure });
      assert.deepEqual([done.version, done.value, done.rotated_at], [1, value, null]);
      failed.push(path);
      assert.match(
        (await service.call('GET', '/metrics')).text,
        new RegExp(`cv_rotations_failed_total{failure="${failure}"} [1-9]`),
      );
      const logged = service.logs.filter((line) => line.includes(rotation_id) && line.includes('a rotation failed'));
      assert.ok(logged.length === 1 && logged[0]?.includes(failure) && !logged[0].includes(PASSWORD), logged.join());
      const [entry] = await entriesOf(path);
      assert.deepEqual([entry.decision, entry.details.failure, entry.details.state], ['error', failure, 'unchanged']);
      const kept = await service.app.kernel.database.read
        .selectFrom('rotations')
        .select('sealed_next')
        .where('rotation_id', '=', rotation_id)
        .executeTakeFirstOrThrow();
      assert.equal(kept.sealed_next, null, 'the value that was tried is forgotten');
      await ok(send('PUT', secretUrl(vault, path), { value: JSON.stringify(login('someone')) }));
    }
    const good = await make((await newRole()).value);
    await rotate(good);
    await ended(good);
    const found = await pathsIn(service, vault, 'rotation=failed&limit=2');
    assert.ok(failed.every((path) => found.includes(path)) && !found.includes(good), found.join());
    await invalid(send('GET', `/v1/vaults/${vault}/secrets?rotation=failed&deleted=true`), '/query/rotation');
  });

  test('how it ended cannot be told: it stays in progress until the job finds out', async () => {
    const gate = await newGate((nth) => (nth === 2 ? 'drop all' : 'pass'));
    const role = await newRole(gate.port);
    const path = await make(role.value);
    await rotate(path);
    await until('the rotation does not get there', async () => (await read(path)).rotation_status.failure !== '');
    const unsure = await read(path);
    assert.deepEqual([unsure.rotation_status.status, unsure.version], ['in_progress', 1]);
    const [entry] = await entriesOf(path);
    assert.deepEqual([entry.decision, entry.details.state], ['error', 'unknown']);
    await refused(send('PUT', secretUrl(vault, path), { value: '{}' }), 409, 'ROTATION_IN_PROGRESS');
    // Not reachable now either: both values are kept.
    gate.fate = () => 'drop all';
    service.clock.advance(6 * MINUTE_MS);
    await runJobs(service);
    assert.equal((await read(path)).rotation_status.status, 'in_progress');
    gate.fate = () => 'pass';
    service.clock.advance(6 * MINUTE_MS);
    await runJobs(service);
    const done = await read(path);
    assert.deepEqual([done.rotation_status.status, done.version], ['completed', 2]);
    assert.ok(await logsIn(role, passwordIn(done.value)));
  });

  test('neither value works any more: the old one stays, and it is said', async () => {
    const gate = await newGate((nth) => (nth === 2 ? 'drop all' : 'pass'));
    const role = await newRole(gate.port);
    const path = await make(role.value);
    await rotate(path);
    await until('the rotation does not get there', async () => (await read(path)).rotation_status.failure !== '');
    await query(target.url, `alter role ${role.name} password 'by somebody else'`);
    service.clock.advance(6 * MINUTE_MS);
    await runJobs(service);
    const done = await read(path);
    assert.deepEqual([done.rotation_status.status, done.rotation_status.failure], ['failed', 'neither_value_works']);
    assert.deepEqual([done.version, done.value], [1, role.value]);
    await ok(send('PUT', secretUrl(vault, path), { value: JSON.stringify(login(role.name)) }));
  });

  test('by schedule: done when due, and after a failure tried again in an hour', async () => {
    const role = await newRole();
    const dead = await newRole(await freePort());
    const [good, bad] = [await make(role.value), await make(dead.value)];
    service.clock.advance(30 * DAY_MS + MINUTE_MS);
    await runJobs(service);
    const done = await ended(good);
    assert.deepEqual([done.version, done.rotation_status.status], [2, 'completed']);
    assert.ok(await logsIn(role, passwordIn(done.value)));
    const failed = await ended(bad);
    assert.deepEqual([failed.version, failed.rotation_status.status], [1, 'failed']);
    const wait = Date.parse(failed.next_rotation) - service.clock.now();
    assert.ok(wait > HOUR_MS - MINUTE_MS && wait <= HOUR_MS, `${wait}`);
    service.clock.advance(HOUR_MS);
    await runJobs(service);
    assert.notEqual((await ended(bad)).rotation_status.rotation_id, failed.rotation_status.rotation_id);
  });

  test('several of unknown outcome are checked side by side, and hold up nobody', async () => {
    const gates: Gate[] = [];
    const paths: string[] = [];
    for (let i = 0; i < 3; i++) {
      const gate = await newGate((nth) => (nth === 2 ? 'drop all' : 'pass'));
      const path = await make((await newRole(gate.port)).value);
      await rotate(path);
      await until('the rotation does not get there', async () => (await read(path)).rotation_status.failure !== '');
      assert.equal((await read(path)).rotation_status.status, 'in_progress');
      gates.push(gate);
      paths.push(path);
    }
    // By gate, since a second connection to one can come before the end of the first is seen.
    const held = new Map<Gate, number>();
    let mostHeld = 0;
    for (const gate of gates) {
      gate.fate = () => 'hold';
      gate.onHeld = (client) => {
        held.set(gate, (held.get(gate) ?? 0) + 1);
        mostHeld = Math.max(mostHeld, [...held.values()].filter((count) => count > 0).length);
        client.once('close', () => held.set(gate, (held.get(gate) ?? 0) - 1));
      };
    }
    service.clock.advance(6 * MINUTE_MS);
    await runJobs(service);
    assert.equal(mostHeld, 3);
    for (const gate of gates) gate.fate = () => 'pass';
    service.clock.advance(6 * MINUTE_MS);
    await runJobs(service);
    for (const path of paths) assert.equal((await read(path)).version, 2);
  });

  test('a value, a generator, or a type that is no database does not go with a backend', async () => {
    const path = await make((await newRole()).value);
    await invalid(send('POST', secretUrl(vault, path, 'rotate'), { value: '{}' }), '/body');
    await invalid(send('POST', secretUrl(vault, path, 'rotate'), { generator: {} }), '/body');
    const both = { ...ROTATION, generator: {} };
    await invalid(send('PUT', secretUrl(vault, path), { rotation: both }), '/body/rotation/generator');
    const other = { ...ROTATION, backend: { kind: 'mysql' } };
    await invalid(send('PUT', secretUrl(vault, path), { rotation: other }), '/body/rotation/backend/kind');
    const weird = JSON.stringify({ ...login('a"; drop role b; --'), port });
    const quoted = await make(weird);
    await invalid(send('POST', secretUrl(vault, quoted, 'rotate')), '/body');
    assert.equal((await read(quoted)).rotation_status, null);
  });

  test('twenty at once begin one rotation', async () => {
    const role = await newRole();
    const path = await make(role.value);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('POST', secretUrl(vault, path, 'rotate'))));
    const begun = answers.filter(({ status }) => status === 200).length;
    assert.ok(begun >= 1);
    for (const { status, body } of answers) assert.ok(status === 200 || body.error.code === 'ROTATION_IN_PROGRESS');
    const done = await ended(path);
    assert.equal(done.version, 1 + begun);
    assert.ok(await logsIn(role, passwordIn(done.value)));
  });
});

onBothDatabases('a rotation whose service is killed', (database) => {
  afterEach(closeAll);

  const passwordIn = (value: string) => String((JSON.parse(value) as { password: string }).password);

  /** Kills the service when its nth connection is made, and looks what another start makes of it, with a clock past the lease. */
  async function killedAt(nth: number): Promise<{ role: Role; secret: Answer['body']; entries: Answer['body'][] }> {
    const gate = await newGate((n) => (n === nth ? 'hold' : 'pass'));
    const role = await newRole(gate.port);
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const child = await spawnService({ databaseUrl, env: ALLOW });
    const token = child.adminToken();
    const send = (method: string, path: string, body?: object) =>
      call(child.url, method, path, { token, ...(body !== undefined && { body }) });
    await ok(send('POST', '/v1/vaults', { name: 'v', environment: 'staging' }), 201);
    const body = { path: 'db', type: 'database', value: role.value, rotation: ROTATION };
    await ok(send('POST', '/v1/vaults/v/secrets', body), 201);
    const started = await ok(send('POST', '/v1/vaults/v/secrets/db/rotate'));
    assert.equal(started.status, 'in_progress');
    await until('the rotation does not get there', () => gate.count === nth);
    await killService(child);
    const stored = databaseUrl === undefined ? {} : { databaseUrl };
    const service = await startService(database, { ...stored, dataDir: child.dataDir, env: ALLOW });
    const before = await ok(service.call('GET', '/v1/vaults/v/secrets/db'));
    assert.deepEqual([before.version, before.rotation_status.status], [1, 'in_progress']);
    await refused(service.call('DELETE', '/v1/vaults/v/secrets/db'), 409, 'ROTATION_IN_PROGRESS');
    // Past the lease of the job that was killed, and not yet past that of the rotation.
    service.clock.advance(MINUTE_MS);
    await runJobs(service);
    const leased = await ok(service.call('GET', '/v1/vaults/v/secrets/db'));
    assert.equal(leased.rotation_status.status, 'in_progress', 'it may still be alive');
    service.clock.advance(3 * MINUTE_MS);
    await runJobs(service);
    const secret = await ok(service.call('GET', '/v1/vaults/v/secrets/db'));
    const entries = await auditOf(service, 'action=secrets:rotate');
    await service.close();
    return { role, secret, entries };
  }

  describe('is ended by the next start', () => {
    for (const [nth, when] of [
      [1, 'before the password was changed'],
      [2, 'after it was changed and before it was tried'],
    ] as const) {
      test(`${when}`, async () => {
        const { role, secret, entries } = await killedAt(nth);
        assert.deepEqual([secret.version, secret.rotation_status.status], [2, 'completed']);
        assert.equal(await logsIn(role, passwordIn(secret.value)), true);
        assert.equal(await logsIn(role, PASSWORD), false);
        assert.deepEqual(
          entries.map((entry) => [entry.actor.kind, entry.decision]),
          [
            ['system', 'allow'],
            ['user', 'allow'],
          ],
        );
      });
    }
  });
});
