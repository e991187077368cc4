import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as OTPAuth from 'otpauth';
import { SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { StartError } from '../../server/src/kernel/base/data-folder.ts';
import { listMigrations, migrate } from '../../server/src/kernel/storage/migrate.ts';
import type { Expected, Told } from '../fixtures/fill.ts';
import { expectedOf, type Left, RELEASES, startOn, unpack } from '../fixtures/unpack.ts';
import { assertChainValid } from '../support/load.ts';
import { addConnection, clientHeaders } from '../support/machines.ts';
import { approve, ok, refused, tryLogIn } from '../support/people.ts';
import { query } from '../support/postgres.ts';
import { runCoffer, runService, spawnService, stopService } from '../support/process.ts';
import { call, type Service } from '../support/service.ts';
import { addSecret, addVault, auditOf, readValue, runJobs } from '../support/vaults.ts';

/** Data that earlier releases wrote, as test/fixtures/README.md says, opens with this code and tells what it told then. */

const LEFT: Left[] = ['sqlite', 'sqlite-killed', 'postgres'];
/** The schema of 0.4.0. */
const OLDEST_SCHEMA = 14;

/** Everything that was told is told still; there may be more. */
function assertPreserved(now: unknown, then: unknown, where: string): void {
  if (typeof then !== 'object' || then === null) {
    assert.deepEqual(now, then, where);
    return;
  }
  if (Array.isArray(then)) {
    assert.ok(Array.isArray(now) && now.length === then.length, `${where}: ${JSON.stringify(now)}`);
    for (const [i, one] of then.entries()) assertPreserved(now[i], one, `${where}/${i}`);
    return;
  }
  for (const [name, value] of Object.entries(then)) {
    // The last use of a token follows from the last request.
    if (name !== 'last_used_at') assertPreserved((now as Record<string, unknown>)?.[name], value, `${where}/${name}`);
  }
}

async function assertTold(service: Service, expected: Expected, told: Told): Promise<void> {
  const { as, method, path, body, status, answer } = told;
  const token = expected.tokens[as] ?? null;
  const client = expected.clients?.[as];
  const now = await service.call(method, path, {
    token,
    ...(body !== undefined && { body }),
    ...(client !== undefined && { headers: clientHeaders(client) }),
  });
  const where = `${method} ${path} as ${as}`;
  assert.equal(now.status, status, `${where}: ${now.text}`);
  // Messages for people may change; what programs decide by stays.
  if (status >= 400) assert.equal(now.body.error.code, (answer as { error: { code: string } }).error.code, where);
  // An authority that was made before 0.5 has a successor, and stays beside it.
  else if (/^\/pki\/.*\/ca\.pem$/.test(path)) assert.ok(now.text.endsWith(String(answer)), where);
  else assertPreserved(typeof answer === 'string' ? now.text : (now.body ?? JSON.parse(now.text)), answer, where);
}

for (const release of RELEASES) {
  for (const left of LEFT) {
    describe(`data of ${release}, ${left}`, () => {
      const expected = expectedOf(release, left);
      const tokenOf = (name: string) => expected.tokens[name] ?? '';
      let service: Service;

      before(async () => {
        service = await startOn(await unpack(release, left), expected);
      });
      after(() => service.close());

      test('tells everything it told, to whom it told it', async () => {
        assert.ok(expected.told.length > 30);
        for (const told of expected.told) await assertTold(service, expected, told);
        await refused(service.call('GET', '/auth/me', { token: tokenOf('revoked') }), 401, 'INVALID_TOKEN');
      });

      test('has every entry of its logs, in a chain that holds', async () => {
        for (const [as, entries] of Object.entries(expected.audit)) {
          await assertChainValid(service.url, tokenOf(as));
          const now = await auditOf(service, '', tokenOf(as));
          assert.ok(entries.length > 5);
          for (const [i, entry] of now.slice(-entries.length).entries())
            assertPreserved(entry, entries[i], `entry ${i}`);
        }
      });

      test('stores what was done under a key', async () => {
        const { as, path, key, body, answer } = expected.repeated;
        const headers = { 'idempotency-key': key };
        const again = await service.call('POST', path, { token: tokenOf(as), body, headers });
        assert.equal(again.headers.get('idempotency-replayed'), 'true', again.text);
        assert.deepEqual(again.body, answer);
      });

      test('takes what is new', async () => {
        await addSecret(service, 'lab', 'after/upgrade');
        assert.equal(await readValue(service, 'lab', 'after/upgrade'), 'value of after/upgrade');
        await addConnection(service, 'lab');
        await ok(service.call('POST', '/v1/audit/checkpoints'), 201);
        await assertChainValid(service.url, service.adminToken);
      });

      // What a kill leaves differs in how it is stored, not in who may come in.
      if (left !== 'sqlite-killed') {
        test('lets the same people in', async () => {
          for (const { totp_secret, recovery_codes, ...person } of expected.people) {
            const login = (more: object = {}) => tryLogIn(service, { tenant: undefined, ...person }, more);
            if (totp_secret === undefined) {
              await ok(login());
              continue;
            }
            await refused(login(), 403, 'MFA_REQUIRED');
            service.clock.advance(30 * SECOND_MS);
            const otp = new OTPAuth.TOTP({ secret: totp_secret }).generate({ timestamp: service.clock.now() });
            await ok(login({ otp }));
            await ok(login({ otp: recovery_codes?.[0] }));
          }
        });
      }
    });
  }
}

for (const left of ['sqlite', 'postgres'] as const) {
  test(`equal values of 0.4.0, ${left}, are found among each other and among new ones`, async () => {
    const service = await startOn(await unpack('0.4.0', left), expectedOf('0.4.0', left));
    const value = await readValue(service, 'lab', 'tool');
    const twin = await addVault(service);
    await addSecret(service, twin, 'twin', { value });
    await runJobs(service);
    const { collisions, complete } = await ok(service.call('GET', '/vaults/collisions'));
    assert.ok(complete);
    const shared = collisions.filter((one: { vaults: string[] }) => one.vaults.includes(twin));
    assert.ok(
      shared.some((one: { kind: string; vaults: string[] }) => one.kind === 'value' && one.vaults.includes('lab')),
    );
    await service.close();
  });
}

test('what waited for a second person in 0.4.0 is carried out by them now', async () => {
  const expected = expectedOf('0.4.0', 'sqlite');
  const service = await startOn(await unpack('0.4.0', 'sqlite'), expected);
  const approvals = await ok(service.call('GET', '/approvals'));
  const [waiting] = approvals.approvals.filter(({ status }: { status: string }) => status === 'pending');
  const decided = await ok(approve(service, waiting.id, expected.tokens['second'] ?? ''));
  assert.equal(decided.status, 'completed', JSON.stringify(decided));
  await refused(service.call('GET', '/v1/vaults/doomed'), 404, 'VAULT_NOT_FOUND');
  await service.close();
});

/** On whatever day: a token of then ends some day, and the operator gets a new one without it. */
for (const left of ['sqlite-killed', 'postgres'] as const) {
  test(`data of 0.4.0, ${left}, opens as an operator would open it`, async () => {
    const { dataDir, databaseUrl } = await unpack('0.4.0', left);
    const where = { dataDir, databaseUrl };
    const { code, stderr } = await runCoffer(['server', 'new-admin-token'], where);
    assert.equal(code, 0, stderr);
    const service = await spawnService(where);
    await assertChainValid(service.url, service.adminToken());
    const [person] = expectedOf('0.4.0', left).people;
    const login = await call(service.url, 'POST', '/auth/login', { body: person });
    assert.equal(login.status, 200, login.text);
    await stopService(service);
  });
}

describe('a database that is newer than the code', () => {
  for (const left of ['sqlite', 'postgres'] as const) {
    test(`is refused and left alone, ${left}`, async () => {
      const expected = expectedOf('0.4.0', left);
      const data = await unpack('0.4.0', left);
      const service = await startOn(data, expected);
      const { database } = service.app.kernel;
      const migrations = listMigrations();
      // The first release, on what this one has made of its data.
      await assert.rejects(
        migrate(
          database,
          migrations.filter(({ version }) => version <= OLDEST_SCHEMA),
        ),
        (error) =>
          error instanceof StartError && error.message.includes(`newer than this release supports (${OLDEST_SCHEMA})`),
      );
      for (const told of expected.told.slice(0, 5)) await assertTold(service, expected, told);
      await service.close();
    });
  }

  test('is refused by the process in one sentence', async () => {
    const { dataDir, databaseUrl = '' } = await unpack('0.4.0', 'postgres');
    await query(databaseUrl, 'update schema_version set version = 1000');
    const exit = await runService({ dataDir, databaseUrl });
    assert.equal(exit.code, 1, exit.stdout);
    assert.match(
      exit.stderr,
      /^Coffer cannot start\. The database has schema version 1000, newer than this release supports \(\d+\)\./,
    );
    assert.ok(isDeepStrictEqual(await query(databaseUrl, 'select version from schema_version'), [{ version: 1000 }]));
  });
});
