import { deleteProvider } from '../../server/src/features/sign-on/storage/identity-store.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok, uniqueName } from './people.ts';
import { recorded } from './rows.ts';
import { insertProvider } from './scim.ts';
import { startDevice } from './sign-on.ts';

/** Fewer than a tenant may have, so that there is room for those that a test adds. */
const LEFT_MAX = 4;

/** Valid input for sign-on, made afresh for each call. What a provider and a browser do is tested beside the feature. */
export const SIGN_ON_INPUTS: Record<string, MakeInput> = {
  'POST /auth/sso/providers': async (world) => {
    await someProvider(world);
    return {
      body: { name: uniqueName('idp'), issuer: 'https://idp.example', client_id: uniqueName('client'), enabled: false },
    };
  },
  'GET /auth/sso/providers': async (world) => {
    await someProvider(world);
    await someProvider(world);
    return { query: { limit: '1' } };
  },
  'GET /auth/sso/providers/{name}': someProvider,
  'PATCH /auth/sso/providers/{name}': async (world) => ({
    ...(await someProvider(world)),
    body: { default_role: 'auditor' },
  }),
  'DELETE /auth/sso/providers/{name}': someProvider,
  'GET /auth/sso/{provider}': async () => ({ params: { provider: 'idp' }, query: { tenant: 'acme' } }),
  'POST /auth/sso/{provider}': async ({ service }) => ({
    params: { provider: 'idp' },
    body: { user_code: (await startDevice(service)).user_code, tenant: 'acme' },
  }),
  'POST /auth/sso/{provider}/browser': async () => ({ params: { provider: 'idp' }, body: { tenant: 'acme' } }),
  'GET /auth/sso/sign-out': async () => ({}),
  'POST /auth/sso/{provider}/backchannel-logout': async () => ({
    params: { provider: 'idp' },
    query: { tenant: 'acme' },
    body: { logout_token: 'a.b.c' },
  }),
  'POST /auth/links': async () => ({ body: { provider: 'idp' } }),
  'POST /auth/links/confirm': async () => ({ body: { code: 'c', state: 's', redirect_uri: 'r', flow_key: 'k' } }),
  'DELETE /auth/links/{provider}': async (world) => ({
    params: { provider: (await someProvider(world)).params.name },
  }),
  'POST /auth/sso/session': async () => ({ body: { code: 'c', state: 's', redirect_uri: 'r', flow_key: 'k' } }),
  'GET /auth/sso/callback/{tenant_id}/{provider}': async () => ({
    params: { tenant_id: 't', provider: 'idp' },
    query: { code: 'c', state: 's' },
  }),
  'POST /auth/sso/callback/{tenant_id}/{provider}': async () => ({
    params: { tenant_id: 't', provider: 'idp' },
    body: { code: 'c', state: 's', user_code: 'BCDF-GHJK' },
  }),
  'POST /auth/device': async () => ({ body: { client: 'cli', provider: 'idp', tenant: 'acme' } }),
  'POST /auth/device/token': async ({ service }) => ({
    body: { device_code: (await startDevice(service)).device_code },
  }),
  'POST /auth/device/approve': async ({ service }) => {
    const { user_code } = await startDevice(service);
    // The caller's sign-in must be newer than the code.
    await service.app.kernel.database.transaction((tx) =>
      tx.updateTable('device_codes').set({ created_at: 0 }).execute(),
    );
    return { body: { user_code } };
  },
};

/** Straight into the database, since a second admin would have to approve each. */
export async function someProvider({ service }: World) {
  const { kernel } = service.app;
  const { id: tenant_id } = (await ok(service.call('GET', '/auth/me'))).tenant;
  const query = kernel.database.read.selectFrom('sso_providers').select(['tenant_id', 'name']);
  const ours = query.where('name', '>=', 'idp-').where('name', '<', 'idp.');
  const rows = await ours.where('tenant_id', '=', tenant_id).orderBy('created_at').execute();
  await recorded(kernel, tenant_id, async (tx) => {
    for (const row of rows.slice(0, Math.max(0, rows.length - LEFT_MAX))) await deleteProvider(tx, row);
  });
  return { params: { name: await insertProvider(service, tenant_id, uniqueName('idp')) } };
}
