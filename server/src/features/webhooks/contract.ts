import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { Deleted, idParam, nextCursor, nullable, object, pageQuery } from '../../kernel/wire/wire.ts';
import {
  Delivery,
  enabled,
  events,
  format,
  minSeverity,
  routingKey,
  url,
  Webhook,
  WebhookWithSecret,
} from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'webhooks',
  aboutNoun: {
    title: 'Webhooks',
    group: 'Machines',
    guide: ['webhooks'],
    description: 'Tell other systems when something happens, by signed HTTP requests.',
  },
  credentials: ANY_TOKEN,
  resource: 'webhook/{webhook_id}',
  query: NONE,
  body: NONE,
  params: NONE,
} as const;

const webhookId = described('The id of a webhook.', idParam);
const ofOne = { params: object({ webhook_id: webhookId }) } as const;

export const createWebhook = endpoint({
  ...common,
  name: 'createWebhook',
  method: 'POST',
  path: '/webhooks',
  summary: 'Subscribe to events',
  description: 'The secret that signs deliveries is shown once.',
  permission: 'webhooks:create',
  resource: 'webhook/*',
  rate: 'write',
  audit: 'webhooks:create',
  effect: 'change',
  body: object({
    url,
    events,
    min_severity: Type.Optional(minSeverity),
    format: Type.Optional(described('Default: standard.', format)),
    routing_key: Type.Optional(routingKey),
    enabled: Type.Optional(enabled),
  }),
  status: 201,
  output: WebhookWithSecret,
  errors: ['QUOTA_EXCEEDED', 'TIER_REQUIRED'],
});

export const listWebhooks = endpoint({
  ...common,
  name: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
  summary: 'List webhooks',
  description: 'Includes disabled ones.',
  permission: 'webhooks:list',
  resource: 'webhook/*',
  rate: 'read',
  audit: 'webhooks:list',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({ webhooks: Type.Array(Webhook), next_cursor: nextCursor }),
  errors: [],
});

export const readWebhook = endpoint({
  ...common,
  ...ofOne,
  name: 'readWebhook',
  method: 'GET',
  path: '/webhooks/{webhook_id}',
  summary: 'Read a webhook',
  description: 'Without its secret.',
  permission: 'webhooks:read',
  rate: 'read',
  audit: 'webhooks:read',
  effect: 'read',
  status: 200,
  output: Webhook,
  errors: ['NOT_FOUND'],
});

export const readWebhookUrl = endpoint({
  ...common,
  ...ofOne,
  name: 'readWebhookUrl',
  method: 'GET',
  path: '/webhooks/{webhook_id}/url',
  summary: 'Read the URL of a webhook, whole',
  description: 'It may be a secret: anyone who has the URL of a chat can write there. The other endpoints shorten it.',
  permission: 'webhooks:update',
  rate: 'read',
  audit: 'webhooks:read_url',
  effect: 'read',
  status: 200,
  output: object({ url: Type.String({ description: 'Where events are sent.' }) }),
  errors: ['NOT_FOUND'],
});

export const updateWebhook = endpoint({
  ...common,
  ...ofOne,
  name: 'updateWebhook',
  method: 'PATCH',
  path: '/webhooks/{webhook_id}',
  summary: 'Change a webhook',
  description: 'Enabling it again sends deliveries that still wait.',
  permission: 'webhooks:update',
  rate: 'write',
  audit: 'webhooks:update',
  effect: 'change',
  body: object({
    url: Type.Optional(url),
    events: Type.Optional(events),
    min_severity: Type.Optional(minSeverity),
    format: Type.Optional(format),
    routing_key: Type.Optional(routingKey),
    enabled: Type.Optional(enabled),
  }),
  status: 200,
  output: Webhook,
  errors: ['TIER_REQUIRED', 'NOT_FOUND', 'VERSION_CONFLICT'],
});

export const deleteWebhook = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteWebhook',
  method: 'DELETE',
  path: '/webhooks/{webhook_id}',
  summary: 'Delete a webhook',
  description: 'With its deliveries.',
  permission: 'webhooks:delete',
  rate: 'write',
  audit: 'webhooks:delete',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const rotateWebhookSecret = endpoint({
  ...common,
  ...ofOne,
  name: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/{webhook_id}/rotate-secret',
  summary: 'Replace the signing secret',
  description: 'For 24 hours deliveries are signed with the old secret too.',
  permission: 'webhooks:rotate',
  rate: 'write',
  audit: 'webhooks:rotate',
  effect: 'change',
  status: 200,
  output: WebhookWithSecret,
  errors: ['NOT_FOUND', 'VERSION_CONFLICT'],
});

export const testWebhook = endpoint({
  ...common,
  ...ofOne,
  name: 'testWebhook',
  method: 'POST',
  path: '/webhooks/{webhook_id}/test',
  summary: 'Send a test event',
  description: 'Sends `webhook.test` once, and reports how the receiver responded.',
  permission: 'webhooks:test',
  rate: 'write',
  audit: 'webhooks:test',
  effect: 'read',
  status: 200,
  output: object({
    delivered: Type.Boolean({ description: 'Whether the receiver took the event.' }),
    response_status: nullable(Type.Integer({ description: 'The status of the response; null if there was none.' })),
    error: nullable(Type.String({ description: 'Why it was not delivered.' })),
    duration_ms: Type.Integer({ description: 'How long it took.' }),
  }),
  errors: ['NOT_FOUND'],
});

export const listWebhookDeliveries = endpoint({
  ...common,
  ...ofOne,
  name: 'listWebhookDeliveries',
  method: 'GET',
  path: '/webhooks/{webhook_id}/deliveries',
  summary: 'List the deliveries of a webhook',
  description: 'Newest first, for 30 days after they ended.',
  permission: 'webhooks:read',
  rate: 'read',
  audit: 'webhooks:list_deliveries',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({ deliveries: Type.Array(Delivery), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const redeliverWebhook = endpoint({
  ...common,
  name: 'redeliverWebhook',
  method: 'POST',
  path: '/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  summary: 'Send a delivery again',
  description: 'With the same id, so that the receiver can tell that it is a repeat.',
  permission: 'webhooks:redeliver',
  rate: 'write',
  audit: 'webhooks:redeliver',
  effect: 'change',
  params: object({ webhook_id: webhookId, delivery_id: described('The id of a delivery.', idParam) }),
  status: 200,
  output: Delivery,
  errors: ['NOT_FOUND'],
});
