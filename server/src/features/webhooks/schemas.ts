import Type, { type Static } from 'typebox';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

/** Events that subscriptions can ask for, with the field that holds their object and what they tell. */
export const EVENTS = {
  'anomaly.detected': ['anomaly', 'A detector found something unusual.'],
  'secret.rotated': ['secret', 'A secret was rotated.'],
  'rotation.failed': ['rotation', 'A rotation failed or its outcome is unknown.'],
  'secret.expiring': ['secret', 'A secret expires soon: 30, 7 or 1 days before its end.'],
  'approval.requested': ['approval', 'A change waits for approval.'],
  'approval.decided': ['approval', 'A change was approved or rejected.'],
  'break_glass.used': [
    'break_glass',
    'An operator or an owner acted without the approval that others need, or a break-glass owner signed in.',
  ],
  'certificate.expiring': ['certificate', 'A certificate expires soon.'],
  'exporter.failing': ['exporter', 'An exporter of the audit log fails again and again.'],
  'endpoint.drift': ['endpoint', 'A host differs from what was recorded of it.'],
} as const satisfies Record<string, readonly [object: string, description: string]>;

export type EventName = keyof typeof EVENTS;
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];
/** What `test` sends. It cannot be subscribed to. */
export const TEST_EVENT = 'webhook.test';

export const MESSAGE_FORMATS = ['standard', 'slack', 'teams', 'pagerduty'] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
}

const URL_CHARS_MAX = 2048;
const ROUTING_KEY_CHARS_MAX = 64;

const eventList = EVENT_NAMES.map((name) => `\`${name}\`: ${EVENTS[name][1]}`).join(' ');
const event = named('WebhookEventName', `The name of an event. ${eventList}`, oneOf(EVENT_NAMES));
export const SeveritySchema = named('Severity', 'How serious an anomaly is.', oneOf(SEVERITIES));
export const format = named(
  'WebhookFormat',
  'standard: the event as JSON, signed as Standard Webhooks has it. slack, teams and pagerduty: a message for these services.',
  oneOf(MESSAGE_FORMATS),
);
export const url = Type.String({
  minLength: 1,
  maxLength: URL_CHARS_MAX,
  examples: ['https://hooks.example.com/coffer'],
  description: 'Where events are sent: https, without a user, a password or a fragment. Redirects are not followed.',
});
export const events = Type.Array(event, { minItems: 1, uniqueItems: true, description: 'The events to send.' });
export const minSeverity = described('Anomalies below it are not sent. Default: low.', SeveritySchema);
export const enabled = Type.Boolean({
  description: 'Whether events are sent. Those that happen meanwhile are not sent later.',
});
export const routingKey = Type.String({
  minLength: 1,
  maxLength: ROUTING_KEY_CHARS_MAX,
  pattern: '^[A-Za-z0-9]+$',
  description: 'PagerDuty’s integration key. Never shown again.',
});

const webhookFields = {
  id: id('webhook'),
  url: Type.String({
    description:
      'Where events are sent. Of the formats slack, teams and pagerduty it is a secret, of which the origin and the last four characters are shown: `https://hooks.slack.com/…wxyz`.',
  }),
  events: Type.Array(event, { description: 'The events that are sent.' }),
  min_severity: SeveritySchema,
  format,
  enabled,
  disabled_reason: nullable(Type.String({ description: 'Why the service disabled it; null if it did not.' })),
  created_by: Type.String({ description: 'The id of the creator.' }),
  created_at: timestampText,
  updated_at: timestampText,
};

export const Webhook = named('Webhook', 'A subscription to events.', object(webhookFields));
export type Webhook = Static<typeof Webhook>;

export const WebhookWithSecret = named(
  'WebhookWithSecret',
  'A subscription with its signing secret, which is shown once.',
  object({
    ...webhookFields,
    secret: Type.String({ description: 'Verifies signatures. Store it: it is not shown again.' }),
  }),
);
export type WebhookWithSecret = Static<typeof WebhookWithSecret>;

export const Delivery = named(
  'WebhookDelivery',
  'One event on its way to one webhook.',
  object({
    id: id('delivery'),
    event: Type.String({ description: 'The name of the event.' }),
    status: oneOf(['pending', 'delivered', 'failed'], 'pending: it waits for its next attempt.'),
    attempts: Type.Integer({ description: 'How often it was sent.' }),
    response_status: nullable(
      Type.Integer({ description: 'The status of the last response; null if there was none.' }),
    ),
    duration_ms: nullable(Type.Integer({ description: 'How long the last attempt took.' })),
    error: nullable(Type.String({ description: 'Why the last attempt failed.' })),
    next_attempt_at: nullable(timestampText),
    created_at: timestampText,
    ended_at: nullable(timestampText),
  }),
);
export type Delivery = Static<typeof Delivery>;
