import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, test } from 'node:test';
import { assertModes, modeOf } from '../support/data-folder.ts';
import { freePort } from '../support/ports.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import {
  assertWorks,
  type Exit,
  killService,
  newDataDir,
  runService,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { processorMsOf } from '../support/processor-time.ts';
import { call } from '../support/service.ts';
import { until } from '../support/until.ts';

const KEY = Buffer.alloc(32, 3).toString('base64');

/** One sentence or two that say what to do, no stack, exit 1. */
function assertRefused(exit: Exit, expected: RegExp): void {
  assert.equal(exit.code, 1, exit.stdout);
  assert.match(exit.stderr, expected);
  assert.match(exit.stderr, /^Coffer cannot start\. [^\n]+\n$/);
  assert.doesNotMatch(exit.stderr, /\bat .*:\d+:\d+/, 'a stack trace');
  assert.equal(exit.stdout, '');
}

/** What every file holds, but for those that come and go with an open database. */
function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder).filter((name) => !/^(lock|audit\.anchor|.*-wal|.*-shm|.*-commits)$/.test(name));
  return Object.fromEntries(
    files.sort().map((name) => [
      name,
      `${modeOf(join(folder, name))} ${createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')}`,
    ]),
  );
}

const PRETTY = { CV_LOG_FORMAT: 'pretty' };

describe('a first start', () => {
  test('makes a folder that only its owner can use, and says how to go on', async () => {
    const service = await spawnService({ dataDir: newDataDir(), env: PRETTY });
    assert.equal(modeOf(service.dataDir), '700');
    assertModes(service.dataDir);
    for (const name of ['root.key', 'admin.token', 'coffer.db', 'ca.pem'])
      assert.ok(existsSync(join(service.dataDir, name)), name);
    assertLoginLineWorks(service);
    assert.equal(service.stdout().includes(service.adminToken()), false, 'the token itself is not printed');
    await stopService(service);

    const again = await spawnService({ dataDir: service.dataDir, env: PRETTY });
    assert.match(again.stdout(), /^Coffer is ready at \S+\nClient certificates are taken at https:\S+\n$/);
    await assertWorks(again);
    await stopService(again);
  });

  test('prints a line that works whatever the folder is called', async () => {
    const service = await spawnService({ dataDir: `${newDataDir()} it's "$HOME"`, env: PRETTY });
    assertLoginLineWorks(service);
    await stopService(service);
  });

  test('names what holds the root key, wherever that is', async () => {
    const file = join(newDataDir(), '..', 'elsewhere.key');
    const elsewhere = await spawnService({ env: { ...PRETTY, CV_ROOT_KEY_FILE: file } });
    assert.ok(elsewhere.stdout().includes(`Keep ${file} safe`), elsewhere.stdout());
    await stopService(elsewhere);
    const provided = { CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: randomBytes(32).toString('base64') };
    const fromEnvironment = await spawnService({ env: { ...PRETTY, ...provided } });
    assert.match(fromEnvironment.stdout(), /Keep the value of CV_ROOT_KEY safe/);
    assert.ok(!fromEnvironment.stdout().includes(provided.CV_ROOT_KEY));
    await stopService(fromEnvironment);
  });

  test('writes JSON from the first line to the last, where the log is JSON', async () => {
    const env = { CV_DATABASE_POOL: '', CV_VAULT_RETENTION_DAYS: '31', CV_ROOT_KEY_PROVIDER: 'env' };
    const key = randomBytes(32).toString('base64');
    const service = await spawnService({ env: { ...env, CV_ROOT_KEY: key } });
    await stopService(service);
    const lines = service.stdout().trimEnd().split('\n');
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const ready = parsed.find(({ msg }) => msg === `Coffer is ready at ${service.url}`) ?? assert.fail(lines.join());
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    assert.deepEqual(
      [ready['version'], ready['database'], ready['url'], ready['tls_url'], ready['root_key']],
      [version, 'sqlite', service.url, service.tlsUrl, 'the value of CV_ROOT_KEY'],
    );
    assert.equal(ready['token_file'], join(service.dataDir, 'admin.token'));
    const settings = ready['settings'] as Record<string, string>;
    assert.deepEqual([settings['CV_VAULT_RETENTION_DAYS'], settings['CV_ROOT_KEY']], ['31', '[hidden]']);
    assert.equal(settings['CV_DATABASE_POOL'], undefined);
    assert.ok(!service.stdout().includes(key));
    assert.deepEqual(
      parsed.slice(-2).map(({ msg }) => msg),
      ['Coffer stops after its requests', 'Coffer has stopped'],
    );
  });

  /** The line for logging in works when pasted, in the folder of the checkout. */
  function assertLoginLineWorks(service: ServiceProcess): void {
    const line =
      service
        .stdout()
        .split('\n')
        .find((text) => text.includes('coffer login')) ?? '';
    const COFFER_CONFIG_DIR = join(service.dataDir, 'cli');
    const env = { ...process.env, COFFER_CONFIG_DIR };
    execFileSync('sh', ['-c', `${line} && npx coffer whoami --json > "$COFFER_CONFIG_DIR/who"`], {
      env,
      stdio: 'pipe',
      timeout: 60_000,
    });
    assert.equal(JSON.parse(readFileSync(join(COFFER_CONFIG_DIR, 'who'), 'utf8')).user.role, 'owner');
  }
});

