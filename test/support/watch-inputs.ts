import { startAt } from '../../server/src/features/exporters/service.ts';
import { deleteExporter, insertExporter } from '../../server/src/features/exporters/store.ts';
import { newDelivery } from '../../server/src/features/webhooks/emission.ts';
import { deleteWebhook, insertDeliveries } from '../../server/src/features/webhooks/store.ts';
import { timestamp } from '../../server/src/kernel/base/clock.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok, uniqueName } from './people.ts';
import { recorded } from './rows.ts';

/** Valid input for exporters and webhooks, made afresh for each call. None is enabled, so that nothing changes while a test compares states. */
export const WATCH_INPUTS: Record<string, MakeInput> = {
  'POST /v1/audit/exporters': async () => ({
    body: { name: uniqueName('exporter'), type: 'syslog', endpoint: ENDPOINT, enabled: false },
  }),
  'GET /v1/audit/exporters': async (world) => {
    await someExporter(world);
    await someExporter(world);
    return {};
  },
  'GET /v1/audit/exporters/{exporter_id}': someExporter,
  'PATCH /v1/audit/exporters/{exporter_id}': async (world) => ({
    ...(await someExporter(world)),
    body: { format: 'cef' },
  }),
  'DELETE /v1/audit/exporters/{exporter_id}': someExporter,
  'POST /v1/audit/exporters/{exporter_id}/test': someExporter,
  'POST /v1/audit/exporters/{exporter_id}/replay': async (world) => ({
    ...(await someExporter(world)),
    body: { from: BEFORE_EVERY_ENTRY },
  }),
  'POST /webhooks': async () => ({ body: webhook() }),
  'GET /webhooks': async (world) => {
    await someWebhook(world);
    await someWebhook(world);
    return {};
  },
  'GET /webhooks/{webhook_id}': someWebhook,
  'GET /webhooks/{webhook_id}/url': someWebhook,
  'PATCH /webhooks/{webhook_id}': async (world) => ({
    ...(await someWebhook(world)),
    body: { min_severity: 'high' },
  }),
  'DELETE /webhooks/{webhook_id}': someWebhook,
  'POST /webhooks/{webhook_id}/rotate-secret': someWebhook,
  'POST /webhooks/{webhook_id}/test': someWebhook,
  'GET /webhooks/{webhook_id}/deliveries': async (world) => {
    const made = await someWebhook(world);
    await someDelivery(world, made.params.webhook_id);
    await someDelivery(world, made.params.webhook_id);
    return made;
  },
  'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver': async (world) => {
    const { webhook_id } = (await someWebhook(world)).params;
    return { params: { webhook_id, delivery_id: await someDelivery(world, webhook_id) } };
  },
};

/** A replay from a later time is refused: the exporter has sent nothing yet. */
const BEFORE_EVERY_ENTRY = timestamp(0);
/** A port that nothing listens on. The service must be allowed to call it, or it refuses the address. */
const ENDPOINT = 'tls://127.0.0.1:9';
/** Of either kind, in one tenant, before the oldest are deleted: plans limit how many there may be. */
const LEFT_MAX = 12;

async function tenantOf({ service }: World): Promise<string> {
  return (await ok(service.call('GET', '/auth/me'))).tenant.id;
}

/** Straight into the database, since a second admin would have to approve each. */
async function someExporter(world: World) {
  const { kernel } = world.service.app;
  const tenant_id = await tenantOf(world);
  const now = kernel.clock.now();
  const key = { tenant_id, exporter_id: newId('exporter', now) };
  const query = kernel.database.read.selectFrom('exporters').select(['tenant_id', 'exporter_id']);
  const rows = await query.where('tenant_id', '=', tenant_id).orderBy('exporter_id').execute();
  await recorded(kernel, tenant_id, async (tx) => {
    for (const row of rows.slice(0, Math.max(0, rows.length - LEFT_MAX))) await deleteExporter(tx, row);
    await insertExporter(
      tx,
      {
        ...key,
        name: uniqueName('exporter'),
        type: 'syslog',
        format: 'native',
        filter: '{}',
        endpoint: ENDPOINT,
        ca_pem: null,
        sealed_credentials: null,
        enabled: 0,
        created_by: world.owner.id,
        created_at: now,
        updated_at: now,
      },
      startAt(key, 0, 0),
    );
  });
  return { params: { exporter_id: key.exporter_id } };
}

function webhook() {
  return { url: `https://127.0.0.1:9/${uniqueName('hook')}`, events: ['endpoint.drift'], enabled: false };
}

async function someWebhook(world: World) {
  const { service } = world;
  const { kernel } = service.app;
  const tenant_id = await tenantOf(world);
  const query = kernel.database.read.selectFrom('webhooks').select(['tenant_id', 'webhook_id']);
  const rows = await query.where('tenant_id', '=', tenant_id).orderBy('webhook_id').execute();
  if (rows.length > LEFT_MAX) {
    await recorded(kernel, tenant_id, async (tx) => {
      for (const row of rows.slice(0, rows.length - LEFT_MAX)) await deleteWebhook(tx, row);
    });
  }
  const { id } = await ok(service.call('POST', '/webhooks', { body: webhook() }), 201);
  return { params: { webhook_id: String(id) } };
}

/** Something that waits to be sent. */
async function someDelivery(world: World, webhook_id: string): Promise<string> {
  const { database, clock } = world.service.app.kernel;
  const tenant_id = await tenantOf(world);
  const now = clock.now();
  const message = {
    event: 'endpoint.drift',
    objectName: 'endpoint',
    object: {},
    tenant: tenant_id,
    timestamp: timestamp(now),
    severity: null,
    summary: 'a host differs',
    dedupKey: 'host',
  };
  const row = newDelivery({ tenant_id, webhook_id }, message, now);
  await database.transaction((tx) => insertDeliveries(tx, [row]));
  return row.delivery_id;
}
