import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onBothDatabases, startService } from './support/service.ts';

onBothDatabases('a first start', (database) => {
  test('makes a tenant, an owner and a token that works', async () => {
    const service = await startService(database);
    const me = await service.call('GET', '/auth/me');
    assert.equal(me.status, 200);
    assert.equal(me.body.user.role, 'owner');
    const log = await service.call('GET', '/v1/audit');
    assert.deepEqual(
      log.body.entries.map((e: { action: string }) => e.action),
      ['auth:me', 'tenants:create'],
    );
    const user = await service.call('POST', '/v1/users', { body: { email: 'A@example.com' } });
    assert.equal(user.status, 201, user.text);
    const verified = await service.call('GET', '/v1/audit/verify');
    const { valid, entries, first_broken } = verified.body;
    assert.deepEqual({ valid, entries, first_broken }, { valid: true, entries: 4, first_broken: null });
    await service.close();
  });
});
