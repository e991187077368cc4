import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, allPages, invalid, ok, refused } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault } from '../../../../test/support/vaults.ts';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { buildLookUpFilter } from './look-up-filter.ts';

test('a look-up is what was allowed, changes nothing and shows no value', () => {
  const isLookUp = buildLookUpFilter(DECLARATIONS);
  for (const action of [
    'vaults:list',
    'secrets:list',
    'secrets:read_risk',
    'auth:capabilities',
    'auth:me',
    'audit:read',
    'policies:who_can',
  ]) {
    assert.equal(isLookUp({ action, decision: 'allow' }), true, action);
    assert.equal(isLookUp({ action, decision: 'deny' }), false, action);
    assert.equal(isLookUp({ action, decision: 'error' }), false, action);
  }
  const others = [
    'secrets:read',
    'secrets:export',
    'eaas:decrypt',
    'pqc:sign',
    'audit:export',
    'vault_created',
    'audit:purge',
  ];
  for (const action of others) assert.equal(isLookUp({ action, decision: 'allow' }), false, action);
});

onBothDatabases('look-ups in the audit log', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('are left out on request, and nothing else is', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    await addSecret(service, vault, 'db/password', {}, token);
    const member = await addPerson(service, { tenant });
    await ok(service.call('GET', `/v1/vaults/${vault}/secrets`, { token }));
    await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db/password`, { token }));
    await refused(service.call('GET', '/v1/users', { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    const actions = async (query: string) =>
      (await allPages(service, `/v1/audit?limit=2${query}`, 'entries', { token })).map(
        ({ action, decision }: { action: string; decision: string }) => `${action} ${decision}`,
      );
    const [all, included, fewer] = [
      await actions(''),
      await actions('&look_ups=include'),
      await actions('&look_ups=exclude'),
    ];
    assert.ok(all.includes('secrets:list allow') && included.includes('secrets:list allow'));
    const isLookUp = buildLookUpFilter(DECLARATIONS);
    const kept = all.filter((each) => {
      const [action = '', decision = ''] = each.split(' ');
      return !isLookUp({ action, decision });
    });
    assert.deepEqual(fewer, kept);
    for (const each of ['vault_created allow', 'secrets:create allow', 'secrets:read allow', 'users:list deny'])
      assert.ok(fewer.includes(each), each);
    assert.deepEqual(await actions('&look_ups=exclude&action=secrets:list'), []);
    await invalid(service.call('GET', '/v1/audit?look_ups=some', { token }), '/query/look_ups');
  });
});
