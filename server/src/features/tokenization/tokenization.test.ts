import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addPerson, addTenant, invalid, ok, refused, tooLarge, uniqueName } from '../../../../test/support/people.ts';
import { leaveUnrecorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addVault, auditOf, runPurges, whileHeld } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { VAULTS } from '../vaults/storage/index.ts';

const MIB = 1024 * 1024;

onSqliteAtLanding('tokens that stand for values', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
  });
  after(() => service.close());

  const tokenize = (body: object, where = vault, token = service.adminToken, headers = {}) =>
    service.call('POST', `/v1/vaults/${where}/tokenize`, { token, body, headers });
  const detokenize = (stored: unknown, where = vault, token = service.adminToken) =>
    service.call('POST', `/v1/vaults/${where}/detokenize`, { token, body: { token: stored } });
  const keep = async (value: string, more = {}) => String((await ok(tokenize({ value, ...more }), 201)).token);
  const rows = () => service.app.kernel.database.read.selectFrom('tokenized_values').selectAll().execute();

  test('give the value back, to the character', async () => {
    for (const value of ['4111 1111 1111 1111', ' ', '\0', 'é🔑\n', 'x'.repeat(MIB), '€'.repeat(Math.floor(MIB / 3))]) {
      const stored = await keep(value);
      assert.match(stored, /^tok_[0-9a-z]{26}$/);
      assert.ok((await ok(detokenize(stored))).value === value);
    }
  });

  test('say nothing about the value: the same one gets another each time', async () => {
    const tokens = await Promise.all(Array.from({ length: 10 }, () => keep('the same')));
    assert.equal(new Set(tokens).size, 10);
    const random = tokens.map((token) => token.slice(-16));
    assert.equal(new Set(random).size, 10, 'they differ in more than the time');
    const kept = (await rows()).filter((row) => tokens.includes(row.token_id));
    assert.equal(new Set(kept.map((row) => Buffer.from(row.sealed).toString('hex'))).size, 10);
  });

  test('values that are none, empty or too large are refused', async () => {
    for (const value of ['', 1, null, {}, undefined]) await invalid(tokenize({ value }), '/body/value');
    await tooLarge(tokenize({ value: 'x'.repeat(MIB + 1) }), '/body/value');
    await tooLarge(tokenize({ value: '€'.repeat(MIB / 2) }), '/body/value');
    for (const ttl_days of [0, -1, 1.5, 3651, '1']) await invalid(tokenize({ value: 'x', ttl_days }), '/body/ttl_days');
    await invalid(tokenize({ value: 'x', name: 'y' }), '/body/name');
    for (const stored of ['', 'tok_', 'sec_01m7f0qxaw002wce9bragbsefp', 1, undefined]) {
      await invalid(detokenize(stored), '/body/token');
    }
  });

  test('are deleted when their days are over', async () => {
    const [day, week, ever] = [await keep('d', { ttl_days: 1 }), await keep('w', { ttl_days: 7 }), await keep('e')];
    const { expires_at } = await ok(tokenize({ value: 'x', ttl_days: 2 }), 201);
    assert.ok(Math.abs(Date.parse(expires_at) - service.clock.now() - 2 * DAY_MS) < 60_000);
    service.clock.advance(DAY_MS + 1000);
    await refused(detokenize(day), 404, 'NOT_FOUND');
    assert.equal((await ok(detokenize(week))).value, 'w');
    await runPurges(service);
    const left = (await rows()).map((row) => row.token_id);
    assert.deepEqual([left.includes(day), left.includes(week), left.includes(ever)], [false, true, true]);
    service.clock.advance(100 * DAY_MS);
    assert.equal((await ok(detokenize(ever))).value, 'e');
  });

  test('are deleted a share at a time when very many are over, the oldest first', async () => {
    const { database } = service.app.kernel;
    const [sample] = await database.read.selectFrom('tokenized_values').selectAll().execute();
    assert.ok(sample !== undefined);
    const ended = service.clock.now() - 1000 * DAY_MS;
    const many = Array.from({ length: 1500 }, (_, i) => ({ ...sample, token_id: `many-${i}`, expires_at: ended + i }));
    await database.transaction(async (tx) => {
      for (let at = 0; at < many.length; at += 500) {
        await tx
          .insertInto('tokenized_values')
          .values(many.slice(at, at + 500))
          .execute();
      }
    });
    const left = async () => (await rows()).filter(({ token_id }) => token_id.startsWith('many-'));
    await runPurges(service);
    assert.deepEqual((await left()).map(({ token_id }) => Number(token_id.slice(5))).sort((a, b) => a - b)[0], 1000);
    await runPurges(service);
    assert.deepEqual(await left(), []);
  });

  test('open in the vault they were made in, and nowhere else', async () => {
    const stored = await keep('here');
    const other = await addVault(service);
    await refused(detokenize(stored, other), 404, 'NOT_FOUND');
    await refused(detokenize(stored, 'no-such-vault'), 404, 'VAULT_NOT_FOUND');
    const { owner } = await addTenant(service);
    await refused(detokenize(stored, vault, owner.token), 404, 'VAULT_NOT_FOUND');
    await addVault(service, { name: vault }, owner.token);
    await refused(detokenize(stored, vault, owner.token), 404, 'NOT_FOUND');
    await refused(detokenize('tok_00000000000000000000000000'), 404, 'NOT_FOUND');
  });

  test('a row put in another’s place does not open', async () => {
    const [one, two] = [await keep('one'), await keep('two')];
    const sealed = new Map((await rows()).map((row) => [row.token_id, row.sealed]));
    await service.app.kernel.database.transaction(async (tx) => {
      const swap = sealed.get(two) ?? Buffer.alloc(0);
      await tx.updateTable('tokenized_values').set({ sealed: swap }).where('token_id', '=', one).execute();
    });
    service.expectErrorLogs(/UnsealError/);
    const answer = await detokenize(one);
    assert.equal(answer.status, 500);
    assert.equal((await ok(detokenize(two))).value, 'two');
  });

  test('each direction has its own permission', async () => {
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [{ action: ['secrets:tokenize'], resource: [`vault/${vault}`] }]);
    const { token: stored } = await ok(tokenize({ value: 'x' }, vault, person.token), 201);
    await refused(detokenize(stored, vault, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(tokenize({ value: 'x' }, await addVault(service), person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(tokenize({ value: 'x' }, 'no-such-vault', person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const reader = await addPerson(service);
    await addPolicy(service, { user: reader.id }, [{ action: ['secrets:detokenize'], resource: [`vault/${vault}`] }]);
    assert.equal((await ok(detokenize(stored, vault, reader.token))).value, 'x');
    await refused(tokenize({ value: 'x' }, vault, reader.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('a zero-knowledge vault has none', async () => {
    const sealed = await addVault(service, { is_zero_knowledge: true });
    await refused(tokenize({ value: 'x' }, sealed), 409, 'ZkBoundaryViolation');
    await refused(detokenize('tok_00000000000000000000000000', sealed), 409, 'ZkBoundaryViolation');
  });

  test('a vault that is deleted in that moment takes nothing more', async () => {
    const where = await addVault(service);
    const { id } = await ok(service.call('GET', `/v1/vaults/${where}`));
    const asked = await whileHeld(
      service,
      async (tx) => {
        await VAULTS.updateWhere(tx, (eb) => eb('name', '=', where), { status: 'deleted' });
        await leaveUnrecorded(tx);
      },
      () => tokenize({ value: 'x' }, where),
    );
    assert.equal(asked.status, 404);
    assert.deepEqual(
      (await rows()).filter((row) => row.vault_id === id),
      [],
    );
  });

  test('are not for a machine that is confined to some paths of the vault', async () => {
    const stored = await keep('a number');
    const scopes = ['secrets:tokenize', 'secrets:detokenize'];
    const body = { token: stored };
    for (const [allowed_paths, status] of [
      [['app/*'], 403],
      [['*'], 200],
    ] as const) {
      const machine = await addConnection(service, vault, { scopes, allowed_paths });
      const answer = await callAs(service, machine, 'POST', `/v1/vaults/${vault}/detokenize`, { body });
      assert.equal(answer.status, status, String(allowed_paths));
    }
  });

  test('both directions are recorded with the token', async () => {
    const where = await addVault(service);
    const { token: stored } = await ok(tokenize({ value: 'x' }, where), 201);
    await ok(detokenize(stored, where));
    const entries = await auditOf(service, `vault=${where}`);
    assert.deepEqual(
      entries.slice(0, 2).map((entry) => [entry.action, entry.details]),
      [
        ['secrets:detokenize', { token: stored }],
        ['secrets:tokenize', { token: stored }],
      ],
    );
  });

  test('the same Idempotency-Key makes one', async () => {
    const headers = { 'idempotency-key': uniqueName('key') };
    const [first, second] = [
      await ok(tokenize({ value: 'x' }, vault, service.adminToken, headers), 201),
      await ok(tokenize({ value: 'x' }, vault, service.adminToken, headers), 201),
    ];
    assert.deepEqual(first, second);
  });
});
