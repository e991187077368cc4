import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, addToken, invalid, ok, type Tenant } from '../../../../test/support/people.ts';
import { asTheService } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  auditOf,
  importPaths,
  runJobs,
  secretUrl,
} from '../../../../test/support/vaults.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import type { RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import { SECRETS } from '../secrets/storage/index.ts';

interface Collision {
  kind: 'path' | 'value';
  path: string;
  vaults: string[];
  vaults_total: number;
  secrets_total: number;
  secrets: { id: string; vault: string; path: string }[];
}

onBothDatabases('collisions', (database, { rule }) => {
  let service: Service;
  /** Each test has a tenant of its own: a collision is looked for everywhere in one. */
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const fresh = async () => {
    tenant = await addTenant(service);
    return tenant.owner.token;
  };
  const list = async (token: string, query = '') =>
    (await ok(service.call('GET', `/vaults/collisions?${query}`, { token }))) as {
      collisions: Collision[];
      total: number;
      complete: boolean;
      next_cursor: string | null;
    };
  const short = ({ kind, path, vaults }: Collision) => `${kind} ${path} in ${vaults.join()}`;
  const shown = async (token: string) => (await list(token)).collisions.map(short);

  test('are the same path in several vaults, and equal values anywhere in several', async () => {
    const token = await fresh();
    const [a, b, c] = [
      await addVault(service, { name: 'a' }, token),
      await addVault(service, { name: 'b' }, token),
      await addVault(service, { name: 'c' }, token),
    ];
    const ids: Record<string, string> = {};
    for (const [vault, path, value] of [
      [a, 'db/password', 'one'],
      [b, 'db/password', 'two'],
      [c, 'db/password', 'two'],
      [a, 'x', 'shared'],
      [b, 'y', 'shared'],
      [a, 'twice/1', 'in one vault'],
      [a, 'twice/2', 'in one vault'],
      [c, 'alone', 'alone'],
      [a, 'nothing/1', ''],
      [b, 'nothing/2', ''],
      [b, 'DB/password', 'another case'],
    ] as const) {
      ids[`${vault} ${path}`] = (await addSecret(service, vault, path, { value }, token)).id;
    }
    const { collisions, total, next_cursor } = await list(token);
    assert.deepEqual(collisions.map(short).sort(), [
      'path db/password in a,b,c',
      'value db/password in b,c',
      'value x in a,b',
    ]);
    assert.deepEqual([total, next_cursor], [3, null]);
    const same = collisions.find((one) => one.kind === 'value' && one.path === 'x');
    assert.deepEqual(
      same?.secrets.toSorted((left, right) => (left.vault < right.vault ? -1 : 1)),
      [
        { id: ids['a x'], vault: 'a', path: 'x' },
        { id: ids['b y'], vault: 'b', path: 'y' },
      ],
    );
    assert.deepEqual(
      (await ok(service.call('GET', '/v1/vaults/collisions', { token }))).total,
      3,
      'also with /v1, and it is no vault’s name',
    );
  });

  rule('come and go with what secrets are now: changed, rolled back, moved, deleted, restored', async () => {
    const token = await fresh();
    const [a, b] = [await addVault(service, { name: 'a' }, token), await addVault(service, { name: 'b' }, token)];
    const call = (method: string, path: string, body?: object, status = 200) =>
      ok(service.call(method, path, { token, ...(body && { body }) }), status);
    await addSecret(service, a, 'one', { value: 'same' }, token);
    await addSecret(service, b, 'two', { value: 'same' }, token);
    assert.deepEqual(await shown(token), ['value one in a,b']);
    await call('PUT', secretUrl(a, 'one'), { value: 'other' });
    assert.deepEqual(await shown(token), []);
    await call('POST', secretUrl(a, 'one', 'rollback'), { to_version: 1 });
    assert.deepEqual(await shown(token), ['value one in a,b']);
    await call('POST', secretUrl(a, 'one', 'rotate'), { value: 'third' });
    assert.deepEqual(await shown(token), []);
    await call('POST', secretUrl(a, 'one', 'rotate'), { value: 'same' });
    await call('PUT', secretUrl(a, 'one'), { metadata: { tags: ['t'] } });
    assert.deepEqual(await shown(token), ['value one in a,b']);
    await call('POST', secretUrl(a, 'one', 'move'), { to_vault: b, to_path: 'one' });
    assert.deepEqual(await shown(token), []);
    await call('POST', secretUrl(b, 'one', 'move'), { to_vault: a, to_path: 'two' });
    assert.deepEqual((await shown(token)).sort(), ['path two in a,b', 'value two in a,b']);
    await call('DELETE', secretUrl(b, 'two'));
    assert.deepEqual(await shown(token), []);
    await call('POST', secretUrl(b, 'two', 'restore'));
    assert.equal((await shown(token)).length, 2);
    await call('POST', secretUrl(a, 'two', 'copy'), { to_vault: b, to_path: 'copied' }, 201);
    assert.equal((await list(token)).collisions.find((one) => one.kind === 'value')?.secrets.length, 3);
    await service.call('POST', `/v1/vaults/${a}/import`, { token, body: { secrets: { imported: 'same' } } });
    assert.equal((await list(token)).collisions.find((one) => one.kind === 'value')?.secrets.length, 4);
    await call('DELETE', `/v1/vaults/${b}`);
    assert.deepEqual(await shown(token), []);
  });

  rule('count only what the caller may see, on each side', async () => {
    const token = await fresh();
    const [a, b, c] = [
      await addVault(service, { name: 'a' }, token),
      await addVault(service, { name: 'b' }, token),
      await addVault(service, { name: 'c' }, token),
    ];
    for (const vault of [a, b, c]) await addSecret(service, vault, 'shared', { value: 'same' }, token);
    const person = await addPerson(service, { tenant });
    assert.deepEqual(await shown(person.token), []);
    const add = (vault: string) =>
      ok(
        service.call('POST', `/v1/vaults/${vault}/members`, { token, body: { user: person.id, role: 'reader' } }),
        201,
      );
    await add(a);
    assert.deepEqual(await shown(person.token), []);
    await add(b);
    assert.deepEqual(await shown(person.token), ['path shared in a,b', 'value shared in a,b']);
    const deny = [{ effect: 'deny' as const, action: ['secrets:list'], resource: ['vault/b/shared'] }];
    await addPolicy(service, { user: person.id }, deny, token);
    assert.deepEqual(await shown(person.token), []);
    const bound = await addToken(service, token, { scope: { vaults: ['a', 'c'] } });
    assert.deepEqual(await shown(bound.token), ['path shared in a,c', 'value shared in a,c']);
    const elsewhere = await addToken(service, token, { scope: { actions: ['vaults:list'] } });
    const refusal = await service.call('GET', '/vaults/collisions', { token: elsewhere.token });
    assert.equal(refusal.status, 403);
  });

  rule(
    'equal values are reported only to callers who may read them: otherwise a guess could be confirmed',
    async () => {
      const token = await fresh();
      const [target, own] = [
        await addVault(service, { name: 'target' }, token),
        await addVault(service, { name: 'own' }, token),
      ];
      await addSecret(service, target, 'pin', { value: '1234' }, token);
      await addSecret(service, target, 'shared', {}, token);
      const person = await addPerson(service, { tenant });
      await ok(
        service.call('POST', `/v1/vaults/${own}/members`, { token, body: { user: person.id, role: 'writer' } }),
        201,
      );
      const metadata = [{ action: ['secrets:list', 'secrets:read_metadata'], resource: [`vault/${target}/**`] }];
      await addPolicy(service, { user: person.id }, metadata, token);
      await addSecret(service, own, 'guess', { value: '1234' }, person.token);
      await addSecret(service, own, 'shared', {}, person.token);
      assert.deepEqual(await shown(person.token), ['path shared in own,target']);
      assert.deepEqual((await shown(token)).sort(), [
        'path shared in own,target',
        'value guess in own,target',
        'value shared in own,target',
      ]);
      const auditor = await addPerson(service, { tenant, role: 'auditor' });
      assert.deepEqual(await shown(auditor.token), ['path shared in own,target']);
    },
  );

  test('of values under an older key are not missed silently, and found once the job has made their digests anew', async () => {
    const token = await fresh();
    const [a, b] = [await addVault(service, { name: 'a' }, token), await addVault(service, { name: 'b' }, token)];
    await addVault(service, { name: 'zk', is_zero_knowledge: true }, token);
    await addSecret(service, a, 'old', { value: 'same' }, token);
    await addSecret(service, a, 'deleted', { value: 'restored later' }, token);
    await ok(service.call('DELETE', secretUrl(a, 'deleted'), { token }));
    await addSecret(service, b, 'damaged', { value: 'no longer opens' }, token);
    assert.equal((await list(token)).complete, true);
    const { database, keyring } = service.app.kernel;
    const addVersion = await keyring.versionMaker(tenant.id, 'fingerprints');
    await asTheService(database, async (tx) => {
      await keyring.insertVersion(tx, addVersion(2));
      const isDamaged: RowFilter<'secrets'> = (eb) => eb.and({ tenant_id: tenant.id, path: 'damaged' });
      await SECRETS.updateWhere(tx, isDamaged, { sealed: Buffer.alloc(60, 1) });
    });
    service.clock.advance(10 * MINUTE_MS);
    await addSecret(service, b, 'new', { value: 'same' }, token);
    const before = await list(token);
    assert.deepEqual([before.collisions, before.complete], [[], false], 'not found yet, and that is said');
    service.expectErrorLogs(/a value cannot be decrypted; it is excluded/);
    await runJobs(service);
    const after = await list(token);
    assert.deepEqual([after.collisions.map(short), after.complete], [['value new in a,b'], true]);
    await ok(service.call('POST', secretUrl(a, 'deleted', 'restore'), { token }));
    await addSecret(service, b, 'twin', { value: 'restored later' }, token);
    assert.deepEqual((await shown(token)).sort(), ['value deleted in a,b', 'value new in a,b']);
  });

  rule('are found however often the service was started', async () => {
    const token = await fresh();
    for (const name of ['a', 'b']) await addVault(service, { name }, token);
    await addSecret(service, 'a', 'one', { value: 'same' }, token);
    const used = await service.app.kernel.database.read
      .selectFrom('keys')
      .select(['version', 'uses'])
      .where('tenant_id', '=', tenant.id)
      .where('purpose', '=', 'fingerprints')
      .executeTakeFirstOrThrow();
    assert.deepEqual([used.version, used.uses], [1, 0], 'a start reserves nothing of it');
    // What 1,024 starts of an older release left.
    await service.app.kernel.database.transaction(async (tx) => {
      await tx
        .updateTable('keys')
        .set({ uses: 2 ** 30 })
        .where('tenant_id', '=', tenant.id)
        .where('purpose', '=', 'fingerprints')
        .execute();
    });
    service.clock.advance(10 * MINUTE_MS);
    await addSecret(service, 'b', 'two', { value: 'same' }, token);
    assert.deepEqual(await shown(token), ['value one in a,b']);
  });

  rule('of another tenant are none of ours', async () => {
    const one = await fresh();
    const two = await fresh();
    for (const token of [one, two]) {
      await addVault(service, { name: 'only' }, token);
      await addSecret(service, 'only', 'shared', { value: 'the same everywhere' }, token);
    }
    assert.deepEqual([await shown(one), await shown(two)], [[], []]);
    const { read } = service.app.kernel.database;
    const rows = await read.selectFrom('secrets').selectAll().where('path', '=', 'shared').execute();
    const digests = rows
      .filter((row) => row.fingerprint !== null)
      .map((row) => Buffer.from(row.fingerprint ?? []).toString('hex'));
    assert.ok(digests.length > 2);
    const [own] = rows.filter((row) => row.tenant_id === tenant.id);
    const mine = Buffer.from(own?.fingerprint ?? []).toString('hex');
    assert.equal(digests.filter((digest) => digest === mine).length, 1, 'each tenant has its own digests');
  });

  rule('no answer has a fingerprint or a value in it', async () => {
    const token = await fresh();
    for (const name of ['a', 'b']) {
      await addVault(service, { name }, token);
      await addSecret(service, name, 'shared', { value: 'Zq7SharedValue' }, token);
    }
    const { text } = await service.call('GET', '/vaults/collisions', { token });
    const { read } = service.app.kernel.database;
    const rows = await read.selectFrom('secrets').select('fingerprint').where('tenant_id', '=', tenant.id).execute();
    assert.equal(rows.length, 2);
    for (const { fingerprint } of rows) {
      const digest = Buffer.from(fingerprint ?? []);
      assert.equal(digest.length, 32);
      for (const form of [digest.toString('hex'), digest.toString('base64'), digest.toString('base64url')]) {
        assert.ok(!text.includes(form.slice(0, 20)));
      }
    }
    assert.ok(!text.includes('Zq7SharedValue'));
    const [entry] = await auditOf(service, 'action=secrets:list_collisions', token);
    assert.equal(entry.decision, 'allow');
  });

  test('come in pages, each once, over many secrets', async () => {
    const token = await fresh();
    const by: Service = {
      ...service,
      adminToken: token,
      call: (method, path, options) => service.call(method, path, { token, ...options }),
    };
    const paths = Array.from({ length: 1100 }, (_, i) => `s/${String(i).padStart(4, '0')}`);
    for (const name of ['a', 'b']) {
      await addVault(by, { name });
      await importPaths(by, name, name === 'a' ? paths : paths.filter((_, i) => i % 100 === 0));
    }
    const whole = await list(token, 'limit=1000');
    assert.equal(whole.total, 22);
    assert.deepEqual(
      whole.collisions.map(short).sort(),
      paths
        .filter((_, i) => i % 100 === 0)
        .flatMap((path) => [`path ${path} in a,b`, `value ${path} in a,b`])
        .sort(),
    );
    const paged: Collision[] = [];
    let cursor = '';
    do {
      const page = await list(token, `limit=5&cursor=${cursor}`);
      assert.equal(page.total, 22);
      paged.push(...page.collisions);
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual(paged, whole.collisions);
    for (const bad of [
      'x',
      Buffer.from('["-1"]').toString('base64url'),
      Buffer.from('["1e9"]').toString('base64url'),
    ]) {
      await invalid(service.call('GET', `/vaults/collisions?cursor=${bad}`, { token }), '/query/cursor');
    }
  });

  test('one value or one path shared by more secrets than one batch holds is found whole', async () => {
    const token = await fresh();
    const by: Service = {
      ...service,
      adminToken: token,
      call: (method, path, options) => service.call(method, path, { token, ...options }),
    };
    for (const name of ['a', 'b']) {
      await addVault(by, { name });
      const secrets = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`${name}/${i}`, 'one for all']));
      await ok(by.call('POST', `/v1/vaults/${name}/import`, { body: { secrets } }));
    }
    const { collisions, total } = await list(token);
    assert.equal(total, 1);
    assert.equal(collisions[0]?.secrets_total, 1400);
    assert.equal(collisions[0]?.secrets.length, 50);
    assert.deepEqual(collisions[0]?.vaults, ['a', 'b']);
    assert.equal(collisions[0]?.vaults_total, 2);
  });
});
