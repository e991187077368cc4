import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  addPerson,
  addToken,
  ok,
  type Person,
  refused,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addTotp } from '../../../../test/support/totp.ts';
import {
  addSecret,
  addUnlistedVault,
  addVault,
  auditOf,
  pathsIn,
  runJobs,
  secretUrl,
} from '../../../../test/support/vaults.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { UnsealError, unseal } from '../../kernel/crypto/sealing.ts';
import { vaultKeyPurpose } from '../vaults/index.ts';

const STEP_MS = 30 * SECOND_MS;

onSqliteAtLanding('fortress secrets', (database) => {
  let service: Service;
  let vault: string;
  let admin: Person;
  let code: () => string;

  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    admin = await addPerson(service, { role: 'admin' });
    ({ code } = await addTotp(service, admin.id));
    // A second factor opens nothing on its first day.
    service.clock.advance(DAY_MS);
  });
  after(() => service.close());

  /** A session with a second factor that has just been shown; the code of the step before may be spent. */
  const fresh = async (): Promise<string> => {
    service.clock.advance(STEP_MS);
    return (await ok(tryLogIn(service, admin, { otp: code() }))).token;
  };
  const send = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const make = async (token: string, more: object = {}) => {
    const path = uniqueName('keep');
    const body = { protection: 'fortress', value: `gold of ${path}`, ...more };
    return { path, made: await addSecret(service, vault, path, body, token) };
  };

  /** Every request that uses a fortress secret, and the status of its response if it is allowed. */
  const USES: [string, (path: string) => [method: string, url: string, body?: object], number][] = [
    ['read', (path) => ['GET', secretUrl(vault, path)], 200],
    ['read a version', (path) => ['GET', `${secretUrl(vault, path)}?version=1`], 200],
    ['change', (path) => ['PUT', secretUrl(vault, path), { value: 'silver' }], 200],
    ['describe', (path) => ['PUT', secretUrl(vault, path), { metadata: { owner: 'x' } }], 200],
    ['rotate', (path) => ['POST', secretUrl(vault, path, 'rotate'), { value: 'bronze' }], 200],
    ['roll back', (path) => ['POST', secretUrl(vault, path, 'rollback'), { to_version: 1 }], 200],
    ['copy', (path) => ['POST', secretUrl(vault, path, 'copy'), { to_path: `${path}.copy` }], 201],
    ['import over', (path) => ['POST', `/v1/vaults/${vault}/import`, { secrets: { [path]: 'tin' } }], 200],
    ['delete', (path) => ['DELETE', secretUrl(vault, path)], 200],
    ['restore', (path) => ['POST', secretUrl(vault, path, 'restore')], 200],
    ['move', (path) => ['POST', secretUrl(vault, path, 'move'), { to_path: `${path}.moved` }], 200],
    [
      'make',
      (path) => ['POST', `/v1/vaults/${vault}/secrets`, { path: `${path}.new`, value: 'x', protection: 'fortress' }],
      201,
    ],
  ];

  test('can be used by a person who has just shown a second factor, and by nobody else', async () => {
    const session = await fresh();
    const plain = await addPerson(service, { role: 'admin' });
    const withoutFactor = (await ok(tryLogIn(service, plain))).token as string;
    const { token: made } = await addToken(service, session);
    const { path } = await make(session);
    for (const [name, request, status] of USES) {
      for (const token of [service.adminToken, admin.token, withoutFactor, made]) {
        const [method, url, body] = request(path);
        const answer = await send(token, method, url, body);
        assert.equal(answer.status, 403, `${name}: ${answer.text}`);
        assert.equal(answer.body.error.code, 'MFA_REQUIRED', name);
        assert.ok(!answer.text.includes('gold'));
      }
      const [method, url, body] = request(path);
      const answer = await send(session, method, url, body);
      assert.equal(answer.status, status, `${name}: ${answer.text}`);
    }
  });

  test('a factor shown 15 minutes ago counts no longer', async () => {
    const session = await fresh();
    const { path } = await make(session);
    service.clock.advance(14 * MINUTE_MS);
    assert.equal((await ok(send(session, 'GET', secretUrl(vault, path)))).value, `gold of ${path}`);
    service.clock.advance(MINUTE_MS);
    await refused(send(session, 'GET', secretUrl(vault, path)), 403, 'MFA_REQUIRED');
    await refused(send(session, 'PUT', secretUrl(vault, path), { value: 'x' }), 403, 'MFA_REQUIRED');
    const again = await fresh();
    assert.equal((await ok(send(again, 'GET', secretUrl(vault, path)))).version, 1);
  });

  test('a caller without permission gets that error, and no prompt for a factor', async () => {
    const { path } = await make(await fresh());
    const stranger = await addPerson(service);
    await refused(send(stranger.token, 'GET', secretUrl(vault, path)), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(send(stranger.token, 'DELETE', secretUrl(vault, path)), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('what only describes them needs no factor: lists, versions, the vault’s detail', async () => {
    const { path, made } = await make(await fresh());
    const ordinary = await addSecret(service, vault, uniqueName('plain'));
    assert.ok((await pathsIn(service, vault)).includes(path));
    const { versions } = await ok(send(service.adminToken, 'GET', secretUrl(vault, path, 'versions')));
    assert.equal(versions.length, 1);
    const detail = await ok(send(service.adminToken, 'GET', `/v1/vaults/${vault}`));
    assert.ok(detail.fortress_secret_ids.includes(made.id) && !detail.secret_ids.includes(made.id));
    assert.ok(detail.secret_ids.includes(ordinary.id) && !detail.fortress_secret_ids.includes(ordinary.id));
  });

  test('no aggregate, search or export returns them, to any caller', async () => {
    const where = await addVault(service);
    const session = await fresh();
    const body = { path: 'deep/gold', protection: 'fortress', value: 'the very same thing' };
    await ok(send(session, 'POST', `/v1/vaults/${where}/secrets`, body), 201);
    await addSecret(service, where, 'deep/plain', { value: 'the very same thing' });
    const answers: Answer[] = [
      await send(session, 'GET', `/v1/vaults/${where}/aggregate`),
      await send(session, 'GET', `/v1/vaults/${where}/aggregate?prefix=deep/gold`),
      await send(session, 'POST', `/v1/vaults/${where}/search`, { query: 'very same' }),
      await send(session, 'GET', `/v1/vaults/${where}/export`),
      await send(session, 'GET', `/v1/vaults/${where}/export?format=dotenv`),
    ];
    for (const answer of answers) {
      assert.equal(answer.status, 200, answer.text);
      assert.ok(!/"deep\/gold"|DEEP_GOLD/.test(answer.text.replace('"prefix":"deep/gold"', '')), answer.text);
    }
    assert.deepEqual(
      answers[2]?.body.matches.map((match: { path: string }) => match.path),
      ['deep/plain'],
    );
  });

  test('no collision with them is shown, and no fingerprint is stored', async () => {
    const session = await fresh();
    const { made } = await make(session, { value: 'equal to another' });
    const other = await addVault(service);
    const twin = await addSecret(service, other, uniqueName('twin'), { value: 'equal to another' });
    const { collisions } = await ok(send(service.adminToken, 'GET', '/vaults/collisions?limit=1000'));
    assert.ok(!JSON.stringify(collisions).includes(twin.id));
    const row = await service.app.kernel.database.read
      .selectFrom('secrets')
      .select('fingerprint')
      .where('secret_id', '=', made.id)
      .executeTakeFirstOrThrow();
    assert.equal(row.fingerprint, null);
  });

  test('every read is recorded, even in a vault that does not list reads', async () => {
    const where = await addUnlistedVault(service, admin.token);
    const session = await fresh();
    const body = { path: 'gold', protection: 'fortress', value: 'x' };
    await ok(send(session, 'POST', `/v1/vaults/${where}/secrets`, body), 201);
    await ok(send(session, 'GET', secretUrl(where, 'gold')));
    await refused(send(service.adminToken, 'GET', secretUrl(where, 'gold')), 403, 'MFA_REQUIRED');
    const entries = await auditOf(service, `resource=vault/${where}/gold&action=secrets:read`);
    assert.deepEqual(
      entries.map((entry) => [entry.decision, entry.status, entry.reason]),
      [
        ['deny', 403, 'MFA_REQUIRED'],
        ['allow', 200, null],
      ],
    );
  });

  test('a schedule rotates them without anybody’s factor', async () => {
    const { path } = await make(await fresh(), { type: 'password', value: 'old', rotation: { interval_days: 1 } });
    service.clock.advance(DAY_MS + MINUTE_MS);
    await runJobs(service);
    const read = await ok(send(await fresh(), 'GET', secretUrl(vault, path)));
    assert.equal(read.version, 2);
    assert.match(read.value, /^[A-Za-z0-9._~-]{32}$/);
  });

  test('moved or copied to another vault they stay what they are, under that vault’s key', async () => {
    const other = await addVault(service);
    const session = await fresh();
    const { path, made } = await make(session);
    await ok(send(session, 'PUT', secretUrl(vault, path), { value: 'second' }));
    const copy = await ok(
      send(session, 'POST', secretUrl(vault, path, 'copy'), { to_vault: other, to_path: 'c' }),
      201,
    );
    assert.deepEqual([copy.protection, copy.version], ['fortress', 1]);
    assert.equal((await ok(send(session, 'GET', secretUrl(other, 'c')))).value, 'second');
    const moved = await ok(send(session, 'POST', secretUrl(vault, path, 'move'), { to_vault: other, to_path: 'm' }));
    assert.deepEqual([moved.id, moved.protection], [made.id, 'fortress']);
    assert.equal((await ok(send(session, 'GET', secretUrl(other, 'm')))).value, 'second');
    assert.equal((await ok(send(session, 'GET', `${secretUrl(other, 'm')}?version=1`))).value, `gold of ${path}`);
    await refused(send(admin.token, 'GET', secretUrl(other, 'm')), 403, 'MFA_REQUIRED');
    await ok(send(session, 'POST', secretUrl(other, 'm', 'rollback'), { to_version: 1 }));
    assert.equal((await ok(send(session, 'GET', secretUrl(other, 'm')))).value, `gold of ${path}`);
    await ok(send(session, 'DELETE', secretUrl(other, 'm')));
    await ok(send(session, 'POST', secretUrl(other, 'm', 'restore')));
    assert.equal((await ok(send(session, 'GET', `${secretUrl(other, 'm')}?version=2`))).value, 'second');
  });

  describe('in the database', () => {
    const rowOf = (id: string) =>
      service.app.kernel.database.read
        .selectFrom('secrets')
        .selectAll()
        .where('secret_id', '=', id)
        .executeTakeFirstOrThrow();
    const set = (id: string, change: object) =>
      behindItsBack(service.app.kernel.database, (db) =>
        db.updateTable('secrets').set(change).where('secret_id', '=', id).execute(),
      );

    test('each has its own key; rows put in each other’s place do not open', async () => {
      const session = await fresh();
      const [one, two] = [await make(session), await make(session)];
      const [a, b] = [await rowOf(one.made.id), await rowOf(two.made.id)];
      assert.ok(a.data_key !== null && b.data_key !== null);
      assert.notDeepEqual(a.data_key, b.data_key);
      service.expectErrorLogs(/a row was not written by the service/);
      const swaps = [
        { sealed: b.sealed },
        { data_key: b.data_key },
        { sealed: b.sealed, data_key: b.data_key },
        { data_key: null },
        { sealed_version: 2 },
      ];
      for (const swap of swaps) {
        await set(one.made.id, swap);
        const answer = await send(session, 'GET', secretUrl(vault, one.path));
        assert.equal(answer.status, 500, JSON.stringify(Object.keys(swap)));
        assert.ok(!answer.text.includes('gold'));
        await set(one.made.id, { sealed: a.sealed, data_key: a.data_key, sealed_version: a.sealed_version });
      }
      assert.equal((await ok(send(session, 'GET', secretUrl(vault, one.path)))).value, `gold of ${one.path}`);
    });

    const versionsOf = (id: string) =>
      service.app.kernel.database.read
        .selectFrom('secret_versions')
        .selectAll()
        .where('secret_id', '=', id)
        .orderBy('version')
        .execute();
    const setVersion = (id: string, version: number, change: object) =>
      service.app.kernel.database.transaction(async (tx) => {
        await tx
          .updateTable('secret_versions')
          .set(change)
          .where('secret_id', '=', id)
          .where('version', '=', version)
          .execute();
      });

    test('each value has a key of its own, which opens no other version', async () => {
      const session = await fresh();
      const { path, made } = await make(session);
      const url = secretUrl(vault, path);
      await ok(send(session, 'PUT', url, { value: 'second' }));
      await ok(send(session, 'PUT', url, { metadata: { tags: ['t'] } }));
      await ok(send(session, 'POST', `${url}/rotate`, { value: 'fourth' }));
      await ok(send(session, 'POST', `${url}/rollback`, { to_version: 1 }));
      const keys = (await versionsOf(made.id)).map(({ data_key }) => Buffer.from(data_key ?? []).toString('hex'));
      assert.deepEqual(
        keys.map((key) => keys.indexOf(key) + 1),
        [1, 2, 2, 4, 1],
        'a value keeps its key',
      );
      assert.ok(keys.every((key) => key.length > 0));
      for (const [i, value] of [`gold of ${path}`, 'second', 'second', 'fourth', `gold of ${path}`].entries()) {
        assert.equal((await ok(send(session, 'GET', `${url}?version=${i + 1}`))).value, value);
      }
      const [first, second] = await versionsOf(made.id);
      service.expectErrorLogs(/UnsealError/);
      for (const change of [
        { data_key: first?.data_key },
        { data_key: null },
        { sealed: first?.sealed, data_key: first?.data_key },
      ]) {
        await setVersion(made.id, 2, change);
        const answer = await send(session, 'GET', `${url}?version=2`);
        assert.equal(answer.status, 500, Object.keys(change).join());
        assert.ok(!/gold|second/.test(answer.text));
        await setVersion(made.id, 2, { sealed: second?.sealed, data_key: second?.data_key });
      }
      await ok(send(session, 'GET', `${url}?version=2`));
    });

    test('a value does not open with the key of another version', async () => {
      const session = await fresh();
      const { path, made } = await make(session);
      await ok(send(session, 'PUT', secretUrl(vault, path), { value: 'second' }));
      const [first, second] = await versionsOf(made.id);
      const { keyring } = service.app.kernel;
      const row = await rowOf(made.id);
      const wrappedAt = { tenantId: row.tenant_id, table: 'secrets', row: `${made.id} data key` };
      const keyOf = async (wrapped: Uint8Array | null | undefined) =>
        createSecretKey(await keyring.unseal(vaultKeyPurpose(row.vault_id), wrappedAt, wrapped ?? new Uint8Array()));
      const sealedAt = { tenantId: row.tenant_id, table: 'secret_versions', row: made.id, version: 1 };
      const sealed = first?.sealed ?? new Uint8Array();
      assert.equal(unseal(await keyOf(first?.data_key), sealedAt, sealed).toString(), `gold of ${path}`);
      const newer = await keyOf(second?.data_key);
      assert.throws(() => unseal(newer, sealedAt, sealed), UnsealError);
    });

    test('an older value put in the place of a newer one does not open', async () => {
      const session = await fresh();
      const { path, made } = await make(session);
      const old = await rowOf(made.id);
      await ok(send(session, 'PUT', secretUrl(vault, path), { value: 'new' }));
      await set(made.id, { sealed: old.sealed });
      const answer = await send(session, 'GET', secretUrl(vault, path));
      assert.equal(answer.status, 500);
      assert.ok(!answer.text.includes('gold'));
    });

    test('one made ordinary by hand does not open either', async () => {
      const session = await fresh();
      const { path, made } = await make(session);
      await set(made.id, { protection: 'standard', data_key: null });
      assert.equal((await send(service.adminToken, 'GET', secretUrl(vault, path))).status, 500);
    });
  });
});
