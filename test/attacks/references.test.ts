import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { addColleague, addTenant, ok, refused, type Tenant } from '../support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addPolicy, addSecret, addVault, secretUrl } from '../support/vaults.ts';

/** Somebody writes templates to get at values that they may not read, to learn which secrets exist, or to keep the service busy. */
onBothDatabases('an attacker who writes templates', (database) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    vault = await addVault(service, {}, tenant.owner.token);
  });

  const call = (method: string, path: string, body?: unknown, token = tenant.owner.token) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const ref = (path: string, inVault = vault) => `{{coffer://${inVault}/${path}}}`;
  const add = (path: string, value: string, type = 'template', token = tenant.owner.token) =>
    addSecret(service, vault, path, { value, type }, token);

  /** Somebody with every right on secrets below one path of the vault. */
  async function insider(path: string) {
    const colleague = await addColleague(service, tenant.id, 'member');
    const action = ['secrets:*'];
    const resource = [`vault/${vault}/${path}/*`];
    const policy = await addPolicy(service, { user: colleague.id }, [{ action, resource }], tenant.owner.token);
    return { ...colleague, policy };
  }

  test('gets no value of a secret that they may not read, by no way of reading', async () => {
    await add('closed/password', 'never to be seen', 'password');
    const { token } = await insider('mine');
    await add('mine/direct', ref('closed/password'), 'template', token);
    await add('mine/inner', ref('closed/password'), 'template', token);
    await add('mine/outer', ref('mine/inner'), 'template', token);
    const answers = [
      await call('GET', secretUrl(vault, 'mine/direct'), undefined, token),
      await call('GET', secretUrl(vault, 'mine/outer'), undefined, token),
      await call('GET', `/v1/vaults/${vault}/aggregate`, undefined, token),
      await call('GET', `/v1/vaults/${vault}/export?prefix=mine/`, undefined, token),
      await call('POST', `/v1/vaults/${vault}/search`, { query: 'never' }, token),
      await call('GET', `/v1/vaults/${vault}/references/mine/direct`, undefined, token),
      await call('POST', secretUrl(vault, 'mine/direct', 'copy'), { to_path: 'mine/of' }, token),
      await call('GET', secretUrl(vault, 'mine/of'), undefined, token),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [403, 403, 200, 403, 200, 200, 201, 403],
    );
    for (const { text } of answers) assert.ok(!text.includes('never to be seen'));
  });

  test('learns of no secret whether it exists, what type it is, or that it refers to theirs', async () => {
    await add('closed/there', 'x', 'password');
    await add('closed/refers', ref('mine/part'));
    const { token } = await insider('mine');
    await add('mine/part', 'x', 'password', token);
    const told = async (to: string, name: string) => {
      await add(`mine/${name}`, ref(to), 'template', token);
      const { message, ...rest } = await refused(
        call('GET', secretUrl(vault, `mine/${name}`), undefined, token),
        403,
        'INSUFFICIENT_PRIVILEGE',
      );
      return { message: message.replace(to, 'X'), details: rest.details };
    };
    const missing = await told('closed/none', 'a');
    assert.deepEqual(await told('closed/there', 'b'), missing);
    assert.deepEqual(await told('closed/refers', 'c'), missing);
    const { referred_by } = await ok(call('GET', `/v1/vaults/${vault}/references/mine/part`, undefined, token));
    assert.deepEqual(referred_by, []);
    assert.deepEqual((await ok(call('DELETE', secretUrl(vault, 'mine/part'), undefined, token))).referred_by, []);
    const other = await addTenant(service);
    const foreign = await addVault(service, {}, other.owner.token);
    await addSecret(service, foreign, 'p', {}, other.owner.token);
    await add('to-foreign', ref('p', foreign));
    const { details } = await refused(call('GET', secretUrl(vault, 'to-foreign')), 409, 'TEMPLATE_UNRESOLVED');
    assert.equal(details.reason, 'missing');
  });

  test('makes no cycle that is ever followed, by writing both ends at once', async () => {
    for (let round = 0; round < 5; round++) {
      const [a, b] = [`a${round}`, `b${round}`];
      await Promise.all([add(a, 'x', 'password'), add(b, 'x', 'password')]);
      const write = (path: string, to: string) =>
        call('PUT', secretUrl(vault, path), { type: 'template', value: ref(to) });
      const statuses = (await Promise.all([write(a, b), write(b, a)])).map(({ status }) => status);
      assert.ok(statuses.every((status) => status === 200 || status === 422));
      const isCycle = statuses.every((status) => status === 200);
      for (const path of [a, b]) {
        const answer: Answer = await call('GET', secretUrl(vault, path));
        assert.equal(answer.status, isCycle ? 409 : 200, answer.text);
        if (isCycle) assert.equal(answer.body.error.details.reason, 'too_deep');
      }
    }
  });

  test('keeps the service busy with no more than 16 values of 1 MiB together', async () => {
    const many = Array.from({ length: 16 }, (_, at) => `leaf${at}`);
    for (const leaf of many) await add(leaf, 'x', 'password');
    const all = many.map((leaf) => ref(leaf)).join('');
    await add('inner', all);
    await add('wide', ref('later').repeat(16));
    await add('later', all);
    const { details } = await refused(call('GET', secretUrl(vault, 'wide')), 409, 'TEMPLATE_UNRESOLVED');
    assert.equal(details.reason, 'too_many');
    const deep = { path: 'deep', type: 'template', value: ref('inner').repeat(2) };
    await refused(call('POST', `/v1/vaults/${vault}/secrets`, deep), 422, 'VALIDATION_FAILED');
    await add('big', 'x'.repeat(1024 * 1024), 'generic');
    await add('bomb', ref('big').repeat(16));
    const bomb = await refused(call('GET', secretUrl(vault, 'bomb')), 409, 'TEMPLATE_UNRESOLVED');
    assert.equal(bomb.details.reason, 'too_large');
  });

  test('reads no part once the revocation of their right to it was acknowledged', async () => {
    await add('part/p', 'the part', 'password');
    await add('mine/t', ref('part/p'));
    const { id, token } = await insider('mine');
    const statements = [{ action: ['secrets:read'], resource: [`vault/${vault}/part/*`] }];
    const policy = await addPolicy(service, { user: id }, statements, tenant.owner.token);
    const read = () => call('GET', secretUrl(vault, 'mine/t'), undefined, token);
    assert.equal((await ok(read())).value, 'the part');
    let isRevoked = false;
    const readers = Array.from({ length: 8 }, async () => {
      for (;;) {
        const wasRevoked = isRevoked;
        const { status } = await read();
        if (wasRevoked) return status;
      }
    });
    const principal = { user: id };
    await ok(call('POST', `/v1/policies/${policy}/detach`, { principal }));
    isRevoked = true;
    assert.deepEqual([...new Set(await Promise.all(readers))], [403]);
  });
});
