import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addColleague,
  addPerson,
  addTenant,
  addToken,
  approved,
  logIn,
  ok,
  openSession,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { addScim, addScimToken, type ScimClient, scimClient } from '../../../../test/support/scim.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

/** The credential with which a provider uses SCIM. */

onSqliteAtLanding('SCIM tokens', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const as = ({ owner: { token } }: Tenant) => ({ token });
  const pathOf = ({ provider }: ScimClient) => `/auth/sso/providers/${provider}/scim-tokens`;
  const works = async (client: ScimClient) => (await client.call('GET', '/Users?count=0')).status;

  test('are shown once, work for SCIM alone, and end when they are revoked', async () => {
    const tenant = await addTenant(service);
    const idp = await addScim(service, tenant.owner.token);
    assert.match(idp.token, /^cv_scim_[0-9A-Za-z]{49}$/);
    assert.equal(await works(idp), 200);
    const { tokens } = await ok(service.call('GET', pathOf(idp), as(tenant)));
    assert.deepEqual([tokens.length, tokens[0].id, tokens[0].provider], [1, idp.tokenId, idp.provider]);
    assert.doesNotMatch(JSON.stringify(tokens), /cv_scim_/);
    for (const path of ['/auth/me', '/v1/users', '/v1/vaults', pathOf(idp)]) {
      const { details } = await refused(service.call('GET', path, { token: idp.token }), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.ok(!details.accepted.includes('scim'));
    }
    const byPerson = await service.call('GET', '/scim/v2/Users', as(tenant));
    assert.deepEqual([byPerson.status, byPerson.body.status], [403, '403']);
    await ok(service.call('DELETE', `${pathOf(idp)}/${idp.tokenId}`, as(tenant)));
    assert.equal(await works(idp), 401);
    const wrong = [`${idp.token}x`, idp.token.replace(/.$/, (last) => (last === '0' ? '1' : '0')), 'cv_scim_x'];
    for (const token of wrong) assert.equal(await works(scimClient(service, idp.provider, { id: '', token })), 401);
    const dpop = { authorization: `DPoP ${idp.token}` };
    assert.equal((await service.call('GET', '/scim/v2/Users', { token: null, headers: dpop })).status, 401);
    assert.equal((await service.call('GET', '/scim/v2/Users', { token: null })).status, 401);
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=100', as(tenant)));
    assert.doesNotMatch(JSON.stringify(entries), /cv_scim_/);
    assert.ok(entries.some(({ action }: { action: string }) => action === 'scim_tokens:revoke'));
  });

  test('do nothing while their provider is disabled', async () => {
    const tenant = await addTenant(service);
    const idp = await addScim(service, tenant.owner.token);
    const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
    const userName = `${uniqueName('ada')}@acme.example`;
    const user = await ok(idp.call('POST', '/Users', { schemas, userName, externalId: uniqueName('s') }), 201);
    const enable = (enabled: boolean) =>
      ok(service.call('PATCH', `/auth/sso/providers/${idp.provider}`, { ...as(tenant), body: { enabled } }));
    await enable(false);
    const group = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'], displayName: uniqueName('admins') };
    const requests: [string, string, object?][] = [
      ['GET', '/Users'],
      ['GET', `/Users/${user.id}`],
      ['PUT', `/Users/${user.id}`, { schemas, userName, active: false }],
      ['DELETE', `/Users/${user.id}`],
      ['GET', '/Groups'],
      ['POST', '/Groups', { ...group, members: [{ value: user.id }] }],
    ];
    for (const [method, path, body] of requests) {
      const answer = await idp.call(method, path, body);
      assert.equal(answer.status, 403, `${method} ${path}`);
      assert.deepEqual(answer.body.schemas, ['urn:ietf:params:scim:api:messages:2.0:Error']);
      assert.match(answer.body.detail, /is disabled.*an admin enables it/);
    }
    assert.equal((await ok(service.call('GET', `/v1/users/${user.id}`, as(tenant)))).status, 'active');
    await enable(true);
    assert.equal(await works(idp), 200);
    await ok(idp.call('POST', '/Groups', { ...group, members: [{ value: user.id }] }), 201);
  });

  test('are replaced with an overlap by their requester', async () => {
    const tenant = await addTenant(service);
    const idp = await addScim(service, tenant.owner.token);
    const path = `${pathOf(idp)}/${idp.tokenId}/rotate`;
    // A token shows neither a sign-in nor a factor.
    await refused(service.call('POST', path, { ...as(tenant), body: {} }), 403, 'MFA_REQUIRED');
    const token = await openSession(service, tenant.owner.id);
    const rotated = await ok(service.call('POST', path, { token, body: { overlap_seconds: 60 } }));
    const next = scimClient(service, idp.provider, rotated as never);
    assert.deepEqual([await works(idp), await works(next)], [200, 200]);
    service.clock.advance(61 * SECOND_MS);
    assert.deepEqual([await works(idp), await works(next)], [401, 200]);
    const again = await ok(service.call('POST', path, { token, body: {} }));
    assert.deepEqual([await works(next), again.former_token_until], [401, null]);
    const colleague = await addColleague(service, tenant.id, 'owner');
    await refused(service.call('POST', path, { token: colleague.token, body: {} }), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal(await works(scimClient(service, idp.provider, again as never)), 200);
    service.clock.advance(15 * MINUTE_MS);
    await refused(service.call('POST', path, { token, body: {} }), 403, 'MFA_REQUIRED');
  });

  test('expire', async () => {
    const tenant = await addTenant(service);
    const { provider } = await addScim(service, tenant.owner.token);
    const idp = await addScimToken(service, provider, as(tenant), { ttl_days: 1 });
    assert.equal(await works(idp), 200);
    service.clock.advance(DAY_MS);
    assert.equal(await works(idp), 401);
  });

  test('take two people, of whom the requester then gets the token', async () => {
    const tenant = await addTenant(service);
    const idp = await addScim(service, tenant.owner.token);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const request = service.call('POST', pathOf(idp), { token: admin.token, body: { description: 'second' } });
    await approved(service, request, tenant.owner.token);
    const { tokens } = await ok(service.call('GET', pathOf(idp), as(tenant)));
    const made = tokens.find(({ created_by }: { created_by: string }) => created_by === admin.id);
    const rotate = `${pathOf(idp)}/${made.id}/rotate`;
    await refused(service.call('POST', rotate, { ...as(tenant), body: {} }), 403, 'INSUFFICIENT_PRIVILEGE');
    const token = await logIn(service, admin);
    const shown = await ok(service.call('POST', rotate, { token, body: {} }));
    assert.equal(await works(scimClient(service, idp.provider, shown as never)), 200);
  });

  test('need an admin without limits, and are few', async () => {
    const tenant = await addTenant(service);
    const idp = await addScim(service, tenant.owner.token);
    const member = await addColleague(service, tenant.id, 'member');
    for (const method of ['GET', 'POST']) {
      await refused(service.call(method, pathOf(idp), { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    const limited = await addToken(service, tenant.owner.token, { scope: { actions: ['scim_tokens:*'] } });
    await refused(service.call('POST', pathOf(idp), { token: limited.token, body: {} }), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(
      service.call('POST', pathOf(idp), { ...as(tenant), body: { ttl_days: 366 } }),
      422,
      'VALIDATION_FAILED',
    );
    for (let i = 0; i < 4; i++) await addScimToken(service, idp.provider, as(tenant));
    await refused(service.call('POST', pathOf(idp), { ...as(tenant), body: {} }), 403, 'QUOTA_EXCEEDED');
    const elsewhere = await addTenant(service);
    await refused(service.call('GET', pathOf(idp), as(elsewhere)), 404, 'NOT_FOUND');
    await refused(service.call('DELETE', `${pathOf(idp)}/${idp.tokenId}`, as(elsewhere)), 404, 'NOT_FOUND');
  });

  test('end with their provider, or when it gets another issuer', async () => {
    const tenant = await addTenant(service);
    const [changed, deleted] = [await addScim(service, tenant.owner.token), await addScim(service, tenant.owner.token)];
    await changed.addUser();
    const provider = `/auth/sso/providers/${changed.provider}`;
    await ok(
      service.call('PATCH', provider, { ...as(tenant), body: { issuer: `https://${uniqueName('new')}.example` } }),
    );
    assert.equal(await works(changed), 401);
    const fresh = await addScimToken(service, changed.provider, as(tenant));
    assert.equal(
      (await fresh.call('GET', '/Users')).body.totalResults,
      0,
      'people of the former issuer are not theirs',
    );
    const { issuer } = await ok(service.call('GET', `/auth/sso/providers/${deleted.provider}`, as(tenant)));
    await ok(service.call('DELETE', `/auth/sso/providers/${deleted.provider}`, as(tenant)));
    assert.equal(await works(deleted), 401);
    const body = { name: deleted.provider, issuer, client_id: 'coffer' };
    await ok(service.call('POST', '/auth/sso/providers', { ...as(tenant), body }), 201);
    assert.equal(await works(deleted), 401, 'a provider of the same name does not revive them');
  });
});
