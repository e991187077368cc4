import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, invalid, ok, type Tenant } from '../support/people.ts';
import { addScim, USER_SCHEMA } from '../support/scim.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

/** Characters that turn the direction of the text around them, and that end a line for some readers. */
const MISLEADING = ['\u061c', '\u200e', '\u200f', '\u2028', '\u2029', '\u202a', '\u202e', '\u2066', '\u2069', '\u009b'];

onBothDatabases('a name that reads as another one', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body: object) =>
    service.call(method, path, { token: tenant.owner.token, body });

  test('is refused wherever people read it', async () => {
    for (const character of MISLEADING) {
      const text = `ab${character}exe.cod`;
      await invalid(send('PATCH', '/auth/me', { name: text }), '/body/name');
      await invalid(send('POST', '/auth/tokens', { name: text }), '/body/name');
      await invalid(send('POST', '/v1/users', { email: 'new@example.com', name: text }), '/body/name');
    }
    const text = 'ab\u202eexe.cod';
    await invalid(send('POST', '/v1/groups', { name: 'ops', description: text }), '/body/description');
    await invalid(send('POST', '/v1/vaults', { name: 'ops', description: text }), '/body/description');
    const provider = { name: 'idp', issuer: 'https://idp.example', client_id: 'c' };
    await invalid(
      send('POST', '/auth/sso/providers', { ...provider, role_mapping: { [text]: 'admin' } }),
      '/body/role_mapping/?',
    );
    assert.equal((await ok(send('PATCH', '/auth/me', { name: 'עדה לאבלייס' }))).name, 'עדה לאבלייס');
  });

  test('is refused from an identity provider', async () => {
    const idp = await addScim(service, tenant.owner.token);
    const body = { schemas: [USER_SCHEMA], userName: 'ada@acme.example', displayName: 'ab\u202eexe.cod' };
    assert.equal((await idp.call('POST', '/Users', body)).status, 400);
  });
});
