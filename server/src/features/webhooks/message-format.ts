import type { MessageFormat, Severity } from './schemas.ts';

/** An event as subscriptions get it. */
export interface WebhookEvent {
  event: string;
  /** The field that holds the object of the event, such as `anomaly`. */
  objectName: string;
  object: Readonly<Record<string, unknown>>;
  tenant: string;
  timestamp: string;
  severity: Severity | null;
  /** One sentence for chats and pagers. */
  summary: string;
  /** Events of the same thing, such as an anomaly that is seen again, share it. */
  dedupKey: string;
}

const SLACK_SECTION_CHARS_MAX = 3000;
const DEDUP_KEY_CHARS_MAX = 255;
const SUMMARY_CHARS_MAX = 1024;
/** PagerDuty's words for our severities. */
const PAGER_SEVERITIES = { low: 'info', medium: 'warning', high: 'error', critical: 'critical' } as const;

/** The body of a delivery. The routing key is PagerDuty's credential. */
export function messageBody(format: MessageFormat, event: WebhookEvent, routingKey: string | null): string {
  switch (format) {
    case 'standard':
      return JSON.stringify(standard(event));
    case 'slack':
      return JSON.stringify(slack(event));
    case 'teams':
      return JSON.stringify(teams(event));
    case 'pagerduty':
      return JSON.stringify(pagerDuty(event, routingKey ?? ''));
  }
}

function standard({ event, objectName, object, tenant, timestamp }: WebhookEvent): object {
  return { event, [objectName]: object, tenant, timestamp };
}

function slack(event: WebhookEvent): object {
  const text = `*${slackText(event.event)}*\n${slackText(event.summary)}`.slice(0, SLACK_SECTION_CHARS_MAX);
  return { text: slackText(event.summary), blocks: [{ type: 'section', text: { type: 'mrkdwn', text } }] };
}

/** Slack reads these three characters as markup. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function teams({ event, summary, tenant, timestamp, severity }: WebhookEvent): object {
  const facts = [
    { title: 'Tenant', value: tenant },
    { title: 'Time', value: timestamp },
    ...(severity === null ? [] : [{ title: 'Severity', value: severity }]),
  ];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { type: 'TextBlock', size: 'Medium', weight: 'Bolder', text: event, wrap: true },
      { type: 'TextBlock', text: summary, wrap: true },
      { type: 'FactSet', facts },
    ],
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }],
  };
}

function pagerDuty(event: WebhookEvent, routingKey: string): object {
  return {
    routing_key: routingKey,
    event_action: 'trigger',
    dedup_key: event.dedupKey.slice(0, DEDUP_KEY_CHARS_MAX),
    payload: {
      summary: event.summary.slice(0, SUMMARY_CHARS_MAX),
      source: `coffer/${event.tenant}`,
      severity: PAGER_SEVERITIES[event.severity ?? 'medium'],
      timestamp: event.timestamp,
      class: event.event,
      custom_details: event.object,
    },
  };
}
