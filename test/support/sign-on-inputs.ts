import { deleteProvider, insertProvider } from '../../server/src/features/sign-on/store.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok, uniqueName } from './people.ts';
import { recorded } from './rows.ts';
import { startDevice } from './sign-on.ts';

/** Nothing listens here. */
const ISSUER = 'https://127.0.0.1:9';
/** Fewer than a tenant may have, so that there is room for those that a test adds. */
const LEFT_MAX = 4;

/** Valid input for sign-on, made afresh for each call. What a provider and a browser do is tested beside the feature. */
export const SIGN_ON_INPUTS: Record<string, MakeInput> = {
  'POST /auth/sso/providers': async (world) => {
    await someProvider(world);
    return { body: { name: uniqueName('idp'), issuer: ISSUER, client_id: uniqueName('client'), enabled: false } };
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
  'GET /auth/sso/callback': async () => ({ query: { code: 'c', state: 's' } }),
  'POST /auth/sso/callback': async () => ({ body: { code: 'c', state: 's' } }),
  'POST /auth/device': async () => ({ body: { client: 'cli', provider: 'idp', tenant: 'acme' } }),
  'POST /auth/device/token': async ({ service }) => ({
    body: { device_code: (await startDevice(service)).device_code },
  }),
  'POST /auth/device/approve': async ({ service }) => ({ body: { user_code: (await startDevice(service)).user_code } }),
};

/** Straight into the database, since a second admin would have to approve each. */
async function someProvider({ service, owner }: World) {
  const { kernel } = service.app;
  const { id: tenant_id } = (await ok(service.call('GET', '/auth/me'))).tenant;
  const now = kernel.clock.now();
  const name = uniqueName('idp');
  const query = kernel.database.read.selectFrom('sso_providers').select(['tenant_id', 'name']);
  const rows = await query.where('tenant_id', '=', tenant_id).orderBy('created_at').execute();
  await recorded(kernel, tenant_id, async (tx) => {
    for (const row of rows.slice(0, Math.max(0, rows.length - LEFT_MAX))) await deleteProvider(tx, row);
    await insertProvider(tx, {
      tenant_id,
      name,
      issuer: ISSUER,
      client_id: uniqueName('client'),
      sealed_secret: null,
      scopes: '["openid"]',
      groups_claim: 'groups',
      role_mapping: '{}',
      group_mapping: '{}',
      default_role: null,
      required: 0,
      enabled: 0,
      revision: 1,
      created_by: owner.id,
      created_at: now,
      updated_at: now,
    });
  });
  return { params: { name } };
}