describe('a Node that cannot run it', () => {
  const isOlder = (file: string) =>
    existsSync(file) && Number.parseInt(execFileSync(file, ['--version'], { encoding: 'utf8' }).slice(1), 10) < 26;
  const older = ['/usr/bin/node', '/usr/local/bin/node'].find(isOlder);
  // Where the machine has no older one, this one says that it is: that leaves untried only whether an older one can read the file.
  const claim = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`;
  const [program, args] =
    older === undefined ? [process.execPath, ['--import', `data:text/javascript,${claim}`]] : [older, []];
  test('server/main.js says in one line which one to use', () => {
    const options = { encoding: 'utf8', timeout: 60_000 } as const;
    const { status, stdout, stderr } = spawnSync(program, [...args, 'server/main.js'], options);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^Coffer needs Node 26 or later, and this is Node \S+\. `npm ci` installs it: [^\n]+\n$/);
    assert.match(stderr, /use `npm start`/);
  });
});

describe('one process has the folder', () => {
  test('a second one is refused, and the first goes on', async () => {
    const first = await spawnService();
    const content = contentOf(first.dataDir);
    assertRefused(await runService({ dataDir: first.dataDir }), /Another Coffer process uses the data folder/);
    assert.deepEqual(contentOf(first.dataDir), content);
    await assertWorks(first);
    await killService(first);
    const next = await spawnService({ dataDir: first.dataDir });
    await assertWorks(next);
    await stopService(next);
  });
});

describe('a start that cannot go on', () => {
  let dataDir: string;
  before(async () => {
    const service = await spawnService();
    dataDir = service.dataDir;
    await stopService(service);
  });

  /** Breaks something, sees the refusal, repairs it again, and finds everything as it was. */
  async function refuses(
    expected: RegExp,
    parts: { damage?(): void; repair?(): void; env?: Record<string, string> },
  ): Promise<void> {
    const whole = contentOf(dataDir);
    parts.damage?.();
    const damaged = contentOf(dataDir);
    assertRefused(await runService({ dataDir, ...(parts.env && { env: parts.env }) }), expected);
    assert.deepEqual(contentOf(dataDir), damaged, 'the refused start changed something');
    parts.repair?.();
    assert.deepEqual(contentOf(dataDir), whole);
  }

  test('settings: every wrong and unknown one is named, each on a line', async () => {
    const folder = newDataDir();
    const { code, stderr } = await runService({
      dataDir: folder,
      env: { CV_PORT: 'http', CV_LOG_LEVEL: 'loud', CV_DATABSE_URL: 'postgres://user:MARKER@db/x' },
    });
    assert.equal(code, 1);
    assert.match(stderr, /^Coffer cannot start\. CV_DATABSE_URL is not a setting\. .*CV_DATABASE_URL/);
    assert.match(stderr, /^CV_PORT must be /m);
    assert.match(stderr, /^CV_LOG_LEVEL must be /m);
    assert.doesNotMatch(stderr, /MARKER/);
    assert.equal(existsSync(folder), false);
  });

  test('the root key file is missing', async () => {
    const key = readFileSync(join(dataDir, 'root.key'));
    await refuses(/root key file \S+ is missing.*Restore it from your backup/, {
      damage: () => rmSync(join(dataDir, 'root.key')),
      repair: () => writeFileSync(join(dataDir, 'root.key'), key, { mode: 0o600 }),
    });
  });

  test('the root key is another one', async () => {
    const key = readFileSync(join(dataDir, 'root.key'));
    await refuses(/cannot decrypt this database.*Provide the key that the database was created or last rekeyed with/, {
      damage: () => writeFileSync(join(dataDir, 'root.key'), `${KEY}\n`),
      repair: () => writeFileSync(join(dataDir, 'root.key'), key),
    });
    await refuses(/The root key from CV_ROOT_KEY .*cannot decrypt this database/, {
      env: { CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: KEY },
    });
    await refuses(/The root key from the root passphrase .*cannot decrypt this database/, {
      env: { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE: 'not what it was made with' },
    });
  });

  test('the root key file holds no key', async () => {
    const key = readFileSync(join(dataDir, 'root.key'));
    await refuses(/does not contain a key.*Restore it from your backup/, {
      damage: () => writeFileSync(join(dataDir, 'root.key'), key.subarray(0, 20)),
      repair: () => writeFileSync(join(dataDir, 'root.key'), key),
    });
  });

  test('others can read the root key file', async () => {
    await refuses(/can be read by others \(mode 640\)\. Run: chmod 600/, {
      damage: () => chmodSync(join(dataDir, 'root.key'), 0o640),
      repair: () => chmodSync(join(dataDir, 'root.key'), 0o600),
    });
  });

  test('others can write to the folder', async () => {
    await refuses(/Other users can write to the data folder .*\(mode 770\)\. Run: chmod go-w/, {
      damage: () => chmodSync(dataDir, 0o770),
      repair: () => chmodSync(dataDir, 0o700),
    });
  });

  test('the folder is a file', async () => {
    const file = join(dataDir, 'admin.token');
    assertRefused(await runService({ dataDir: file }), /cannot be used \((EEXIST|ENOTDIR)\)/);
  });

  test('the schema is newer', async () => {
    const file = join(dataDir, 'coffer.db');
    const whole = readFileSync(file);
    await refuses(/has schema version \d+, newer than this release supports \(\d+\)\. Start a newer release/, {
      damage: () => {
        const database = new DatabaseSync(file);
        database.exec('update schema_version set version = version + 100, oldest = oldest + 100');
        database.close();
      },
      repair: () => writeFileSync(file, whole),
    });
  });

  test('the database file is damaged', async () => {
    const file = join(dataDir, 'coffer.db');
    const whole = readFileSync(file);
    await refuses(/The database in the data folder cannot be used: .*restore a backup/, {
      damage: () => writeFileSync(file, Buffer.concat([Buffer.alloc(4096, 0x41), whole.subarray(4096)])),
      repair: () => writeFileSync(file, whole),
    });
  });

  test('the port is in use', async () => {
    const blocker = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => blocker.listen(port, '127.0.0.1', resolve));
    await refuses(/The address is in use: stop the other program, or set CV_PORT/, { env: { CV_PORT: String(port) } });
    const fresh = newDataDir();
    assertRefused(await runService({ dataDir: fresh, env: { CV_PORT: String(port) } }), /The address is in use/);
    assert.equal(existsSync(fresh), false, 'a first start that cannot listen leaves nothing behind');
    const env = { CV_TLS_PORT: String(port) };
    assertRefused(await runService({ dataDir: fresh, env }), /in use/);
    assert.equal(existsSync(fresh), false);
    blocker.close();
  });

  test('each start says where the first token is, until it was used', async () => {
    const fresh = newDataDir();
    const said = /Your admin token is in .*admin\.token/;
    const env = { CV_LOG_FORMAT: 'pretty' };
    for (const _ of ['the first start', 'the second start']) {
      const service = await spawnService({ dataDir: fresh, env });
      await until('it says where the token is', () => said.test(service.stdout()));
      await stopService(service);
    }
    const used = await spawnService({ dataDir: fresh, env });
    await call(used.url, 'GET', '/auth/me', { token: used.adminToken() });
    await stopService(used);
    const after = await spawnService({ dataDir: fresh, env });
    await assertWorks(after);
    assert.doesNotMatch(after.stdout(), said);
    await stopService(after);
  });

  test('a file it is told to read is not there', async () => {
    await refuses(/The root passphrase file \/nowhere\/phrase cannot be read \(ENOENT\)/, {
      env: { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE_FILE: '/nowhere/phrase' },
    });
    await refuses(/\/nowhere\/cert\.pem cannot be used \(ENOENT\)/, {
      env: { CV_TLS_CERT_FILE: '/nowhere/cert.pem', CV_TLS_KEY_FILE: '/nowhere/key.pem' },
    });
    await refuses(/The certificate or key for TLS cannot be used/, {
      env: { CV_TLS_CERT_FILE: join(dataDir, 'root.key'), CV_TLS_KEY_FILE: join(dataDir, 'root.key') },
    });
  });

  test('PostgreSQL is not there, or does not let it in', async () => {
    const port = await freePort();
    assertRefused(
      await runService({ databaseUrl: `postgres://nobody:MARKER@127.0.0.1:${port}/none` }),
      /The database cannot be reached\. Check that it is running, and check CV_DATABASE_URL/,
    );
    const url = new URL(await newPostgresDatabase());
    url.password = 'MARKER';
    const wrongPassword = await runService({ databaseUrl: url.href });
    assertRefused(wrongPassword, /PostgreSQL refused the user or the password in CV_DATABASE_URL/);
    url.password = 'coffer';
    url.pathname = '/no_such_database';
    assertRefused(
      await runService({ databaseUrl: url.href }),
      /The database that CV_DATABASE_URL names does not exist/,
    );
    assert.doesNotMatch(wrongPassword.stderr, /MARKER/);
  });

  test('PostgreSQL is empty, and the folder has a database that was used', async () => {
    const databaseUrl = await newPostgresDatabase();
    await refuses(
      /copy --to URL" without CV_DATABASE_URL; to start a new installation, move .*coffer\.db out of the folder/,
      {
        env: { CV_DATABASE_URL: databaseUrl },
      },
    );
    assert.deepEqual(await query(databaseUrl, "select 1 from pg_tables where schemaname = 'public'"), []);
  });

  test('the folder has the token of another installation', async () => {
    const other = newDataDir();
    mkdirSync(other, { mode: 0o700 });
    for (const name of ['admin.token', 'ca.pem']) copyFileSync(join(dataDir, name), join(other, name));
    const content = contentOf(other);
    assertRefused(await runService({ dataDir: other }), /admin\.token contains the token of another installation/);
    rmSync(join(other, 'admin.token'));
    const service = await spawnService({ dataDir: other });
    assert.equal(contentOf(other)['ca.pem'], content['ca.pem'], 'the certificate of another installation');
    assert.match(service.stderr() + service.stdout(), /contains no certificate of this installation/);
    await stopService(service);
    rmSync(join(other, 'ca.pem'));
    await stopService(await spawnService({ dataDir: other }));
    assert.notEqual(contentOf(other)['ca.pem'], content['ca.pem']);
  });

  test('after all of that it starts as before', async (t) => {
    const service = await spawnService({ dataDir });
    t.diagnostic(`ready on existing data after ${Math.round(service.readyMs)} ms`);
    assert.ok(processorMsOf(service.pid) < 5000);
    await assertWorks(service);
    await stopService(service);
  });
});

