import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addPerson, addTenant, addToken, invalid, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  importPaths,
  POLICY_VERSION,
  secretUrl,
} from '../../../../test/support/vaults.ts';

onBothDatabases('vaults', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const names = async (query: string, token = service.adminToken) => {
    const { vaults, total } = await ok(send('GET', `/v1/vaults?limit=1000&${query}`, undefined, token));
    return { names: vaults.map((vault: { name: string }) => vault.name) as string[], total };
  };

  test('every answer that describes a vault lists the secrets in it that the caller may list', async () => {
    const made = await ok(send('POST', '/v1/vaults', { name: uniqueName('listed') }), 201);
    const none = { secret_ids: [], fortress_secret_ids: [], secret_ids_truncated: false };
    const idsOf = ({ secret_ids, fortress_secret_ids, secret_ids_truncated }: typeof none) => {
      return { secret_ids, fortress_secret_ids, secret_ids_truncated };
    };
    assert.deepEqual(idsOf(made), none);
    const { id } = await addSecret(service, made.name, 'a');
    const url = `/v1/vaults/${made.name}`;
    const there = { ...none, secret_ids: [id] };
    assert.deepEqual(idsOf(await ok(send('PATCH', url, { description: 'x' }))), there);
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [{ action: ['vaults:update'], resource: [`vault/${made.name}`] }]);
    assert.deepEqual(idsOf(await ok(send('PATCH', url, { description: 'y' }, person.token))), none);
    assert.deepEqual(idsOf(await ok(send('DELETE', url))), there);
    assert.deepEqual(idsOf(await ok(send('POST', `${url}/restore`))), there);
  });

  test('with all its fields, a vault reads back as made', async () => {
    const name = uniqueName('Full.vault_1');
    const made = await ok(
      send('POST', '/v1/vaults', {
        name,
        description: 'What the shop needs\nat night',
        environment: 'staging',
        tags: ['shop', 'night shift'],
        encryption: { algorithm: 'AES-256-GCM', key_source: 'service_managed', rotation_days: 30 },
        audit: { log_reads: false, retention_days: 400 },
        is_zero_knowledge: true,
      }),
      201,
    );
    assert.match(made.id, /^vault_/);
    assert.deepEqual(
      { ...made, id: '', created_at: '', updated_at: '' },
      {
        id: '',
        name,
        description: 'What the shop needs\nat night',
        environment: 'staging',
        tags: ['shop', 'night shift'],
        status: 'active',
        secrets_count: 0,
        is_zero_knowledge: true,
        created_at: '',
        updated_at: '',
        deleted_at: null,
        purge_at: null,
        encryption: { algorithm: 'AES-256-GCM', key_source: 'service_managed', rotation_days: 30 },
        audit: { log_reads: false, retention_days: 400 },
        approval_id: null,
        change_control: 'none',
        secret_ids: [],
        fortress_secret_ids: [],
        secret_ids_truncated: false,
      },
    );
    const read = await ok(send('GET', `/v1/vaults/${name}`));
    assert.deepEqual(read, { ...made, your_role: 'manager', policies: read.policies });
  });

  rule('what is left out has the defaults of the contract', async () => {
    const made = await ok(send('POST', '/v1/vaults', { name: uniqueName('plain'), environment: 'staging' }), 201);
    assert.deepEqual(made.encryption, {
      algorithm: 'AES-256-GCM',
      key_source: 'service_managed',
      rotation_days: 90,
    });
    const { description, tags, audit, is_zero_knowledge, status } = made;
    assert.deepEqual(
      [description, tags, audit, is_zero_knowledge, status],
      ['', [], { log_reads: true, retention_days: null }, false, 'active'],
    );
  });

  rule('an environment is written short or long, in any case, and stored in one spelling', async () => {
    const rows: [string, string][] = [
      ['Dev', 'development'],
      ['DEVELOPMENT', 'development'],
      ['Hml', 'homologation'],
      ['hML', 'homologation'],
      ['homologation', 'homologation'],
      ['STG', 'staging'],
      ['Staging', 'staging'],
      ['Prd', 'production'],
      ['pRod', 'production'],
      ['Production', 'production'],
    ];
    for (const [environment, stored] of rows) {
      const made = await ok(send('POST', '/v1/vaults', { name: uniqueName('env'), environment }), 201);
      assert.equal(made.environment, stored);
      assert.equal((await ok(send('GET', `/v1/vaults/${made.name}`))).environment, stored);
    }
    for (const environment of ['', 'test', 'prod ', 'ｐｒｏｄ', 'prodſ', 1, null]) {
      await invalid(send('POST', '/v1/vaults', { name: uniqueName('env'), environment }), '/body/environment');
    }
    const plain = await ok(send('POST', '/v1/vaults', { name: uniqueName('env') }), 201);
    assert.equal(plain.environment, 'development', 'where nothing is said');
  });

  rule('names that are none, or mean something to the service, are refused', async () => {
    for (const name of ['', '-a', '.', '..', 'a/b', 'a b', 'a*', 'é', 'a%2Fb', 'x'.repeat(64), 1]) {
      await invalid(send('POST', '/v1/vaults', { name, environment: 'dev' }), '/body/name');
    }
    const reserved = ['collisions', 'Collisions', 'COLLISIONS', 'root', 'Default', 'self', 'ADMIN'];
    for (const name of [...reserved, 'vault_01m7f0qxaw002wce9bragbsefp']) {
      await invalid(send('POST', '/v1/vaults', { name, environment: 'dev' }), '/body/name');
    }
    const longest = uniqueName('x').padEnd(63, 'y');
    await ok(send('POST', '/v1/vaults', { name: longest, environment: 'dev' }), 201);
    await ok(send('GET', `/v1/vaults/${longest}`));
  });

  test('a name is taken once in a tenant, also while its vault is only deleted; another case is another name', async () => {
    const name = await addVault(service);
    const again = { name, environment: 'development' };
    await refused(send('POST', '/v1/vaults', again), 409, 'VAULT_ALREADY_EXISTS');
    await ok(send('DELETE', `/v1/vaults/${name}`));
    await refused(send('POST', '/v1/vaults', again), 409, 'VAULT_ALREADY_EXISTS');
    await ok(send('POST', '/v1/vaults', { ...again, name: name.toUpperCase() }), 201);
    await ok(send('POST', '/v1/vaults', again, (await addTenant(service)).owner.token), 201);
  });

  test('twenty at once with one name make one vault', async () => {
    const body = { name: uniqueName('race'), environment: 'dev' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('POST', '/v1/vaults', body)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
  });

  rule('fields that are unknown, too many or too large are pointed at', async () => {
    const base = { name: uniqueName('bad'), environment: 'dev' };
    const rows: [object, string][] = [
      [{ owner: 'me' }, '/body/owner'],
      [{ description: 'x'.repeat(1025) }, '/body/description'],
      [{ description: 'a\0b' }, '/body/description'],
      [{ tags: ['a', 'a'] }, '/body/tags'],
      [{ tags: [''] }, '/body/tags/0'],
      [{ tags: ['a\nb'] }, '/body/tags/0'],
      [{ tags: ['x'.repeat(129)] }, '/body/tags/0'],
      [{ tags: Array.from({ length: 65 }, (_, i) => `t${i}`) }, '/body/tags'],
      [{ encryption: { algorithm: 'AES-128-GCM' } }, '/body/encryption/algorithm'],
      [{ encryption: { key_source: 'mine' } }, '/body/encryption/key_source'],
      [{ encryption: { key_source: 'customer_managed' } }, '/body/encryption/key_source'],
      [{ encryption: { rotation_days: 0 } }, '/body/encryption/rotation_days'],
      [{ encryption: { key: 'x' } }, '/body/encryption/key'],
      [{ audit: { log_reads: 'no' } }, '/body/audit/log_reads'],
      [{ audit: { retain: 1 } }, '/body/audit/retain'],
      [{ audit: { retention_days: 0 } }, '/body/audit/retention_days'],
      [{ is_zero_knowledge: 'yes' }, '/body/is_zero_knowledge'],
    ];
    for (const [more, pointer] of rows) await invalid(send('POST', '/v1/vaults', { ...base, ...more }), pointer);
    await refused(send('GET', `/v1/vaults/${base.name}`), 404, 'VAULT_NOT_FOUND');
  });

  rule('a tag with a comma, and an environment that there is not, are refused with what to send', async () => {
    const refusal = async (more: object) => {
      const error = await refused(
        send('POST', '/v1/vaults', { name: uniqueName('v'), ...more }),
        422,
        'VALIDATION_FAILED',
      );
      return error.details.fields;
    };
    const tag = { pointer: '/body/tags/1', reason: 'must be one line without a comma' };
    for (const bad of ['a,b', ',', 'a\nb']) assert.deepEqual(await refusal({ tags: ['fine', bad] }), [tag]);
    const reason = 'must be one of development, homologation, staging, production, or dev, hml, stg, prd, prod';
    assert.deepEqual(await refusal({ environment: 'quux' }), [{ pointer: '/body/environment', reason }]);
    const vault = await addVault(service);
    await invalid(send('PATCH', `/v1/vaults/${vault}`, { tags: ['a,b'] }), '/body/tags/0');
    const metadata = { tags: ['a,b'] };
    const where = '/body/metadata/tags/0';
    await invalid(send('POST', `/v1/vaults/${vault}/secrets`, { path: 'a', value: 'x', metadata }), where);
    await addSecret(service, vault, 'b');
    await invalid(send('PUT', secretUrl(vault, 'b'), { metadata }), where);
  });

  test('the list filters by environment, status and all of the tags', async () => {
    const tag = uniqueName('tag');
    const one = await addVault(service, { environment: 'development', tags: [tag, 'x'] });
    const two = await addVault(service, { environment: 'staging', tags: [tag, 'y'] });
    const gone = await addVault(service, { environment: 'staging', tags: [tag] });
    await ok(send('DELETE', `/v1/vaults/${gone}`));
    assert.deepEqual(await names(`tags=${tag}`), { names: [one, two].sort(), total: 2 });
    assert.deepEqual(await names(`tags=${tag}&tags=x`), { names: [one], total: 1 });
    assert.deepEqual(await names(`tags=${tag},y`), { names: [two], total: 1 });
    assert.deepEqual(await names(`tags=${tag}&environment=DEV`), { names: [one], total: 1 });
    assert.deepEqual(await names(`tags=${tag}&status=deleted`), { names: [gone], total: 1 });
    assert.deepEqual(await names(`tags=${tag}&status=active`), { names: [one, two].sort(), total: 2 });
    assert.deepEqual(await names(`tags=${tag}&status=pending_deletion`), { names: [], total: 0 });
    await invalid(send('GET', '/v1/vaults?status=gone'), '/query/status');
    await invalid(send('GET', '/v1/vaults?environment=mars'), '/query/environment');
    await invalid(send('GET', '/v1/vaults?sort=name'), '/query/sort');
  });

  test('pages are in the order of names, and no limit lifts the cap', async () => {
    const tag = uniqueName('paged');
    const made = [];
    for (let i = 0; i < 5; i++) made.push(await addVault(service, { tags: [tag] }));
    const found: string[] = [];
    let cursor = '';
    do {
      const page = await ok(send('GET', `/v1/vaults?tags=${tag}&limit=2&cursor=${cursor}`));
      assert.equal(page.total, 5);
      assert.ok(page.vaults.length <= 2);
      found.push(...page.vaults.map((vault: { name: string }) => vault.name));
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual(found, made.toSorted());
    for (const limit of ['0', '-1', '1.5', '1001', '1e3', '99999999999999999999', 'all']) {
      await invalid(send('GET', `/v1/vaults?limit=${limit}`), '/query/limit');
    }
    for (const bad of ['x', Buffer.from('["a/b"]').toString('base64url'), Buffer.from('[1]').toString('base64url')]) {
      await invalid(send('GET', `/v1/vaults?cursor=${bad}`), '/query/cursor');
    }
  });

  rule('a caller sees only what they may: members their vaults, a policy its pattern, others nothing', async () => {
    const tag = uniqueName('seen');
    const team = uniqueName('team');
    const make = (name: string) => addVault(service, { name, tags: [tag] });
    const [one, two, other] = [await make(`${team}-1`), await make(`${team}-2`), await make(`other-${team}`)];
    const person = await addPerson(service);
    assert.deepEqual(await names(`tags=${tag}`, person.token), { names: [], total: 0 });
    await refused(send('GET', `/v1/vaults/${other}`, undefined, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(send('GET', '/v1/vaults/no-such-vault', undefined, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(send('POST', `/v1/vaults/${other}/members`, { user: person.id, role: 'reader' }), 201);
    assert.deepEqual(await names(`tags=${tag}`, person.token), { names: [other], total: 1 });
    const policy = [{ action: ['vaults:*'], resource: [`vault/${team}-*`] }];
    await addPolicy(service, { user: person.id }, policy);
    assert.deepEqual(await names(`tags=${tag}`, person.token), { names: [one, two, other].sort(), total: 3 });
    await ok(send('GET', `/v1/vaults/${team}-2`, undefined, person.token));
    await refused(send('GET', `/v1/vaults/${team}-3`, undefined, person.token), 404, 'VAULT_NOT_FOUND');
    await addPolicy(service, { user: person.id }, [
      { effect: 'deny', action: ['vaults:list'], resource: [`vault/${team}-2`] },
    ]);
    assert.deepEqual(await names(`tags=${tag}`, person.token), { names: [one, other].sort(), total: 2 });
  });

  rule('a token bound to a vault lists that one; bound to other actions, nothing', async () => {
    const [mine] = [await addVault(service), await addVault(service)];
    const bound = await addToken(service, service.adminToken, { scope: { vaults: [mine] } });
    assert.deepEqual(await names('', bound.token), { names: [mine], total: 1 });
    const elsewhere = await addToken(service, service.adminToken, { scope: { actions: ['secrets:read'] } });
    await refused(send('GET', '/v1/vaults', undefined, elsewhere.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  rule('the detail names ordinary secrets that the caller may see, and no more', async () => {
    const vault = await addVault(service);
    const [a, b] = [await addSecret(service, vault, 'team/a'), await addSecret(service, vault, 'other/b')];
    const detail = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.deepEqual(detail.secret_ids.toSorted(), [a.id, b.id].sort());
    assert.deepEqual([detail.fortress_secret_ids, detail.secrets_count], [[], 2]);
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [
      { action: ['vaults:read'], resource: [`vault/${vault}`] },
      { action: ['secrets:list', 'secrets:read'], resource: [`vault/${vault}/team/*`] },
    ]);
    const seen = await ok(send('GET', `/v1/vaults/${vault}`, undefined, person.token));
    assert.deepEqual(seen.secret_ids, [a.id]);
    assert.equal(seen.secrets_count, 2);
  });

  test('beyond 1,000 secrets of a kind the detail says that it was cut', async () => {
    const vault = await addVault(service);
    await importPaths(
      service,
      vault,
      Array.from({ length: 1000 }, (_, i) => `s/${i}`),
    );
    const full = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.deepEqual([full.secret_ids.length, full.secret_ids_truncated, full.secrets_count], [1000, false, 1000]);
    await addSecret(service, vault, 't');
    const cut = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.deepEqual([cut.secret_ids.length, cut.secret_ids_truncated, cut.secrets_count], [1000, true, 1001]);
  });

  rule('the detail names attached policies that say something about the vault', async () => {
    const vault = await addVault(service);
    const { owner } = await addTenant(service);
    await ok(send('POST', '/v1/vaults', { name: vault, environment: 'dev' }, owner.token), 201);
    const user = { user: owner.id };
    const on = (resource: string) =>
      addPolicy(service, user, [{ action: ['secrets:read'], resource: [resource] }], owner.token);
    const touching = [
      await on('*'),
      await on('**'),
      await on(`vault/${vault}`),
      await on(`vault/${vault}/**`),
      await on(`vault/${vault}/a/*`),
      await on(`vault/${vault}/a/b`),
      await on(`vault/${vault.slice(0, 4)}*/*`),
      await on('vault/*'),
      await addPolicy(service, user, [{ effect: 'deny', action: ['*'], resource: [`vault/${vault}/x`] }], owner.token),
    ];
    for (const resource of ['audit', `vault/${vault}x/**`, 'vault/other/*', 'policy/*', `eaas/${vault}`]) {
      await on(resource);
    }
    const loose = { version: POLICY_VERSION, statement: [{ effect: 'allow', action: ['*'], resource: ['*'] }] };
    await ok(send('POST', '/v1/policies', { name: uniqueName('loose'), document: loose }, owner.token), 201);
    const { policies } = await ok(send('GET', `/v1/vaults/${vault}`, undefined, owner.token));
    assert.deepEqual(policies.map((policy: { name: string }) => policy.name).sort(), touching.sort());
  });

  rule('description, tags, key age and audit settings can be changed, one without the others', async () => {
    const vault = await addVault(service, { description: 'old', tags: ['a'] });
    const changed = await ok(send('PATCH', `/v1/vaults/${vault}`, { description: 'new' }));
    assert.deepEqual([changed.description, changed.tags], ['new', ['a']]);
    const more = { tags: [], encryption: { rotation_days: 7 }, audit: { log_reads: false } };
    const again = await ok(send('PATCH', `/v1/vaults/${vault}`, more));
    assert.deepEqual(
      [again.description, again.tags, again.encryption.rotation_days, again.audit],
      ['new', [], 7, { log_reads: false, retention_days: null }],
    );
    const { policies, your_role, ...read } = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.deepEqual(read, again);
  });

  rule('name and zero knowledge never change, and unknown fields are refused', async () => {
    const vault = await addVault(service);
    const patch = (body: object) => send('PATCH', `/v1/vaults/${vault}`, body);
    await invalid(patch({ name: 'other' }), '/body/name');
    await invalid(patch({ name: vault }), '/body/name');
    await refused(patch({ is_zero_knowledge: true }), 409, 'ZK_FLAG_IMMUTABLE');
    await refused(patch({ is_zero_knowledge: null }), 409, 'ZK_FLAG_IMMUTABLE');
    await ok(patch({ is_zero_knowledge: false }));
    for (const field of ['environment', 'status', 'secrets_count', 'owner']) {
      await invalid(patch({ [field]: 'x' }), `/body/${field}`);
    }
    await invalid(patch({ encryption: { algorithm: 'AES-256-GCM', rotation_days: 1 } }), '/body/encryption/algorithm');
    const sealed = await addVault(service, { is_zero_knowledge: true });
    await refused(send('PATCH', `/v1/vaults/${sealed}`, { is_zero_knowledge: false }), 409, 'ZK_FLAG_IMMUTABLE');
    assert.equal((await ok(send('GET', `/v1/vaults/${sealed}`))).is_zero_knowledge, true);
  });

  rule('a machine reads no more from the deletion on, and again from the restore on', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    const machine = await addConnection(service, vault, { scopes: ['secrets:read'] });
    const read = () => callAs(service, machine, 'GET', secretUrl(vault, 'a'));
    await ok(read());
    await ok(send('DELETE', `/v1/vaults/${vault}`));
    assert.notEqual((await read()).status, 200);
    // What is known of the machine is made anew while the vault is away.
    await addVault(service);
    assert.notEqual((await read()).status, 200);
    await ok(send('POST', `/v1/vaults/${vault}/restore`));
    await ok(read());
  });

  rule('another tenant’s vault does not exist', async () => {
    const vault = await addVault(service, { description: 'untouched' });
    const { token } = (await addTenant(service)).owner;
    const tries: [string, string, object?][] = [
      ['GET', ''],
      ['PATCH', '', { description: 'taken over' }],
      ['DELETE', ''],
      ['POST', '/restore'],
      ['GET', '/members'],
      ['GET', '/secrets'],
      ['GET', '/aggregate'],
      ['GET', '/export'],
    ];
    for (const [method, rest, body] of tries) {
      await refused(send(method, `/v1/vaults/${vault}${rest}`, body, token), 404, 'VAULT_NOT_FOUND');
    }
    assert.deepEqual(await names('', token), { names: [], total: 0 });
    assert.equal((await ok(send('GET', `/v1/vaults/${vault}`))).description, 'untouched');
  });
});
