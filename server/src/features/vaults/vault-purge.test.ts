import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, ok, refused } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import {
  addSecret,
  addVault,
  auditOf,
  importPaths,
  pathsIn,
  readValue,
  runPurges,
  secretUrl,
} from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

onBothDatabases('vaults deleted and destroyed', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const idOf = async (vault: string) => (await ok(send('GET', `/v1/vaults/${vault}`))).id as string;

  /** How many rows of each table belong to the vault or its secrets. */
  const rowsOf = async (vaultId: string, secretIds: string[]) => {
    const db = service.app.kernel.database.read;
    const count = (rows: unknown[]) => rows.length;
    return {
      vaults: count(await db.selectFrom('vaults').select('name').where('vault_id', '=', vaultId).execute()),
      members: count(await db.selectFrom('vault_members').select('role').where('vault_id', '=', vaultId).execute()),
      keys: count(await db.selectFrom('keys').select('version').where('purpose', '=', `vault/${vaultId}`).execute()),
      secrets: count(await db.selectFrom('secrets').select('path').where('vault_id', '=', vaultId).execute()),
      tags: count(await db.selectFrom('secret_tags').select('tag').where('vault_id', '=', vaultId).execute()),
      tokens: count(
        await db.selectFrom('tokenized_values').select('token_id').where('vault_id', '=', vaultId).execute(),
      ),
      versions: count(
        await db.selectFrom('secret_versions').select('version').where('secret_id', 'in', secretIds).execute(),
      ),
    };
  };

  rule('deleting says until when it can be undone', async () => {
    const vault = await addVault(service);
    const gone = await ok(send('DELETE', `/v1/vaults/${vault}`));
    assert.equal(gone.status, 'deleted');
    assert.equal(Date.parse(gone.purge_at) - Date.parse(gone.deleted_at), 30 * DAY_MS);
  });

  rule('everything in a deleted vault is a vault that is not there', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a/b');
    const { token: stored } = await ok(send('POST', `/v1/vaults/${vault}/tokenize`, { value: 'kept' }), 201);
    const other = await addVault(service);
    await addSecret(service, other, 'mine');
    await ok(send('DELETE', `/v1/vaults/${vault}`));
    const at = `/v1/vaults/${vault}`;
    const tries: [string, string, object?][] = [
      ['GET', at],
      ['PATCH', at, { description: 'x' }],
      ['DELETE', at],
      ['GET', `${at}/members`],
      ['POST', `${at}/members`, { user: 'admin@localhost', role: 'reader' }],
      ['POST', `${at}/members/review`],
      ['GET', `${at}/secrets`],
      ['POST', `${at}/secrets`, { path: 'new', value: 'x' }],
      ['GET', secretUrl(vault, 'a/b')],
      ['PUT', secretUrl(vault, 'a/b'), { value: 'x' }],
      ['DELETE', secretUrl(vault, 'a/b')],
      ['GET', secretUrl(vault, 'a/b', 'versions')],
      ['POST', secretUrl(vault, 'a/b', 'restore')],
      ['POST', secretUrl(vault, 'a/b', 'rotate'), { value: 'x' }],
      ['POST', secretUrl(vault, 'a/b', 'rollback'), { to_version: 1 }],
      ['POST', secretUrl(vault, 'a/b', 'move'), { to_path: 'c' }],
      ['POST', secretUrl(vault, 'a/b', 'copy'), { to_path: 'c' }],
      ['POST', secretUrl(other, 'mine', 'move'), { to_vault: vault, to_path: 'c' }],
      ['POST', secretUrl(other, 'mine', 'copy'), { to_vault: vault, to_path: 'c' }],
      ['GET', `${at}/aggregate`],
      ['POST', `${at}/search`, { query: 'value' }],
      ['POST', `${at}/tokenize`, { value: 'x' }],
      ['POST', `${at}/detokenize`, { token: stored }],
      ['POST', `${at}/import`, { secrets: { c: 'x' } }],
      ['GET', `${at}/export`],
    ];
    for (const [method, path, body] of tries) await refused(send(method, path, body), 404, 'VAULT_NOT_FOUND');
    assert.deepEqual(await pathsIn(service, other), ['mine']);
  });

  test('restoring brings everything back as it was', async () => {
    const vault = await addVault(service, { tags: ['t'] });
    const person = await addPerson(service);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: person.id, role: 'reader' }), 201);
    await addSecret(service, vault, 'a/b', { metadata: { tags: ['x'] } });
    await ok(send('PUT', secretUrl(vault, 'a/b'), { value: 'second' }));
    const { token: stored } = await ok(send('POST', `/v1/vaults/${vault}/tokenize`, { value: 'kept' }), 201);
    const before = await ok(send('GET', `/v1/vaults/${vault}`));
    await ok(send('DELETE', `/v1/vaults/${vault}`));
    await refused(send('GET', secretUrl(vault, 'a/b'), undefined, person.token), 404, 'VAULT_NOT_FOUND');
    const restored = await ok(send('POST', `/v1/vaults/${vault}/restore`));
    assert.deepEqual([restored.status, restored.deleted_at, restored.purge_at], ['active', null, null]);
    const after = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.deepEqual({ ...after, updated_at: '' }, { ...before, updated_at: '' });
    assert.equal(await readValue(service, vault, 'a/b', { token: person.token }), 'second');
    assert.equal(await readValue(service, vault, 'a/b?version=1'), 'value of a/b');
    assert.deepEqual(await pathsIn(service, vault, 'tags=x'), ['a/b']);
    assert.equal((await ok(send('POST', `/v1/vaults/${vault}/detokenize`, { token: stored }))).value, 'kept');
    await refused(send('POST', `/v1/vaults/${vault}/restore`), 409, 'IN_USE');
    await refused(send('POST', '/v1/vaults/no-such-vault/restore'), 404, 'VAULT_NOT_FOUND');
  });

  test('after its time a vault is destroyed, with its keys, and its name is free', async () => {
    const vault = await addVault(service);
    const other = await addVault(service);
    const person = await addPerson(service);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: person.id, role: 'manager' }), 201);
    const ids = [
      (await addSecret(service, vault, 'kept', { metadata: { tags: ['x'] } })).id,
      (await addSecret(service, vault, 'deleted')).id,
      (await addSecret(service, vault, 'changed')).id,
    ];
    await ok(send('DELETE', secretUrl(vault, 'deleted')));
    await ok(send('PUT', secretUrl(vault, 'changed'), { value: 'second' }));
    await ok(send('POST', `/v1/vaults/${vault}/tokenize`, { value: 'kept' }), 201);
    await addSecret(service, other, 'untouched');
    const id = await idOf(vault);
    await ok(send('DELETE', `/v1/vaults/${vault}`));

    service.clock.advance(30 * DAY_MS - 60_000);
    await runPurges(service);
    const before = await rowsOf(id, ids);
    assert.deepEqual(before, { vaults: 1, members: 2, keys: 1, secrets: 3, tags: 1, tokens: 1, versions: 4 });

    service.clock.advance(DAY_MS);
    // Due, whether or not the job came by: half a vault is not restored.
    await refused(send('POST', `/v1/vaults/${vault}/restore`), 404, 'VAULT_NOT_FOUND');
    await runPurges(service);
    const none = { vaults: 0, members: 0, keys: 0, secrets: 0, tags: 0, tokens: 0, versions: 0 };
    assert.deepEqual(await rowsOf(id, ids), none);
    const [entry, ...more] = await auditOf(service, `action=vault_purged&vault=${vault}`);
    assert.deepEqual(more, []);
    assert.deepEqual(
      [entry.actor.kind, entry.actor.id, entry.resource, entry.decision, entry.details.vault],
      ['system', 'job:purge-vaults', `vault/${vault}`, 'allow', id],
    );
    assert.equal(await readValue(service, other, 'untouched'), 'value of untouched');

    const fresh = await ok(send('POST', '/v1/vaults', { name: vault, environment: 'dev' }), 201);
    assert.notEqual(fresh.id, id);
    assert.deepEqual(await pathsIn(service, vault), []);
    const { members } = await ok(send('GET', `/v1/vaults/${vault}/members`));
    assert.equal(members.length, 1);
    await refused(send('GET', `/v1/vaults/${vault}`, undefined, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await addSecret(service, vault, 'kept', { value: 'another' });
    assert.equal(await readValue(service, vault, 'kept'), 'another');
  });

  rule('a restored vault is not destroyed when its time would have come', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    await ok(send('DELETE', `/v1/vaults/${vault}`));
    service.clock.advance(20 * DAY_MS);
    await ok(send('POST', `/v1/vaults/${vault}/restore`));
    service.clock.advance(20 * DAY_MS);
    await runPurges(service);
    assert.equal(await readValue(service, vault, 'a'), 'value of a');
  });

  test('the key of a destroyed vault is gone from every file of the database', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    const purpose = `vault/${await idOf(vault)}`;
    const { read } = service.app.kernel.database;
    const keys = await read.selectFrom('keys').select('wrapped').where('purpose', '=', purpose).execute();
    assert.equal(keys.length, 1);
    const [{ wrapped }] = keys as [{ wrapped: Uint8Array }];
    const holders = () =>
      readdirSync(service.dataDir).filter((file) =>
        readFileSync(join(service.dataDir, file)).includes(Buffer.from(wrapped)),
      );
    if (database === 'sqlite') assert.notDeepEqual(holders(), [], 'it was there');
    await ok(send('DELETE', `/v1/vaults/${vault}`));
    service.clock.advance(31 * DAY_MS);
    await runPurges(service);
    assert.deepEqual(await read.selectFrom('keys').select('version').where('purpose', '=', purpose).execute(), []);
    assert.deepEqual(holders(), []);
  });

  test('a large vault is destroyed whole, in one run', async () => {
    const { owner } = await addTenant(service);
    const by = {
      ...service,
      adminToken: owner.token,
      call: (m: string, p: string, o = {}) => service.call(m, p, { token: owner.token, ...o }),
    };
    const vault = await addVault(by);
    await importPaths(
      by,
      vault,
      Array.from({ length: 1200 }, (_, i) => `s/${i}`),
    );
    const { id } = await ok(by.call('GET', `/v1/vaults/${vault}`));
    await ok(by.call('DELETE', `/v1/vaults/${vault}`));
    service.clock.advance(31 * DAY_MS);
    await runPurges(service);
    const rows = await service.app.kernel.database.read
      .selectFrom('secrets')
      .select('path')
      .where('vault_id', '=', id)
      .execute();
    assert.equal(rows.length, 0);
    const [entry] = await auditOf(service, 'action=vault_purged', owner.token);
    assert.equal(entry.details.secrets, 1200);
  });
});

onBothDatabases('deleted vaults with a shorter retention', (database, { rule }) => {
  rule('how long is a setting', async () => {
    const service = await startService(database, { env: { CV_VAULT_RETENTION_DAYS: '2' } });
    const vault = await addVault(service);
    await ok(service.call('DELETE', `/v1/vaults/${vault}`));
    service.clock.advance(2 * DAY_MS + 1);
    await runPurges(service);
    await addVault(service, { name: vault });
    await service.close();
  });
});