describe('SIGTERM', () => {
  const direct = (service: ServiceProcess, signal: NodeJS.Signals) => service.kill(signal);
  const toGroup = (service: ServiceProcess, signal: NodeJS.Signals) => process.kill(-service.pid, signal);
  const ways = [
    { name: 'SIGTERM', signal: 'SIGTERM', send: direct, isByNpm: false },
    { name: 'SIGINT', signal: 'SIGINT', send: direct, isByNpm: false },
    { name: 'SIGTERM to `npm start`', signal: 'SIGTERM', send: direct, isByNpm: true },
    { name: 'SIGTERM to the process group of `npm start`', signal: 'SIGTERM', send: toGroup, isByNpm: true },
  ] as const;
  for (const { name, signal, send, isByNpm } of ways) {
    test(`${name}: a request under way is answered, and the process ends well`, async () => {
      const service = await spawnService({ isByNpm });
      // As pooling clients do: the connection stays open after the answer for as long as the service lets it.
      const agent = new Agent({ keepAlive: true });
      const body = JSON.stringify({ email: 'late@example.com' });
      const answer = new Promise<number | undefined>((resolve, reject) => {
        const sent = request(`${service.url}/v1/users`, {
          method: 'POST',
          agent,
          headers: {
            authorization: `Bearer ${service.adminToken()}`,
            'content-type': 'application/json',
            'content-length': body.length,
            expect: '100-continue',
          },
        });
        sent.once('response', (response) => {
          response.resume().once('end', () => resolve(response.statusCode));
        });
        sent.once('error', reject);
        // The service has begun to handle the request, and waits for its body.
        sent.once('continue', () => {
          sent.write(body.slice(0, 10));
          send(service, signal);
          until('it does not stop', () => service.stdout().includes('Coffer stops')).then(
            () => sent.end(body.slice(10)),
            reject,
          );
        });
        sent.flushHeaders();
      });
      assert.equal(await answer, 201);
      const answeredAt = performance.now();
      const { code } = await service.exited;
      assert.equal(code, 0);
      assert.ok(
        performance.now() - answeredAt < 3000,
        'it waited for a connection on which nothing was asked any more',
      );
      // It has the folder to itself: the one before is gone, not only the npm that started it.
      const again = await spawnService({ dataDir: service.dataDir });
      const { body: users } = await call(again.url, 'GET', '/v1/users', { token: again.adminToken() });
      assert.ok(users.users.some((user: { email: string }) => user.email === 'late@example.com'));
      await stopService(again);
    });
  }

  test('SIGTERM: it is no longer ready, and accepts requests until load balancers know', async () => {
    const service = await spawnService({ env: { CV_DRAIN_SECONDS: '15' } });
    const signalledAt = performance.now();
    service.kill('SIGTERM');
    await until('it is still ready', async () => (await fetch(`${service.url}/health/ready`)).status === 503);
    const headers = { authorization: `Bearer ${service.adminToken()}` };
    const answer = await fetch(`${service.url}/auth/me`, { headers });
    assert.deepEqual([answer.status, answer.headers.get('connection')], [200, 'close']);
    assert.equal((await fetch(`${service.url}/health`)).status, 200);
    assert.equal((await service.exited).code, 0);
    assert.ok(performance.now() - signalledAt >= 15_000);
  });

  test('SIGINT: it does not wait for load balancers', async () => {
    const service = await spawnService({ env: { CV_DRAIN_SECONDS: '300' } });
    service.kill('SIGINT');
    assert.equal((await service.exited).code, 0);
  });

  test('a request that arrives on an open connection is answered like any other, and ends the connection', async () => {
    const service = await spawnService();
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
    });
    // Begun, so that the connection is not idle, and ended only once the service is ending.
    socket.write(`GET /auth/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${service.adminToken()}\r\n`);
    // What was sent before this request has arrived, too.
    assert.equal((await fetch(`${service.url}/health`)).status, 200);
    service.kill('SIGTERM');
    await until('it does not stop', () => service.stdout().includes('Coffer stops'));
    socket.write('\r\n');
    await once(socket, 'close');
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
    for (const header of [/^x-request-id: req_/im, /^x-content-type-options: nosniff/im, /^connection: close/im]) {
      assert.match(text, header);
    }
    assert.equal((await service.exited).code, 0);
  });

  test('an idle keep-alive connection does not delay it', async () => {
    const service = await spawnService();
    await assertWorks(service);
    const started = performance.now();
    await stopService(service);
    assert.ok(performance.now() - started < 5000);
  });
});

