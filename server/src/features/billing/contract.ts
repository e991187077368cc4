import Type from 'typebox';
import { endpoint, NONE, PUBLIC_BODY_BYTES_MAX } from '../../kernel/endpoint/declaration.ts';
import { object } from '../../kernel/wire/wire.ts';

export const billingWebhook = endpoint({
  noun: 'billing',
  aboutNoun: {
    title: 'Billing',
    group: 'Administration',
    guide: ['saas'],
    description: 'Events of the payment processor, which decide the plan of a tenant.',
  },
  name: 'billingWebhook',
  method: 'POST',
  path: '/billing/webhook',
  summary: 'Receive an event of Stripe',
  description:
    'Only with `CV_STRIPE_WEBHOOK_SECRET`. The `Stripe-Signature` header must sign the bytes of the body, at most 300 seconds ago. Each event is applied once; events may arrive in any order. Events that say nothing about a subscription are recorded.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  audit: 'billing:event',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: NONE,
  rawBody: true,
  bodyBytesMax: PUBLIC_BODY_BYTES_MAX,
  status: 200,
  output: object({ received: Type.Boolean({ description: 'True: Stripe need not send the event again.' }) }),
  raw: NONE,
  errors: ['NOT_FOUND', 'INVALID_TOKEN', 'RATE_LIMIT_EXCEEDED'],
});
