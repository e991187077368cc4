import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { EMPTY_ENVELOPE } from '../../../../test/support/factories.ts';
import { addPerson, invalid, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';

const envelopeOf = (letter: string) => EMPTY_ENVELOPE.replace(':AAAA:', `:${letter.repeat(4)}:`);
const [FIRST, SECOND, THIRD] = ['B', 'C', 'D'].map(envelopeOf) as [string, string, string];

onBothDatabases('passphrase checks', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const pathOf = (vault: string) => `/v1/vaults/${vault}/passphrase-check`;
  const read = (vault: string, token?: string) =>
    service.call('GET', pathOf(vault), token === undefined ? {} : { token });
  const write = (vault: string, body: object, token?: string) =>
    service.call('PUT', pathOf(vault), { body, ...(token !== undefined && { token }) });
  const newVault = async (is_zero_knowledge = true) => {
    const name = uniqueName('sealed');
    await ok(
      service.call('POST', '/v1/vaults', { body: { name, environment: 'development', is_zero_knowledge } }),
      201,
    );
    return name;
  };

  test('is stored once, by one of several callers who store the first at the same time', async () => {
    const vault = await newVault();
    const none = await ok(read(vault));
    assert.deepEqual([none.check, none.former, none.version, none.updated_at], [null, null, 0, null]);
    const answers = await Promise.all(
      [FIRST, SECOND, THIRD].map((check) => write(vault, { check, expected_version: 0 })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
    const stored = await ok(read(vault));
    assert.equal(stored.version, 1);
    const winner = answers.findIndex(({ status }) => status === 200);
    assert.equal(stored.check, [FIRST, SECOND, THIRD][winner]);
    assert.equal(answers.find(({ status }) => status === 409)?.body.error.details.version, 1);
  });

  test('changes with the former check beside it until every value is sealed again', async () => {
    const vault = await newVault();
    await ok(write(vault, { check: FIRST, expected_version: 0 }));
    await invalid(write(vault, { check: SECOND, expected_version: 1 }), '/body/former');
    await invalid(write(vault, { check: SECOND, former: THIRD, expected_version: 1 }), '/body/former');
    const changing = await ok(write(vault, { check: SECOND, former: FIRST, expected_version: 1 }));
    assert.deepEqual([changing.check, changing.former, changing.version], [SECOND, FIRST, 2]);
    await invalid(write(vault, { check: THIRD, former: SECOND, expected_version: 2 }), '/body/check');
    await refused(write(vault, { check: SECOND, expected_version: 1 }), 409, 'VERSION_CONFLICT');
    const changed = await ok(write(vault, { check: SECOND, expected_version: 2 }));
    assert.deepEqual([changed.check, changed.former, changed.version], [SECOND, null, 3]);
    await invalid(write(vault, { check: SECOND, former: FIRST, expected_version: 3 }), '/body/former');
    assert.deepEqual(await ok(read(vault)), changed);
  });

  test('goes with its vault, and a vault of the same name begins without one', async () => {
    const vault = await newVault();
    await ok(write(vault, { check: FIRST, expected_version: 0 }));
    await ok(service.call('DELETE', `/v1/vaults/${vault}`));
    await refused(read(vault), 404, 'VAULT_NOT_FOUND');
    await refused(write(vault, { check: SECOND, former: FIRST, expected_version: 1 }), 404, 'VAULT_NOT_FOUND');
  });

  rule('is an envelope, and only of a zero-knowledge vault', async () => {
    const vault = await newVault();
    await invalid(write(vault, { check: 'plain text', expected_version: 0 }), '/body/check');
    await invalid(write(vault, { check: FIRST, former: 'plain text', expected_version: 0 }), '/body/former');
    await invalid(write(vault, { check: FIRST, former: SECOND, expected_version: 0 }), '/body/former');
    const long = FIRST.replace(':BBBB:', `:${'B'.repeat(600)}:`);
    await invalid(write(vault, { check: long, expected_version: 0 }), '/body/check');
    await invalid(write(vault, { check: FIRST }), '/body/expected_version');
    assert.equal((await ok(read(vault))).version, 0);
    const open = await newVault(false);
    await invalid(write(open, { check: FIRST, expected_version: 0 }), '/vault');
    assert.equal((await ok(read(open))).check, null);
  });

  rule('is readable by readers of the vault, who cannot store one', async () => {
    const vault = await newVault();
    const { token, id } = await addPerson(service);
    await refused(read(vault, token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: id, role: 'reader' } }), 201);
    await ok(read(vault, token));
    await refused(write(vault, { check: FIRST, expected_version: 0 }, token), 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
