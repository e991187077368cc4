import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, approve, ok, refused } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, readValue, secretUrl } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

onBothDatabases('not to list the reads of a vault', (database, { rule }) => {
  rule('takes a second admin where there is one; to list them again takes nobody', async () => {
    const service = await startService(database);
    const second = await addPerson(service, { role: 'admin' });
    const vault = await addVault(service);
    const member = await addPerson(service);
    const send = (method: string, path: string, body?: object, token = service.adminToken) =>
      service.call(method, path, { token, ...(body !== undefined && { body }) });
    const isListed = async () => (await ok(send('GET', `/v1/vaults/${vault}`))).audit.log_reads;
    const off = { audit: { log_reads: false } };
    const role = { user: member.id, role: 'manager' };
    await ok(send('POST', `/v1/vaults/${vault}/members`, role), 201);

    const waiting = await ok(send('PATCH', `/v1/vaults/${vault}`, off), 202);
    assert.deepEqual([waiting.approval, await isListed()], ['siem_change', true]);
    await refused(approve(service, waiting.approval_id, service.adminToken), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(approve(service, waiting.approval_id, member.token), 404, 'NOT_FOUND');
    assert.equal(await isListed(), true);
    await ok(approve(service, waiting.approval_id, second.token));
    assert.equal(await isListed(), false);
    const [entry] = await auditOf(service, `vault=${vault}&action=vault_updated&decision=allow`);
    assert.deepEqual(entry.details.log_reads, { before: true, after: false });

    await ok(send('PATCH', `/v1/vaults/${vault}`, { ...off, description: 'still off' }));
    await ok(send('PATCH', `/v1/vaults/${vault}`, { audit: { log_reads: true } }, member.token));
    assert.equal(await isListed(), true);
    await ok(send('PATCH', `/v1/vaults/${vault}`, off, member.token), 202);
    assert.equal(await isListed(), true, 'a manager alone does not do');

    const made = await ok(send('POST', '/v1/vaults', { name: 'unlisted-from-the-start', ...off }), 202);
    await refused(send('GET', '/v1/vaults/unlisted-from-the-start'), 404, 'VAULT_NOT_FOUND');
    await ok(approve(service, made.approval_id, second.token));
    assert.equal((await ok(send('GET', '/v1/vaults/unlisted-from-the-start'))).audit.log_reads, false);

    const third = await ok(send('PATCH', `/v1/vaults/${vault}`, off), 202);
    await ok(
      service.call('POST', `/approvals/${third.approval_id}/reject`, { token: second.token, body: { reason: 'no' } }),
    );
    assert.equal(await isListed(), true);
    await service.close();
  });

  test('a service that ends writes what it counted', async () => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const first = await startService(database, { ...(databaseUrl !== undefined && { databaseUrl }), keepData: true });
    const vault = await addVault(first, { audit: { log_reads: false } });
    await addSecret(first, vault, 'a');
    await readValue(first, vault, 'a');
    await first.close();
    const again = await startService(database, {
      ...(databaseUrl !== undefined && { databaseUrl }),
      dataDir: first.dataDir,
    });
    const [summary] = await auditOf(again, `vault=${vault}&action=secrets:reads_counted`);
    assert.equal(summary.details.reads, 1);
    await again.close();
  });
});

