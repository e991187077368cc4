import assert from 'node:assert/strict';
import { createHmac, pbkdf2Sync } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { ok, uniqueName } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause, runService, spawnService, stopService } from '../support/process.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

/** Somebody stands where a database server should be, and says whatever gets them the password or the success of a login. */

const PASSWORD = 'Old-Password-Of-The-Role';
const open: (Server | Socket)[] = [];
after(() => {
  for (const thing of open) 'destroy' in thing ? thing.destroy() : thing.close();
});

const AUTHENTICATION = { ok: 0, clear: 3, md5: 5, sasl: 10, saslContinue: 11, saslFinal: 12 };
const READY = message('Z', Buffer.from('I'));

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function asks(kind: keyof typeof AUTHENTICATION, rest: string | Buffer = ''): Buffer {
  const code = Buffer.alloc(4);
  code.writeInt32BE(AUTHENTICATION[kind]);
  return message('R', Buffer.concat([code, Buffer.from(rest)]));
}

type Trick = (said: string, nth: number) => Buffer[];
const letIn = [asks('ok'), READY];
const saslOffer = asks('sasl', 'SCRAM-SHA-256\0\0');
const firstOf = (said: string) =>
  `r=${/r=([^\0,]+)/.exec(said)?.[1]}more,s=${Buffer.alloc(16).toString('base64')},i=4096`;

/** What each says to the first, second and third message of the client. */
const TRICKS: Record<string, Trick> = {
  'asks for it in clear text': (_, nth) => (nth === 0 ? [asks('clear')] : letIn),
  'asks for it as MD5': (_, nth) => (nth === 0 ? [asks('md5', Buffer.alloc(4, 7))] : letIn),
  'begins SCRAM and then asks in clear text': (_, nth) => [[saslOffer], [asks('clear')], letIn][nth] ?? [],
  'begins SCRAM and lets everybody in': (_, nth) => (nth === 0 ? [saslOffer] : letIn),
  'lets everybody in after the proof, unsigned': (said, nth) =>
    [[saslOffer], [asks('saslContinue', firstOf(said))], letIn][nth] ?? [],
  'says that it is ready and nothing of the login': (said, nth) =>
    [[saslOffer], [asks('saslContinue', firstOf(said))], [READY]][nth] ?? [],
  'signs with what it does not know': (said, nth) => {
    if (nth < 2) return nth === 0 ? [saslOffer] : [asks('saslContinue', firstOf(said))];
    const key = pbkdf2Sync('a guess', Buffer.alloc(16), 4096, 32, 'sha256');
    return [asks('saslFinal', `v=${createHmac('sha256', key).update(said).digest('base64')}`), ...letIn];
  },
};

interface Fake {
  port: number;
  heard(): string;
}

async function fakeDatabase(trick: Trick): Promise<Fake> {
  let heard = '';
  const listener = createServer((socket) => {
    open.push(socket);
    let nth = 0;
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const said = data.toString('latin1');
      heard += said;
      const isStatement = /^[QPBDES]/.test(said);
      socket.write(
        Buffer.concat(isStatement ? [message('C', Buffer.from('ALTER ROLE\0')), READY] : trick(said, nth++)),
      );
    });
  });
  open.push(listener);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  assert.ok(address !== null && typeof address === 'object');
  return { port: address.port, heard: () => heard };
}

onBothDatabases('a database server that is not one', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    vault = await addVault(service);
  });
  after(() => service.close());

  const ended = async (path: string): Promise<Answer['body']> => {
    for (;;) {
      const secret = await ok(service.call('GET', secretUrl(vault, path)));
      if (secret.rotation_status.status !== 'in_progress') return secret;
      await pause(20);
    }
  };

  for (const [name, trick] of Object.entries(TRICKS)) {
    test(`one that ${name} gets neither password of a role, and no rotation that succeeds`, async () => {
      const fake = await fakeDatabase(trick);
      const login = { host: '127.0.0.1', port: fake.port, database: 'app', username: 'app', password: PASSWORD };
      const value = JSON.stringify({ ...login, tls: false });
      const path = uniqueName('db');
      const rotation = { interval_days: 30, backend: { kind: 'postgres_role' } };
      await addSecret(service, vault, path, { type: 'database', value, rotation });
      await ok(service.call('POST', secretUrl(vault, path, 'rotate'), { body: { reason: 'due' } }));
      const secret = await ended(path);
      assert.match(fake.heard(), /user\0app\0/, 'it was called');
      assert.deepEqual([secret.rotation_status.status, secret.rotation_status.failure], ['failed', 'login_refused']);
      assert.deepEqual([secret.version, secret.value], [1, value]);
      assertNothingGained(fake);
    });
  }
});

function assertNothingGained(fake: Fake): void {
  assert.ok(!fake.heard().includes(PASSWORD), 'the password left');
  assert.doesNotMatch(fake.heard(), /md5[0-9a-f]{32}|ALTER ROLE|create table/i);
}

describe('the service’s own database', () => {
  for (const [name, trick] of Object.entries(TRICKS)) {
    test(`a server that ${name} does not get the password of CV_DATABASE_URL, and no start`, async () => {
      const fake = await fakeDatabase(trick);
      const exit = await runService({ databaseUrl: `postgres://coffer:${PASSWORD}@127.0.0.1:${fake.port}/coffer` });
      assert.equal(exit.code, 1);
      assert.match(
        exit.stderr,
        /^Coffer cannot start\. The database server requested the password in clear text or as MD5, or/,
      );
      assert.match(fake.heard(), /user\0coffer\0/, 'it was called');
      assertNothingGained(fake);
    });
  }

  test('a server that proves what it knows is used', async () => {
    const service = await spawnService({ databaseUrl: await newPostgresDatabase() });
    await stopService(service);
  });
});
