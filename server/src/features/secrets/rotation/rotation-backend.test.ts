import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import pg from 'pg';
import { freePort } from '../../../../../test/support/ports.ts';
import { type PostgresServer, query, startPostgres } from '../../../../../test/support/postgres.ts';
import { LOCALHOST_CERTIFICATE, LOCALHOST_KEY, TEST_CA } from '../../../../../test/support/test-keys.ts';
import { until } from '../../../../../test/support/until.ts';
import { AddressGuard } from '../../../kernel/outbound/address-guard.ts';
import { BackendFailure, type BackendFailureCode } from './backends/backend.ts';
import { PostgresRole } from './backends/postgres-role.ts';

/** The backend that changes a PostgreSQL role's password, against a server that asks for passwords and logs every statement. */

const PASSWORD = 'Old-pass word"\'1\\$';
let server: PostgresServer;
let port: number;
let log = '';
let roles = 0;
const passwords = new Set<string>([PASSWORD]);
const open: (Server | Socket)[] = [];

const backend = new PostgresRole(new AddressGuard(['127.0.0.0/8']));
const { signal } = new AbortController();

before(async () => {
  server = await startPostgres({
    flags: ['-c', 'log_statement=all', '-c', 'log_connections=on'],
    tls: { certificate: LOCALHOST_CERTIFICATE, key: LOCALHOST_KEY },
    onLog: (text) => {
      log += text;
    },
  });
  port = Number(new URL(server.url).port);
});

function closeAll(): void {
  for (const thing of open.splice(0)) 'destroy' in thing ? thing.destroy() : thing.close();
}

after(async () => {
  await server.remove();
});

interface Role {
  name: string;
  current: string;
  next: string;
}

/** A login role with the known password, and the two values of its secret. */
async function newRole(options = '', change: object = {}, name = `role_${roles++}`): Promise<Role> {
  const literal = PASSWORD.replaceAll("'", "''");
  await query(server.url, `create role "${name}" login password '${literal}' ${options}`);
  const whole = { host: '127.0.0.1', port, database: 'postgres', username: name, password: PASSWORD, tls: false };
  const current = JSON.stringify({ ...whole, ...change });
  const next = backend.propose(current);
  passwords.add(passwordOf(next));
  return { name, current, next };
}

function passwordOf(value: string): string {
  return String((JSON.parse(value) as { password: string }).password);
}

/** Asked without the code under test, past any proxy. */
async function logsIn(role: Role, value: string): Promise<boolean> {
  const login = `${encodeURIComponent(role.name)}:${encodeURIComponent(passwordOf(value))}`;
  try {
    await query(`postgres://${login}@127.0.0.1:${port}/postgres`, 'select 1');
    return true;
  } catch (error) {
    assert.equal((error as { code?: string }).code, '28P01');
    return false;
  }
}

async function assertPasswords(role: Role, works: 'current' | 'next'): Promise<void> {
  assert.deepEqual(
    { current: await logsIn(role, role.current), next: await logsIn(role, role.next) },
    { current: works === 'current', next: works === 'next' },
  );
}

async function fails(
  attempt: Promise<void>,
  code: BackendFailureCode,
  { isUncertain = false }: { isUncertain?: boolean } = {},
): Promise<void> {
  await assert.rejects(attempt, (error) => {
    assert.ok(error instanceof BackendFailure, String(error));
    assert.equal(error.code, code);
    assert.equal(error.isUncertain, isUncertain);
    assert.equal(error.cause, undefined);
    const shown = JSON.stringify([error.message, error.stack, Object.values(error)]);
    for (const password of passwords) assert.ok(!shown.includes(JSON.stringify(password).slice(1, -1)));
    assert.doesNotMatch(error.message, /SCRAM|ALTER|FATAL|role_|127\.0\.0\.1|ECONN/);
    return true;
  });
}

interface Hooks {
  /** Before the nth connection is passed on, counted from 1. */
  onConnection?: (nth: number, all: Socket[]) => void | Promise<void>;
  /** What the client sent; false holds it back. */
  onRequest?: (text: string, all: Socket[]) => boolean;
  onAnswer?: (text: string, all: Socket[]) => boolean;
}