onBothDatabases('what a vault records', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  /** What the log has about the vault, oldest first, without the questions of this test. */
  const recorded = async (vault: string) =>
    (await auditOf(service, `vault=${vault}`)).map((entry) => `${entry.action} ${entry.decision}`).toReversed();

  rule('each step in the life of a vault, by whom and on what', async () => {
    const vault = await addVault(service);
    const { id } = await ok(send('GET', `/v1/vaults/${vault}`));
    await ok(send('PATCH', `/v1/vaults/${vault}`, { description: 'x' }));
    await ok(send('DELETE', `/v1/vaults/${vault}`));
    await ok(send('POST', `/v1/vaults/${vault}/restore`));
    assert.deepEqual(await recorded(vault), [
      'vault_created allow',
      'vaults:read allow',
      'vault_updated allow',
      'vault_deleted allow',
      'vault_restored allow',
    ]);
    const changes = await auditOf(service, `vault=${vault}&action=vault_*`);
    assert.equal(changes.length, 4, 'the prefix finds every change, and no read');
    const [created] = await auditOf(service, `vault=${vault}&action=vault_created`);
    assert.deepEqual(
      [created.resource, created.status, created.details],
      [`vault/${vault}`, 201, { vault: id, environment: 'staging' }],
    );
  });

  rule('that reads are no longer recorded is recorded, and that they are again', async () => {
    for (const more of [{}, { is_zero_knowledge: true }]) {
      const vault = await addVault(service, more);
      for (const log_reads of [false, true, true]) {
        await ok(send('PATCH', `/v1/vaults/${vault}`, { description: 'x', audit: { log_reads } }));
      }
      const updates = await auditOf(service, `vault=${vault}&action=vault_updated`);
      assert.deepEqual(updates.map((entry) => entry.details?.log_reads).toReversed(), [
        { before: true, after: false },
        { before: false, after: true },
        undefined,
      ]);
    }
  });

  rule('the requested version is recorded with the secret', async () => {
    const vault = await addVault(service);
    const { id } = await addSecret(service, vault, 'a');
    await ok(send('PUT', secretUrl(vault, 'a'), { value: 'newer' }));
    await ok(send('GET', `${secretUrl(vault, 'a')}?version=1`));
    await refused(send('GET', `${secretUrl(vault, 'a')}?version=9`), 404, 'VERSION_NOT_FOUND');
    const reads = await auditOf(service, `vault=${vault}&action=secrets:read`);
    assert.deepEqual(
      reads.map(({ status, details }) => [status, details]),
      [
        [404, { secret: id, version: 9 }],
        [200, { secret: id, version: 1 }],
      ],
    );
  });

  rule('reads of secrets are recorded, each with its version', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    await addSecret(service, vault, 'b');
    await readValue(service, vault, 'a');
    await ok(send('GET', `/v1/vaults/${vault}/aggregate`));
    await ok(send('GET', `/v1/vaults/${vault}/export`));
    const reads = await auditOf(service, `vault=${vault}&action=secrets:read`);
    assert.deepEqual(
      reads.map((entry) => [entry.resource, entry.details?.via]).toSorted(),
      [
        [`vault/${vault}/a`, undefined],
        [`vault/${vault}/a`, 'aggregate'],
        [`vault/${vault}/a`, 'export'],
        [`vault/${vault}/b`, 'aggregate'],
        [`vault/${vault}/b`, 'export'],
      ].toSorted(),
    );
  });

  rule('with log_reads false, allowed reads leave no entry; refusals and changes do', async () => {
    const vault = await addVault(service, { audit: { log_reads: false } });
    await addSecret(service, vault, 'a');
    await readValue(service, vault, 'a');
    await readValue(service, vault, 'a?version=1');
    await ok(send('GET', `/v1/vaults/${vault}/aggregate`));
    assert.deepEqual(await recorded(vault), ['vault_created allow', 'secrets:create allow']);
    const [created] = await auditOf(service, `vault=${vault}&action=vault_created`);
    assert.deepEqual([created.details.log_reads, created.details.self_approved], [false, true]);
    await ok(send('PUT', secretUrl(vault, 'a'), { value: 'b' }));
    await refused(send('GET', secretUrl(vault, 'missing')), 404, 'SECRET_NOT_FOUND');
    await refused(send('GET', `${secretUrl(vault, 'a')}?version=9`), 404, 'VERSION_NOT_FOUND');
    const stranger = await addPerson(service);
    await refused(send('GET', secretUrl(vault, 'a'), undefined, stranger.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(
      send('GET', `/v1/vaults/${vault}/aggregate`, undefined, stranger.token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    assert.deepEqual((await recorded(vault)).slice(2), [
      'secrets:update allow',
      'secrets:read error',
      'secrets:read error',
      'secrets:read deny',
      'secrets:aggregate deny',
    ]);
    await ok(send('PATCH', `/v1/vaults/${vault}`, { audit: { log_reads: true } }));
    await readValue(service, vault, 'a');
    assert.equal((await recorded(vault)).at(-1), 'secrets:read allow');
  });

  test('reads that are not listed are counted, by reader, and refused ones are not among them', async () => {
    const vault = await addVault(service, { audit: { log_reads: false } });
    const other = await addVault(service, { audit: { log_reads: false } });
    for (const path of ['a', 'b']) await addSecret(service, vault, path);
    await addSecret(service, other, 'a');
    const reader = await addPerson(service);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: reader.id, role: 'reader' }), 201);
    for (let i = 0; i < 3; i++) await readValue(service, vault, 'a');
    await ok(send('GET', secretUrl(vault, 'b'), undefined, reader.token));
    await ok(send('GET', `/v1/vaults/${vault}/aggregate`, undefined, reader.token));
    await refused(send('GET', `${secretUrl(vault, 'a')}?version=9`), 404, 'VERSION_NOT_FOUND');
    await refused(send('GET', secretUrl(other, 'a'), undefined, reader.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const before = await recorded(vault);
    assert.ok(!before.includes('secrets:read allow') && !before.includes('secrets:aggregate allow'));
    await service.app.kernel.unlistedReads.flush();
    const [summary, ...rest] = await auditOf(service, `vault=${vault}&action=secrets:reads_counted`);
    assert.deepEqual([rest, summary.resource, summary.actor.id], [[], `vault/${vault}`, 'unlisted-reads']);
    const { reads, by, by_others, since } = summary.details;
    assert.deepEqual([reads, by_others], [6, 0]);
    const [{ user: me }] = [await ok(send('GET', '/auth/me'))];
    assert.deepEqual(
      by.map((one: { id: string; name: string; reads: number }) => [one.id, one.name, one.reads]),
      [
        [me.id, me.email, 3],
        [reader.id, reader.email, 3],
      ],
    );
    assert.ok(Date.parse(since) <= Date.parse(summary.timestamp));
    assert.deepEqual(await auditOf(service, `vault=${other}&action=secrets:reads_counted`), []);
    await service.app.kernel.unlistedReads.flush();
    assert.equal((await auditOf(service, `vault=${vault}&action=secrets:reads_counted`)).length, 1);
  });

  test('a vault’s key is replaced after its time, and what the old one sealed still opens', async () => {
    const vault = await addVault(service, { encryption: { rotation_days: 10 } });
    const { id } = await ok(send('GET', `/v1/vaults/${vault}`));
    const versions = async () =>
      (
        await service.app.kernel.database.read
          .selectFrom('keys')
          .select('version')
          .where('purpose', '=', `vault/${id}`)
          .execute()
      ).length;
    await addSecret(service, vault, 'old');
    service.clock.advance(9 * DAY_MS);
    await addSecret(service, vault, 'middle');
    assert.equal(await versions(), 1);
    service.clock.advance(2 * DAY_MS);
    await addSecret(service, vault, 'new');
    assert.equal(await versions(), 2);
    for (const path of ['old', 'new']) assert.equal(await readValue(service, vault, path), `value of ${path}`);
    await ok(send('POST', secretUrl(vault, 'old', 'rollback'), { to_version: 1 }));
    assert.equal(await readValue(service, vault, 'old'), 'value of old');
  });
});
