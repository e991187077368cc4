import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { firstPasskey, signIn } from '../../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  invalid,
  logIn,
  ok,
  openSession,
  type Person,
  refused,
  tryLogIn,
  uniqueName,
} from '../../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../../test/support/service.ts';
import { addTotp } from '../../../../../test/support/totp.ts';
import { addPolicy, addSecret, addVault, auditOf, pathsIn, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS, SECOND_MS } from '../../../kernel/base/clock.ts';

const STEP_MS = 30 * SECOND_MS;
const RAISE = { protection: 'fortress' } as const;

onSqliteAtLanding('an ordinary secret that is made a fortress secret', (database) => {
  let service: Service;
  let vault: string;
  let admin: Person;
  let newcomer: Person;
  let reader: Person;
  let code: () => string;

  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    reader = await addPerson(service);
    await addPolicy(service, { user: reader.id }, [{ action: ['secrets:read'], resource: [`vault/${vault}/*`] }]);
    admin = await addPerson(service, { role: 'admin' });
    newcomer = await addPerson(service, { role: 'admin' });
    ({ code } = await addTotp(service, admin.id));
    // A second factor opens nothing on its first day.
    service.clock.advance(DAY_MS);
  });
  after(() => service.close());

  const fresh = async (): Promise<string> => {
    service.clock.advance(STEP_MS);
    return (await ok(tryLogIn(service, admin, { otp: code() }))).token;
  };
  const send = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const update = (token: string, path: string, body: object) => send(token, 'PUT', secretUrl(vault, path), body);
  const plain = async (value = 'first', where = vault) => {
    const path = uniqueName('s');
    return { path, made: await addSecret(service, where, path, { value }) };
  };
  const stored = (id: string) =>
    service.app.kernel.database.read
      .selectFrom('secrets')
      .select(['protection', 'fingerprint', 'fingerprint_version', 'version'])
      .where('secret_id', '=', id)
      .executeTakeFirstOrThrow();
  const versionsOf = (id: string) =>
    service.app.kernel.database.read
      .selectFrom('secret_versions')
      .select(['version', 'data_key'])
      .where('secret_id', '=', id)
      .orderBy('version')
      .execute();

  test('keeps its values, each under a key of its own, and none opens without a factor any more', async () => {
    const { path, made } = await plain();
    const url = secretUrl(vault, path);
    await ok(update(service.adminToken, path, { value: 'second' }));
    await ok(update(service.adminToken, path, { metadata: { owner: 'ada' } }));
    const session = await fresh();
    const raised = await ok(update(session, path, { ...RAISE, expected_version: 3, reason: 'it is worth it' }));
    assert.deepEqual([raised.id, raised.protection, raised.version], [made.id, 'fortress', 4]);

    const row = await stored(made.id);
    assert.deepEqual([row.protection, row.fingerprint, row.fingerprint_version], ['fortress', null, null]);
    const keys = (await versionsOf(made.id)).map(({ data_key }) => Buffer.from(data_key ?? []).toString('hex'));
    assert.equal(new Set(keys.slice(0, 3)).size, 3);
    assert.ok(keys.every((key) => key.length > 0));
    for (const [i, value] of ['first', 'second', 'second', 'second'].entries()) {
      assert.equal((await ok(send(session, 'GET', `${url}?version=${i + 1}`))).value, value);
      for (const token of [service.adminToken, admin.token]) {
        const { details } = await refused(send(token, 'GET', `${url}?version=${i + 1}`), 403, 'MFA_REQUIRED');
        assert.deepEqual(details, { trusted_factor: true });
      }
    }
    await refused(send(service.adminToken, 'GET', url), 403, 'MFA_REQUIRED');
    const { versions } = await ok(send(service.adminToken, 'GET', `${url}/versions`));
    assert.deepEqual(
      versions.map((each: { has_new_value: boolean; reason: string }) => [each.has_new_value, each.reason]),
      [
        [false, 'it is worth it'],
        [false, ''],
        [true, ''],
        [true, ''],
      ],
    );
    const [entry] = await auditOf(service, `resource=vault/${vault}/${path}&action=secrets:update&decision=allow`);
    assert.deepEqual(entry.details.changed, ['protection']);
  });

  test('leaves through nothing any more that shows many values, and is not found by its value', async () => {
    const where = await addVault(service);
    const value = uniqueName('a value that only this one has');
    const { path, made } = await plain(value, where);
    const known = () => service.call('POST', '/v1/secrets/known', { body: { values: [value] } });
    assert.ok((await known()).text.includes(path));
    const session = await fresh();
    await ok(send(session, 'PUT', secretUrl(where, path), RAISE));
    assert.ok(!(await known()).text.includes(path));
    for (const answer of [
      await send(session, 'GET', `/v1/vaults/${where}/aggregate`),
      await send(session, 'GET', `/v1/vaults/${where}/export`),
      await send(session, 'POST', `/v1/vaults/${where}/search`, { query: value }),
    ]) {
      assert.equal(answer.status, 200, answer.text);
      assert.ok(!answer.text.includes(path), answer.text);
    }
    const detail = await ok(send(service.adminToken, 'GET', `/v1/vaults/${where}`));
    assert.deepEqual([detail.secret_ids, detail.fortress_secret_ids], [[], [made.id]]);
    assert.ok((await pathsIn(service, where)).includes(path));
  });

  test('takes a new value and type at the same time', async () => {
    const { path } = await plain();
    const session = await fresh();
    const raised = await ok(update(session, path, { ...RAISE, type: 'json', value: '{"a":1}' }));
    assert.deepEqual([raised.protection, raised.type, raised.version], ['fortress', 'json', 2]);
    assert.equal((await ok(send(session, 'GET', secretUrl(vault, path)))).value, '{"a":1}');
    assert.equal((await ok(send(session, 'GET', `${secretUrl(vault, path)}?version=1`))).value, 'first');
    await ok(send(session, 'POST', secretUrl(vault, path, 'rollback'), { to_version: 1 }));
    const back = await ok(send(session, 'GET', secretUrl(vault, path)));
    assert.deepEqual([back.value, back.protection], ['first', 'fortress'], 'a rollback does not lower it');
    await refused(send(service.adminToken, 'GET', secretUrl(vault, path)), 403, 'MFA_REQUIRED');
  });

  test('moves to another vault with all its versions', async () => {
    const { path } = await plain();
    const other = await addVault(service);
    const session = await fresh();
    await ok(update(session, path, { ...RAISE, value: 'second' }));
    await ok(send(session, 'POST', secretUrl(vault, path, 'move'), { to_vault: other, to_path: path }));
    for (const [i, value] of ['first', 'second'].entries()) {
      assert.equal((await ok(send(session, 'GET', `${secretUrl(other, path)}?version=${i + 1}`))).value, value);
    }
  });

  test('takes the factor that a fortress secret takes: shown just now, and a day old', async () => {
    const { path, made } = await plain();
    const withoutFactor = await logIn(service, newcomer);
    const withNewOne = await signIn(service, (await firstPasskey(service, newcomer)).passkey);
    for (const token of [service.adminToken, admin.token, withoutFactor, withNewOne]) {
      for (const body of [RAISE, { ...RAISE, value: 'other' }]) {
        await refused(update(token, path, body), 403, 'MFA_REQUIRED');
      }
    }
    assert.deepEqual([(await stored(made.id)).protection, (await stored(made.id)).version], ['standard', 1]);
    assert.equal((await ok(service.call('GET', secretUrl(vault, path)))).value, 'first');
  });

  test('is refused to a caller without permission to change it, in another tenant, of another version, and in another form', async () => {
    const { path, made } = await plain();
    const session = await fresh();
    await refused(update(reader.token, path, RAISE), 403, 'INSUFFICIENT_PRIVILEGE');
    const stranger = await openSession(service, (await addTenant(service)).owner.id);
    await refused(update(stranger, path, RAISE), 404, 'VAULT_NOT_FOUND');
    await refused(update(session, path, { ...RAISE, expected_version: 2 }), 409, 'VERSION_CONFLICT');
    for (const protection of ['Fortress', 'none', null, true]) {
      await invalid(update(session, path, { protection }), '/body/protection');
    }
    assert.deepEqual([(await stored(made.id)).protection, (await stored(made.id)).version], ['standard', 1]);
  });

  test('is never lowered, whatever somebody has proved', async () => {
    const { path } = await plain();
    const session = await fresh();
    await ok(update(session, path, RAISE));
    await refused(update(service.adminToken, path, { protection: 'standard' }), 403, 'MFA_REQUIRED');
    await invalid(update(session, path, { protection: 'standard' }), '/body/protection');
    await invalid(update(session, path, { protection: 'standard', value: 'x' }), '/body/protection');
    const again = await ok(update(session, path, RAISE));
    assert.deepEqual([again.protection, again.version], ['fortress', 3]);
    assert.equal((await ok(send(session, 'GET', secretUrl(vault, path)))).value, 'first');
    // An ordinary one stays what it is for every caller.
    const { path: other } = await plain();
    assert.equal((await ok(update(service.adminToken, other, { protection: 'standard' }))).protection, 'standard');
    assert.equal((await ok(service.call('GET', secretUrl(vault, other)))).value, 'first');
  });

  test('at the same time as other changes, it ends as a fortress secret with the last value', async () => {
    const { path, made } = await plain();
    const session = await fresh();
    const answers = await Promise.all([
      update(session, path, { ...RAISE, expected_version: 1 }),
      update(session, path, { ...RAISE, expected_version: 1 }),
      update(session, path, { value: 'other', expected_version: 1 }),
      update(session, path, RAISE),
    ]);
    assert.deepEqual(
      answers.filter(({ status }) => status >= 500).map(({ text }) => text),
      [],
    );
    assert.equal((await stored(made.id)).protection, 'fortress');
    for (const { version, data_key } of await versionsOf(made.id)) {
      assert.ok(data_key !== null, `version ${version}`);
      await ok(send(session, 'GET', `${secretUrl(vault, path)}?version=${version}`));
    }
  });
});
