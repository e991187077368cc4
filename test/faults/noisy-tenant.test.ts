import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { COST_DEFAULT } from '../../server/src/kernel/crypto/argon2-cost.ts';
import { setPasswordCost } from '../../server/src/kernel/crypto/passwords.ts';
import { addTenant, ok, refused, type Tenant, tryLogIn } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { type Answer, CHEAP_PASSWORDS, call, onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

const MIB = 1024 * 1024;
/** Longer than a reader may stall. */
const STALLED_MS = 24_000;
/** What exports that nobody reads may add to the memory of the process, however many are requested. */
const STALLED_MEMORY_MAX = 200 * MIB;

/** How many of them have ended. */
function counted(work: Promise<Answer>[]): { ended: number; all: Promise<Answer[]> } {
  const count = { ended: 0, all: Promise.all(work) };
  for (const one of work) one.finally(() => count.ended++).catch(() => {});
  return count;
}

/** What one tenant must not do to others by asking for much. */
onBothDatabases('a noisy tenant', (kind) => {
  let service: Service;
  let noisy: Tenant;
  let quiet: Tenant;
  let noisyVault: string;
  let quietVault: string;
  before(async () => {
    service = await startService(kind, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
    noisy = await addTenant(service);
    quiet = await addTenant(service);
    noisyVault = await addVault(service, {}, noisy.owner.token);
    quietVault = await addVault(service, {}, quiet.owner.token);
    await addSecret(service, quietVault, 'a', {}, quiet.owner.token);
  });
  after(() => service.close());

  const untilReceived = (requests: number, counted: { ended: number }) =>
    until('the requests do not arrive', () => service.app.kernel.metrics.requestsInFlight + counted.ended >= requests);
  const importMany = (by: Tenant, vault: string, folder: string, entries: number) => {
    const secrets = Object.fromEntries(Array.from({ length: entries }, (_, i) => [`${folder}/${i}`, `${folder} ${i}`]));
    return service.call('POST', `/v1/vaults/${vault}/import`, { token: by.owner.token, body: { secrets } });
  };

  test('does not make a write of another wait until all of its imports are done', async () => {
    const imports = counted(Array.from({ length: 8 }, (_, i) => importMany(noisy, noisyVault, `i${i}`, 150)));
    await untilReceived(8, imports);
    const before = imports.ended;
    await addSecret(service, quietVault, 'written', {}, quiet.owner.token);
    const meanwhile = imports.ended - before;
    assert.ok(before < 8 && meanwhile <= 3, `${meanwhile} imports were done first, after ${before} of 8`);
    for (const { status } of await imports.all) assert.equal(status, 200);
  });

  test('does not make an import of another wait behind all of its own', async () => {
    const imports = counted(Array.from({ length: 6 }, (_, i) => importMany(noisy, noisyVault, `j${i}`, 100)));
    await untilReceived(6, imports);
    const before = imports.ended;
    await ok(importMany(quiet, quietVault, 'mine', 10));
    const meanwhile = imports.ended - before;
    assert.ok(before < 6 && meanwhile <= 3, `${meanwhile} imports were done first, after ${before} of 6`);
    for (const { status } of await imports.all) assert.equal(status, 200);
  });

  test('does not make a search of another wait behind all of its own', async () => {
    const search = (by: Tenant, vault: string) =>
      service.call('POST', `/v1/vaults/${vault}/search`, { token: by.owner.token, body: { query: 'nowhere' } });
    await search(quiet, quietVault);
    const searches = counted(Array.from({ length: 20 }, () => search(noisy, noisyVault)));
    await untilReceived(20, searches);
    await ok(search(quiet, quietVault));
    assert.ok(searches.ended <= 14, `${searches.ended} of 20 searches were done first`);
    // On a slow machine some of the noisy ones wait for too long, and are refused: that is theirs to bear.
    for (const { status } of await searches.all) assert.ok([200, 429].includes(status), String(status));
  });

  test('does not make a login of another wait behind all of its own', async (t) => {
    // With the cheap hash of the tests, all sixteen would end before the other login begins.
    setPasswordCost(COST_DEFAULT);
    t.after(() => setPasswordCost(CHEAP_PASSWORDS));
    const login = (to: Tenant, from: string, name: string) =>
      tryLogIn(
        service,
        { email: `${name}@nobody.example`, password: 'not the right one', tenant: to.name },
        {},
        {
          'x-forwarded-for': from,
        },
      );
    const logins = counted(Array.from({ length: 16 }, (_, i) => login(noisy, `10.1.0.${i + 1}`, `n${i}`)));
    await untilReceived(16, logins);
    await refused(login(quiet, '10.2.0.1', 'q'), 401, 'LOGIN_DENIED');
    assert.ok(logins.ended <= 8, `${logins.ended} of 16 logins were done first`);
    for (const { status } of await logins.all) assert.equal(status, 401);
  });

  if (kind === 'postgres') {
    test('does not hold the connections that others write and sign in with', async () => {
      const held = Promise.withResolvers<void>();
      let begun = 0;
      const { database } = service.app.kernel;
      const hold = (work: 'request' | 'bulk' | 'authentication') =>
        Array.from({ length: 10 }, () =>
          database.forTenant(noisy.id, work).transaction(async (tx) => {
            await tx.selectFrom('tenants').select('tenant_id').limit(1).execute();
            begun++;
            await held.promise;
          }),
        );
      const holding = [...hold('request'), ...hold('bulk'), ...hold('authentication')];
      const waiting = () => database.queues.reduce((sum, queue) => sum + queue.waiting, 0);
      await until('not every transaction begins or waits', () => begun + waiting() >= holding.length);
      try {
        await addSecret(service, quietVault, 'beside', {}, quiet.owner.token);
        await ok(importMany(quiet, quietVault, 'beside-too', 3));
        const person = { email: 'nobody@quiet.example', password: 'not the right one', tenant: quiet.name };
        await refused(tryLogIn(service, person), 401, 'LOGIN_DENIED');
        await ok(service.call('GET', secretUrl(quietVault, 'a'), { token: quiet.owner.token }));
      } finally {
        held.resolve();
        await Promise.all(holding);
      }
    });
  }
});

/** A client that asks and never reads. */
function stalled(url: string, path: string, token: string): Socket {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

/** What there is to read after all, to its end. */
async function rest(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  await Promise.race([ended, pause(5000)]);
  socket.destroy();
  return Buffer.concat(chunks);
}

function memoryOf({ pid }: ServiceProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

onBothDatabases('answers that nobody reads', (kind) => {
  describe('of one tenant', () => {
    let server: ServiceProcess;
    let service: Service;
    before(async () => {
      const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
      server = await spawnService({ databaseUrl });
      const adminToken = server.adminToken();
      service = {
        adminToken,
        url: server.url,
        call: (method, path, options = {}) => call(server.url, method, path, { token: adminToken, ...options }),
      } as Service;
    });
    after(() => stopService(server));

    test('hold little memory, end after a time, and keep nobody else from theirs', async () => {
      const [noisy, quiet] = [await addTenant(service), await addTenant(service)];
      const { token } = noisy.owner;
      const vault = await addVault(service, {}, token);
      const quietVault = await addVault(service, {}, quiet.owner.token);
      await addSecret(service, quietVault, 'a', {}, quiet.owner.token);
      // Written as six characters each, so that no buffer of the system holds an answer whole.
      const value = '\u0001'.repeat(MIB);
      for (let i = 0; i < 8; i++) await addSecret(service, vault, `large/${i}`, { value }, token);
      const before = memoryOf(server);
      const exportPath = `/v1/vaults/${vault}/export`;
      const exports = Array.from({ length: 60 }, () => stalled(server.url, exportPath, token));
      const single = stalled(server.url, secretUrl(vault, 'large/0'), token);
      // Readers stall for real time: nothing that a test could wait for happens until the service ends their connections.
      await pause(3000);
      const exportOf = (by: Tenant, from: string) =>
        service.call('GET', `/v1/vaults/${from}/export`, { token: by.owner.token });
      await ok(exportOf(quiet, quietVault));
      await ok(service.call('GET', secretUrl(quietVault, 'a'), { token: quiet.owner.token }));
      await pause(STALLED_MS - 3000);
      const grown = memoryOf(server) - before;
      assert.ok(grown < STALLED_MEMORY_MAX, `${Math.round(grown / MIB)} MiB for exports that nobody reads`);
      const answers = await Promise.all([...exports, single].map(rest));
      const statuses = answers.map((bytes) => bytes.toString('latin1', 9, 12));
      assert.ok(statuses.filter((status) => status === '429').length >= 40, statuses.join(' '));
      for (const bytes of answers.filter((_, i) => statuses[i] === '200')) {
        assert.ok(!bytes.subarray(-8).includes('}'), 'an answer that was not read was kept until it was');
      }
      // Its slots are free again.
      assert.equal((await exportOf(noisy, vault)).status, 200);
    });
  });
});