describe('TLS', () => {
  test('a certificate from files serves https', async () => {
    const folder = newDataDir();
    mkdirSync(folder);
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, '-days', '2', ...subject], {
      stdio: 'ignore',
    });
    const service = await spawnService({ env: { CV_TLS_CERT_FILE: cert, CV_TLS_KEY_FILE: key } });
    assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${service.adminToken()}` };
      const sent = secureRequest(`${service.url}/auth/me`, { ca: readFileSync(cert), headers }, (response) => {
        assert.match(String(response.headers['strict-transport-security']), /max-age=/);
        response.resume().once('end', () => resolve(response.statusCode));
      });
      sent.once('error', reject).end();
    });
    assert.equal(status, 200);
    await stopService(service);
  });
});

describe('root keys from elsewhere', () => {
  const providers: [string, Record<string, string>][] = [
    ['env', { CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: KEY }],
    ['passphrase', { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE: 'sixteen letters or more' }],
  ];
  for (const [name, env] of providers) {
    test(`${name}: works across a restart, and leaves no key in the folder`, async () => {
      const first = await spawnService({ env });
      await assertWorks(first);
      await killService(first);
      assert.equal(existsSync(join(first.dataDir, 'root.key')), false);
      const again = await spawnService({ env, dataDir: first.dataDir });
      await assertWorks(again);
      const made = await call(again.url, 'POST', '/auth/tokens', {
        token: again.adminToken(),
        body: { name: 'signed' },
      });
      assert.equal(made.status, 201, made.text);
      await stopService(again);
    });
  }

  test('passphrase: from a file as from the variable', async () => {
    const [, env] = providers[1] ?? [];
    const first = await spawnService({ ...(env && { env }) });
    await stopService(first);
    const file = join(first.dataDir, 'phrase');
    writeFileSync(file, 'sixteen letters or more\n', { mode: 0o600 });
    const again = await spawnService({
      dataDir: first.dataDir,
      env: { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE_FILE: file },
    });
    await assertWorks(again);
    await stopService(again);
  });
});