/** Stands between the backend and the server, to break things at a chosen moment. */
async function proxy(hooks: Hooks): Promise<number> {
  const all: Socket[] = [];
  let count = 0;
  const listener = createServer(async (client) => {
    const upstream = connect(port, '127.0.0.1');
    all.push(client, upstream);
    open.push(client, upstream);
    client.on('error', () => {}).on('close', () => upstream.destroy());
    upstream.on('error', () => {}).on('close', () => client.destroy());
    client.pause();
    await hooks.onConnection?.(++count, all);
    client.on('data', (data) => (hooks.onRequest?.(data.toString('latin1'), all) ?? true) && upstream.write(data));
    upstream.on('data', (data) => (hooks.onAnswer?.(data.toString('latin1'), all) ?? true) && client.write(data));
    client.resume();
  });
  open.push(listener);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

function dropAll(all: Socket[]): void {
  for (const socket of all) socket.destroy();
}

describe('a change', () => {
  afterEach(closeAll);

  test('the new password logs in, the old one no longer', async () => {
    const role = await newRole('', { note: 'kept' });
    await assertPasswords(role, 'current');
    assert.equal(await backend.probe(role.current, role.next, signal), 'current');
    await backend.apply(role.current, role.next, signal);
    await assertPasswords(role, 'next');
    assert.equal(await backend.probe(role.current, role.next, signal), 'next');
    assert.equal((JSON.parse(role.next) as { note: string }).note, 'kept');

    const third = backend.propose(role.next);
    passwords.add(passwordOf(third));
    await backend.apply(role.next, third, signal);
    assert.ok(await logsIn(role, third), 'again, from the verifier this backend wrote');
  });

  test('names that need quoting are quoted', async () => {
    for (const name of ['Mixed-Case.x$y', 'select', '_']) {
      const role = await newRole('', {}, name);
      await backend.apply(role.current, role.next, signal);
      await assertPasswords(role, 'next');
    }
  });

  test('nothing is left open, and the server keeps a SCRAM verifier', async () => {
    const role = await newRole();
    await backend.apply(role.current, role.next, signal);
    const left = await query(server.url, 'select 1 from pg_stat_activity where usename = $1', [role.name]);
    assert.deepEqual(left, []);
    const [stored] = await query(server.url, 'select rolpassword from pg_authid where rolname = $1', [role.name]);
    assert.match(String(stored?.['rolpassword']), /^SCRAM-SHA-256\$4096:/);
  });

  test('anyone who reads running statements sees no password', async () => {
    let seen = '';
    const via = await proxy({
      async onConnection(nth) {
        if (nth !== 2) return;
        const rows = await query(server.url, "select query from pg_stat_activity where application_name = 'coffer'");
        seen = JSON.stringify(rows);
      },
    });
    const role = await newRole('', { port: via });
    await backend.apply(role.current, role.next, signal);
    assert.match(seen, /ALTER ROLE .* PASSWORD 'SCRAM-SHA-256\$4096:/);
    for (const password of passwords) assert.ok(!seen.includes(password));
  });
});

describe('refusals before anything changes', () => {
  afterEach(closeAll);

  test('a wrong current password', async () => {
    const role = await newRole();
    const wrong = JSON.stringify({ ...(JSON.parse(role.current) as object), password: 'wrong' });
    await fails(backend.apply(wrong, role.next, signal), 'login_refused');
    await assertPasswords(role, 'current');
    assert.equal(await backend.probe(wrong, role.next, signal), 'neither');
  });

  test('no such role, no such database, no right to log in', async () => {
    const role = await newRole();
    const change = (fields: object) => JSON.stringify({ ...(JSON.parse(role.current) as object), ...fields });
    for (const fields of [{ username: 'nobody' }, { database: 'nowhere' }]) {
      const current = change(fields);
      await fails(backend.apply(current, backend.propose(current), signal), 'login_refused');
    }
    await query(server.url, `alter role "${role.name}" nologin`);
    await fails(backend.apply(role.current, role.next, signal), 'login_refused');
    // Neither password was said to be wrong, so neither may be given up.
    assert.equal(await backend.probe(role.current, role.next, signal), 'unreachable');
  });

  test('a role that may not change its own password', async () => {
    const readOnly = await newRole();
    await query(server.url, `alter role "${readOnly.name}" set default_transaction_read_only = on`);
    await fails(backend.apply(readOnly.current, readOnly.next, signal), 'not_permitted');
    await assertPasswords(readOnly, 'current');

    const disguised = await newRole();
    await query(server.url, 'create role owners nologin');
    await query(server.url, `grant owners to "${disguised.name}"`);
    await query(server.url, `alter role "${disguised.name}" set role = owners`);
    await fails(backend.apply(disguised.current, disguised.next, signal), 'not_permitted');
    await assertPasswords(disguised, 'current');
  });

  test('a server that is not there, or is there and says nothing', async () => {
    const gone = await newRole('', { port: await freePort() });
    await fails(backend.apply(gone.current, gone.next, signal), 'unreachable');
    assert.equal(await backend.probe(gone.current, gone.next, signal), 'unreachable');

    const silent = createServer((socket) => open.push(socket));
    open.push(silent);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    assert.ok(address !== null && typeof address === 'object');
    const waiting = await newRole('', { port: address.port });
    await fails(backend.apply(waiting.current, waiting.next, signal), 'unreachable');
  });

  test('addresses the guard blocks, names without one, and no TLS to a public one', async () => {
    const role = await newRole();
    const guarded = new PostgresRole(new AddressGuard([]));
    await fails(guarded.apply(role.current, role.next, signal), 'blocked_address');
    assert.equal(await guarded.probe(role.current, role.next, signal), 'unreachable');

    const named = await newRole('', { host: 'db.example' });
    const answering = (...addresses: string[]) => new PostgresRole(new AddressGuard([], async () => addresses));
    await fails(answering('127.0.0.1').apply(named.current, named.next, signal), 'blocked_address');
    await fails(answering().apply(named.current, named.next, signal), 'unreachable');
    await fails(answering('192.0.2.1').apply(named.current, named.next, signal), 'blocked_address');
    await fails(answering('8.8.8.8').apply(named.current, named.next, signal), 'tls_required');
  });

  test('an abort before the first login', async () => {
    const role = await newRole();
    await fails(backend.apply(role.current, role.next, AbortSignal.abort()), 'unreachable');
    await assertPasswords(role, 'current');
    assert.equal(await backend.probe(role.current, role.next, AbortSignal.abort()), 'unreachable');
  });

  test('a server that asks the role for no password: every one would seem to work', async () => {
    const role = await newRole();
    const [setting] = await query(server.url, "select setting from pg_settings where name = 'hba_file'");
    const file = String(setting?.['setting']);
    const rules = readFileSync(file, 'utf8');
    writeFileSync(file, `host all ${role.name} 127.0.0.1/32 trust\n${rules}`);
    await query(server.url, 'select pg_reload_conf()');
    try {
      await until('the backend does not get there', () => logsIn(role, role.next));
      await fails(backend.apply(role.current, role.next, signal), 'verification_failed');
      assert.equal(await backend.probe(role.current, role.next, signal), 'unreachable');
    } finally {
      writeFileSync(file, rules);
      await query(server.url, 'select pg_reload_conf()');
    }
    await until('the backend does not get there', async () => !(await logsIn(role, role.next)));
    await assertPasswords(role, 'current');
  });
});

describe('failures half-way', () => {
  afterEach(closeAll);

  test('stopped between the change and its verification: a probe finds the new password', async () => {
    const stop = new AbortController();
    const via = await proxy({ onConnection: (nth) => (nth === 2 ? stop.abort() : undefined) });
    const role = await newRole('', { port: via });
    await fails(backend.apply(role.current, role.next, stop.signal), 'unreachable', { isUncertain: true });
    await assertPasswords(role, 'next');
    assert.equal(await backend.probe(role.current, role.next, signal), 'next');
  });

  test('the answer to the change is lost: a probe finds the new password', async () => {
    let isSent = false;
    const via = await proxy({
      onRequest(text) {
        isSent ||= text.includes('ALTER ROLE');
        return true;
      },
      onAnswer(_, all) {
        if (isSent) dropAll(all);
        return !isSent;
      },
    });
    const role = await newRole('', { port: via });
    await fails(backend.apply(role.current, role.next, signal), 'unreachable', { isUncertain: true });
    await assertPasswords(role, 'next');
  });

  test('the change itself is lost: a probe finds the old password', async () => {
    const via = await proxy({
      onRequest(text, all) {
        const isChange = text.includes('ALTER ROLE');
        if (isChange) dropAll(all);
        return !isChange;
      },
    });
    const role = await newRole('', { port: via });
    await fails(backend.apply(role.current, role.next, signal), 'unreachable', { isUncertain: true });
    await assertPasswords(role, 'current');
    assert.equal(await backend.probe(role.current, role.next, signal), 'current');
  });

  test('the server ends the connection during the change: whether it counts is not guessed', async () => {
    const role = await newRole();
    const holder = new pg.Client({ connectionString: server.url });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from pg_authid where rolname = $1 for update', [role.name]);
      const attempt = fails(backend.apply(role.current, role.next, signal), 'unreachable', { isUncertain: true });
      const end = `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and wait_event_type = 'Lock'`;
      await until('the backend does not get there', async () => (await query(server.url, end, [role.name])).length > 0);
      await attempt;
    } finally {
      await holder.end();
    }
    assert.equal(await backend.probe(role.current, role.next, signal), 'current');
  });

  test('the new password does not log in: the old one is put back', async () => {
    const role = await newRole('connection limit 1');
    await fails(backend.apply(role.current, role.next, signal), 'verification_failed');
    await assertPasswords(role, 'current');
    assert.equal(await backend.probe(role.current, role.next, signal), 'current');
  });

  test('the way to verify is cut, the first connection is not: the old one is put back', async () => {
    const via = await proxy({ onConnection: (nth, all) => (nth === 2 ? dropAll(all.slice(2)) : undefined) });
    const role = await newRole('', { port: via });
    await fails(backend.apply(role.current, role.next, signal), 'verification_failed');
    await assertPasswords(role, 'current');
  });

  test('both are cut: the failure says that it does not know, and a probe does', async () => {
    const via = await proxy({ onConnection: (nth, all) => (nth === 2 ? dropAll(all) : undefined) });
    const role = await newRole('', { port: via });
    await fails(backend.apply(role.current, role.next, signal), 'verification_failed', { isUncertain: true });
    await assertPasswords(role, 'next');
    assert.equal(await backend.probe(role.current, role.next, signal), 'next');
  });
});

describe('TLS', () => {
  afterEach(closeAll);

  const trusted = getCACertificates('default');
  const local = new PostgresRole(new AddressGuard(['localhost', '127.0.0.0/8'], async () => ['127.0.0.1']));

  after(() => setDefaultCACertificates(trusted));

  test('a certificate nobody vouches for is refused before the password is sent', async () => {
    const role = await newRole('', { host: 'localhost', tls: true });
    await fails(local.apply(role.current, role.next, signal), 'tls_untrusted');
    await assertPasswords(role, 'current');
  });

  test('a certificate for the name is accepted, and TLS is the default', async () => {
    setDefaultCACertificates([...trusted, TEST_CA]);
    const role = await newRole('', { host: 'localhost', tls: undefined });
    await local.apply(role.current, role.next, signal);
    await assertPasswords(role, 'next');
    assert.equal(await local.probe(role.current, role.next, signal), 'next');
    await until('the backend does not get there', async () => new RegExp(`user=${role.name} .*SSL enabled`).test(log));
  });

  test('a certificate for another name is refused, for an address too', async () => {
    setDefaultCACertificates([...trusted, TEST_CA]);
    for (const host of ['127.0.0.1', 'db.example']) {
      const role = await newRole('', { host, tls: true });
      const guard = new AddressGuard(['db.example', '127.0.0.0/8'], async () => ['127.0.0.1']);
      await fails(new PostgresRole(guard).apply(role.current, role.next, signal), 'tls_untrusted');
    }
  });

  test('a server that says it has no TLS is not spoken to in the clear', async () => {
    const plain = createServer((socket) => {
      open.push(socket);
      socket.once('data', () => {
        socket.write('N');
        socket.once('data', () => assert.fail('something was sent in the clear'));
      });
    });
    open.push(plain);
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const address = plain.address();
    assert.ok(address !== null && typeof address === 'object');
    const role = await newRole('', { host: 'localhost', tls: true, port: address.port });
    await fails(local.apply(role.current, role.next, signal), 'tls_required');
  });
});

test('the server of these tests does ask for passwords', async () => {
  await assert.rejects(query(server.url.replace(':coffer@', ':wrong@'), 'select 1'), { code: '28P01' });
});

test('after all this, the log of the server has every change and no password', async () => {
  await server.stop();
  const lines = log.split('\n');
  const changes = lines.filter((line) => /statement: ALTER ROLE ".*" PASSWORD 'SCRAM-SHA-256\$4096:/.test(line));
  assert.ok(changes.length > 15, `${changes.length} changes`);
  // The tests themselves make roles with a password in plain text, which shows that the log would have one.
  const [made, others] = [0, 1].map((kind) => lines.filter((line) => Number(!line.includes('create role')) === kind));
  assert.ok(made?.some((line) => line.includes(PASSWORD.replaceAll("'", "''"))));
  for (const password of passwords) {
    for (const written of [password, password.replaceAll("'", "''")]) {
      assert.ok(others?.every((line) => !line.includes(written)));
    }
  }
});
