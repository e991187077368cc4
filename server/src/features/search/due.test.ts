import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, allPages, invalid, ok, type Tenant } from '../../../../test/support/people.ts';
import { queriesDuring } from '../../../../test/support/queries.ts';
import { storeRotation } from '../../../../test/support/rotations.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { addPolicy, addSecret, addVault, type Statement, secretUrl } from '../../../../test/support/vaults.ts';
import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';

onBothDatabases('secrets that are due', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  const ids = new Map<string, string>();
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    for (const name of ['shop', 'stock']) await addVault(service, { name }, tenant.owner.token);
    const put = async (vault: string, path: string, more = {}) => {
      const { id } = await addSecret(service, vault, path, more, tenant.owner.token);
      ids.set(`${vault}/${path}`, id);
    };
    const every = (interval_days: number) => ({ type: 'password', rotation: { interval_days } });
    await put('shop', 'soon', every(5));
    await put('stock', 'sooner', every(2));
    await put('stock', 'later', every(60));
    await put('shop', 'never');
    const ending = async (days: number) => {
      const { pem } = await testAuthority({ notAfter: service.clock.now() + days * DAY_MS });
      return { type: 'certificate', value: pem };
    };
    await put('stock', 'tls/week', await ending(6));
    await put('shop', 'tls/month', await ending(25));
    await put('shop', 'tls/year', await ending(365));
  });
  after(() => service.close());

  const list = (query: string, token = tenant.owner.token) =>
    service.call('GET', `/v1/secrets/due?${query}`, { token });
  const due = async (query: string, token = tenant.owner.token) => {
    const secrets = await allPages(service, `/v1/secrets/due?${query}`, 'secrets', { token });
    return secrets.map(({ vault, path }) => `${vault}/${path}`);
  };
  const personWith = async (...statements: Statement[]) => {
    const person = await addPerson(service, { tenant });
    await addPolicy(service, { user: person.id }, statements, tenant.owner.token);
    return person.token;
  };
  const rotated = (name: string, status: 'failed' | 'completed') => {
    service.clock.advance(1000);
    return storeRotation(service, String(ids.get(name)), status);
  };

  test('for rotation within a week or as many days as are requested, the earliest first, and overdue ones', async () => {
    assert.deepEqual(await due('kind=rotation'), ['stock/sooner', 'shop/soon']);
    assert.deepEqual(await due('kind=rotation&limit=1'), ['stock/sooner', 'shop/soon']);
    assert.deepEqual(await due('kind=rotation&within_days=3'), ['stock/sooner']);
    assert.deepEqual(await due('kind=rotation&within_days=90'), ['stock/sooner', 'shop/soon', 'stock/later']);
    const { secrets } = await ok(list('kind=rotation'));
    const read = await ok(service.call('GET', secretUrl('stock', 'sooner'), { token: tenant.owner.token }));
    assert.deepEqual(secrets[0], {
      id: ids.get('stock/sooner'),
      vault: 'stock',
      path: 'sooner',
      type: 'password',
      environment: 'staging',
      at: read.next_rotation,
      failure: null,
    });
  });

  test('certificates that end, or ended in the last 30 days', async () => {
    assert.deepEqual(await due('kind=expiry'), ['stock/tls/week']);
    assert.deepEqual(await due('kind=expiry&within_days=30'), ['stock/tls/week', 'shop/tls/month']);
  });

  test('those whose latest rotation failed, the newest failure first, with the reason', async () => {
    assert.deepEqual(await due('kind=failed_rotation'), []);
    await rotated('shop/soon', 'failed');
    await rotated('stock/later', 'failed');
    await rotated('stock/later', 'completed');
    const at = await rotated('stock/sooner', 'failed');
    assert.deepEqual(await due('kind=failed_rotation'), ['stock/sooner', 'shop/soon']);
    assert.deepEqual(await due('kind=failed_rotation&limit=1'), ['stock/sooner', 'shop/soon']);
    const { secrets } = await ok(list('kind=failed_rotation'));
    assert.deepEqual([secrets[0].at, secrets[0].failure], [timestamp(at), 'unreachable']);
    await rotated('shop/soon', 'failed');
    assert.deepEqual(await due('kind=failed_rotation'), ['shop/soon', 'stock/sooner'], 'each secret once');
  });

  rule('only what may be listed; failures and ends only of what may be read or described', async () => {
    const everywhere = { action: ['secrets:list'], resource: ['vault/**'] };
    const lister = await personWith(everywhere);
    assert.deepEqual(await due('kind=rotation', lister), ['stock/sooner', 'shop/soon']);
    assert.deepEqual(await due('kind=expiry&within_days=30', lister), []);
    assert.deepEqual(await due('kind=failed_rotation', lister), []);
    const describer = await personWith(everywhere, { action: ['secrets:read_metadata'], resource: ['vault/stock/**'] });
    assert.deepEqual(await due('kind=expiry&within_days=30', describer), ['stock/tls/week']);
    assert.deepEqual(await due('kind=failed_rotation', describer), ['stock/sooner']);
    const partly = await personWith(everywhere, {
      effect: 'deny',
      action: ['secrets:list'],
      resource: ['vault/stock/sooner'],
    });
    assert.deepEqual(await due('kind=rotation&limit=1', partly), ['shop/soon']);
  });

  rule('another tenant sees its own, and who may list nothing makes no search', async () => {
    const stranger = await addTenant(service);
    await addVault(service, {}, stranger.owner.token);
    const nobody = await addPerson(service, { tenant });
    for (const kind of ['rotation', 'expiry', 'failed_rotation']) {
      assert.deepEqual(await due(`kind=${kind}`, stranger.owner.token), []);
      const { result, queries } = await queriesDuring(() => ok(list(`kind=${kind}`, nobody.token)));
      assert.deepEqual(result, { secrets: [], next_cursor: null });
      assert.deepEqual(
        queries.filter((each) => /"secrets"|"rotations"/.test(each)),
        [],
      );
    }
  });

  rule('what is malformed is refused', async () => {
    await invalid(list(''), '/query/kind');
    await invalid(list('kind=all'), '/query/kind');
    for (const days of ['0', '366', '1.5', 'x'])
      await invalid(list(`kind=rotation&within_days=${days}`), '/query/within_days');
    const { next_cursor } = await ok(list('kind=rotation&limit=1'));
    await invalid(list(`kind=expiry&limit=1&cursor=${next_cursor}`), '/query/cursor');
  });

  rule('not those that are deleted; a restored one again', async () => {
    const { token } = tenant.owner;
    await ok(service.call('DELETE', secretUrl('stock', 'sooner'), { token }));
    assert.deepEqual(await due('kind=rotation'), ['shop/soon']);
    assert.deepEqual(await due('kind=failed_rotation'), ['shop/soon']);
    await ok(service.call('POST', secretUrl('stock', 'sooner', 'restore'), { token }));
    assert.deepEqual(await due('kind=failed_rotation'), ['shop/soon', 'stock/sooner']);
  });
});
