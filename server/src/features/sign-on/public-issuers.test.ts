import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, invalid, ok, type Tenant } from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { roleOf } from './accounts.ts';
import { isPublicIssuer } from './public-issuers.ts';
import { findProvider, updateProvider } from './storage/identity-store.ts';

test('issuers of everybody are told apart from those of one organization', () => {
  for (const issuer of [
    'https://accounts.google.com',
    'https://gitlab.com',
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/9188040D-6c67-4c5b-b112-36a304b66dad/v2.0',
  ])
    assert.equal(isPublicIssuer(issuer), true, issuer);
  for (const issuer of [
    'https://acme.okta.com',
    'https://accounts.google.com.acme.example',
    'https://gitlab.acme.example',
    'https://login.microsoftonline.com/3c1f9e4e-7f3a-4f6b-9a55-000000000001/v2.0',
  ])
    assert.equal(isPublicIssuer(issuer), false, issuer);
});

onSqliteAtLanding('a provider whose issuer serves everybody', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body: object) =>
    service.call(method, path, { token: tenant.owner.token, body });
  const google = { name: 'google', issuer: 'https://accounts.google.com', client_id: 'coffer' };

  test('lets in only those whom a claim names', async () => {
    await invalid(send('POST', '/auth/sso/providers', { ...google, default_role: 'member' }), '/body/default_role');
    const ours = { groups_claim: 'hd', role_mapping: { 'acme.example': 'member' } };
    await ok(send('POST', '/auth/sso/providers', { ...google, ...ours }), 201);
    const path = '/auth/sso/providers/google';
    await invalid(send('PATCH', path, { default_role: 'member' }), '/body/default_role');
    const okta = { name: 'okta', issuer: 'https://acme.okta.com', client_id: 'coffer', default_role: 'member' };
    await ok(send('POST', '/auth/sso/providers', okta), 201);
    await invalid(send('PATCH', '/auth/sso/providers/okta', { issuer: google.issuer }), '/body/default_role');
  });

  test('also if it was configured by an earlier release', async () => {
    const { kernel } = service.app;
    const provider = await findProvider(kernel.database.read, { tenant_id: tenant.id, name: 'google' });
    assert.ok(provider !== undefined);
    const open = { ...provider, default_role: 'member' } as const;
    await recorded(kernel, tenant.id, (tx) => updateProvider(tx, open));
    assert.equal(roleOf(open, new Set()), null);
    assert.equal(roleOf(open, new Set(['acme.example'])), 'member');
    assert.equal(roleOf({ ...open, issuer: 'https://acme.okta.com' }, new Set()), 'member');
  });
});
