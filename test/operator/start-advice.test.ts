import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { adviceFor } from '../../server/src/kernel/storage/advice.ts';
import { newPostgresDatabase, type PostgresServer, query, startPostgres } from '../support/postgres.ts';
import { type Exit, newDataDir, runService } from '../support/process.ts';
import { DATABASES } from '../support/service.ts';
import { type TestCertificate, testAuthority } from '../support/test-authority.ts';

/** One line that says what to do, and blames nothing else. */
function assertAdvice({ code, stderr }: Exit, expected: RegExp): void {
  assert.equal(code, 1);
  assert.match(stderr, /^Coffer cannot start\. [^\n]+\n$/);
  assert.match(stderr, expected);
  assert.doesNotMatch(stderr, /CV_TLS_CERT_FILE/);
  if (!/cannot be reached/.test(expected.source)) assert.doesNotMatch(stderr, /cannot be reached/);
}

const start = (databaseUrl: string) => runService({ databaseUrl });

function changed(url: string, change: (url: URL) => void): string {
  const other = new URL(url);
  change(other);
  return other.href;
}

if (DATABASES.includes('postgres'))
  describe('what a start says about a database that refuses it', () => {
    let url: string;
    before(async () => {
      url = await newPostgresDatabase();
    });

    test('a wrong password', async () => {
      const wrong = changed(url, (to) => {
        to.password = 'wrong';
      });
      assertAdvice(await start(wrong), /PostgreSQL refused the user or the password in CV_DATABASE_URL/);
    });

    test('a database that does not exist', async () => {
      const wrong = changed(url, (to) => {
        to.pathname = '/nowhere';
      });
      assertAdvice(
        await start(wrong),
        /The database that CV_DATABASE_URL names does not exist on the server: create it/,
      );
    });

    test('a host name that does not resolve', async () => {
      const wrong = changed(url, (to) => {
        to.hostname = 'nowhere.invalid';
      });
      assertAdvice(await start(wrong), /The host name in CV_DATABASE_URL cannot be resolved/);
    });

    test('a port on which nothing listens', async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      await new Promise((resolve) => server.close(resolve));
      const wrong = changed(url, (to) => {
        to.port = String(port);
      });
      assertAdvice(await start(wrong), /The database cannot be reached\. Check that it is running/);
    });

    test('a parameter that PostgreSQL does not know, or a value that it does not accept', async () => {
      const unknown = changed(url, (to) => to.searchParams.set('options', '-c no_such_parameter=1'));
      assertAdvice(await start(unknown), /refused a parameter of the connection/);
      for (const [parameter, code] of [
        ['-c no_such_parameter=1', '42704'],
        ['-c work_mem=much', '22023'],
      ] as const) {
        const client = new pg.Client({ connectionString: url, options: parameter });
        const error = await client.connect().catch((thrown: unknown) => thrown);
        assert.equal((error as { code?: string }).code, code);
        assert.match(String(adviceFor(error)), /refused a parameter of the connection/);
      }
    });

    for (const [code, what, expected] of [
      [
        '08P01',
        'a pooler that accepts no parameters',
        /refused a parameter of the connection.*let the pooler accept them/,
      ],
      ['57P03', 'a server that is starting', /PostgreSQL is starting or recovering, and accepts no connections yet/],
    ] as const) {
      test(what, async () => {
        const server = createServer((socket) => {
          socket.on('error', () => {});
          socket.once('data', () => socket.end(refusal(code)));
        });
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const { port } = server.address() as { port: number };
        const exit = await start(`postgres://coffer:coffer@127.0.0.1:${port}/coffer`);
        server.close();
        assertAdvice(exit, expected);
      });
    }

    test('a user who may not connect any more often, or not write', async () => {
      const name = `advice_${process.pid}`;
      await query(url, `create role ${name} login password 'x' connection limit 0`);
      const limited = changed(url, (to) => {
        to.username = name;
        to.password = 'x';
      });
      assertAdvice(await start(limited), /PostgreSQL has no connection left: raise its max_connections/);
      await query(url, `alter role ${name} connection limit -1 nologin`);
      assertAdvice(await start(limited), /PostgreSQL does not let this user connect: add a line/);
      await query(url, `alter role ${name} login`);
      assertAdvice(await start(limited), /The user in CV_DATABASE_URL may not do this in the database/);
    });

    test('a lock that somebody holds, and a statement that takes too long', async () => {
      const [holder, waiter] = [new pg.Client(url), new pg.Client(url)];
      await Promise.all([holder.connect(), waiter.connect()]);
      await holder.query('create table held (n int)');
      await holder.query('begin');
      await holder.query('lock table held');
      await waiter.query(`set lock_timeout = '10ms'`);
      for (const [sql, code] of [
        ['select * from held', '55P03'],
        [`set statement_timeout = '10ms'; select pg_sleep(60)`, '57014'],
      ] as const) {
        const error = await waiter.query(sql).catch((thrown: unknown) => thrown);
        assert.equal((error as { code?: string }).code, code);
        assert.match(String(adviceFor(error)), /did not finish a statement within 10 seconds, or did not get a lock/);
      }
      await Promise.all([holder.end(), waiter.end()]);
    });

    test('a server without TLS', async () => {
      const wrong = changed(url, (to) => to.searchParams.set('sslmode', 'verify-full'));
      assertAdvice(await start(wrong), /CV_DATABASE_URL demands TLS, and the PostgreSQL server offers none/);
    });

    describe('by TLS', () => {
      let authority: TestCertificate;
      let caFile: string;
      const servers: PostgresServer[] = [];
      before(async () => {
        authority = await testAuthority();
        caFile = join(newDataDir(), '..', 'ca.pem');
        writeFileSync(caFile, authority.pem);
      });
      after(async () => {
        for (const server of servers) await server.remove();
      });

      const serverWith = async (facts: Parameters<TestCertificate['issue']>[0]) => {
        const extendedKeyUsage = ['1.3.6.1.5.5.7.3.1'];
        const issued = await authority.issue({ cn: 'database', extendedKeyUsage, ...facts });
        const tls = { certificate: issued.pem, key: await issued.keyPem() };
        const server = await startPostgres({ tls });
        servers.push(server);
        return changed(server.url, (to) => to.searchParams.set('sslmode', 'verify-full'));
      };
      const trusting = (at: string) => changed(at, (to) => to.searchParams.set('sslrootcert', caFile));
      const here = [{ type: 'ip' as const, value: '127.0.0.1' }];

      test('with an authority that is not trusted', async () => {
        const at = await serverWith({ names: here });
        assertAdvice(await start(at), /signed by an authority that is not trusted: add sslrootcert=FILE/);
      });

      test('with a certificate for another host', async () => {
        const at = await serverWith({ names: [{ type: 'dns', value: 'elsewhere.example.com' }] });
        assertAdvice(
          await start(trusting(at)),
          /certificate of the PostgreSQL server is not for the host in CV_DATABASE_URL/,
        );
      });

      test('with a certificate that has expired', async () => {
        const times = { notBefore: Date.now() - 3 * DAY_MS, notAfter: Date.now() - DAY_MS };
        const at = await serverWith({ names: here, ...times });
        assertAdvice(await start(trusting(at)), /certificate of the PostgreSQL server is not valid now: renew it/);
      });
    });

    test('codes of the same kind have the same advice', () => {
      const advice = (code: string) => adviceFor(Object.assign(new Error('x'), { code }));
      for (const code of [
        'SELF_SIGNED_CERT_IN_CHAIN',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      ]) {
        assert.equal(advice(code), advice('DEPTH_ZERO_SELF_SIGNED_CERT'));
      }
      assert.equal(advice('CERT_NOT_YET_VALID'), advice('CERT_HAS_EXPIRED'));
      assert.equal(advice('EAI_AGAIN'), advice('ENOTFOUND'));
    });
  });

/** An error as PostgreSQL sends it before the login. */
function refusal(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mrefused\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
