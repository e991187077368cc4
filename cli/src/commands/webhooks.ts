import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';
import { ago } from '../output.ts';

type Written = 'POST /webhooks' | 'PATCH /webhooks/{webhook_id}';

const FIELDS: readonly Field<Written>[] = [
  {
    flags: '--events <events>',
    description: 'the events that it gets, separated by commas',
    to: 'body/events',
    kind: 'list',
  },
  { flags: '--min-severity <severity>', description: 'of anomalies, only from this one on', to: 'body/min_severity' },
  { flags: '--format <format>', description: 'standard, slack, teams or pagerduty', to: 'body/format' },
  { flags: '--routing-key', description: 'Routing key', to: 'body/routing_key', kind: 'secret' },
];

export function register(program: Command): void {
  const webhooks = program.command('webhooks').description('Tell other programs what happens');
  listing(webhooks, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the webhooks',
    route: 'GET /webhooks',
    rows: (page) => page.webhooks,
    columns: [
      { title: 'WEBHOOK', of: ({ id }) => id },
      { title: 'URL', of: ({ url }) => url, isFlexible: true },
      { title: 'EVENTS', of: ({ events }) => events.join(' '), isFlexible: true },
      {
        title: 'STATUS',
        of: ({ enabled, disabled_reason }) => (enabled ? 'enabled' : (disabled_reason ?? 'disabled')),
      },
    ],
    empty: 'There is no webhook that you may see.',
  });
  action(webhooks, {
    usage: 'create <url>',
    summary: 'Create a webhook; its signing secret is printed once',
    route: 'POST /webhooks',
    arguments: ['body/url'],
    options: FIELDS,
    shows: ({ secret }) => secret,
    says: ({ id }) => `Created ${id}. Its signing secret cannot be shown again. Try it: coffer webhooks test ${id}`,
  });
  action(webhooks, {
    usage: 'update <webhook>',
    summary: 'Change a webhook, or turn it on and off',
    route: 'PATCH /webhooks/{webhook_id}',
    arguments: ['path/webhook_id'],
    options: [
      ...FIELDS,
      { flags: '--url-of-receiver <url>', description: 'where events are sent', to: 'body/url' },
      { flags: '--enable', description: 'send again', to: 'body/enabled', value: true },
      { flags: '--disable', description: 'send nothing for now', to: 'body/enabled', value: false },
    ],
    says: ({ id, enabled }) => `Changed ${id}, which is ${enabled ? 'enabled' : 'disabled'}.`,
  });
  action(webhooks, {
    usage: 'url <webhook>',
    summary: 'Print the whole URL of a webhook, which lists shorten where it is a secret',
    route: 'GET /webhooks/{webhook_id}/url',
    arguments: ['path/webhook_id'],
    shows: ({ url }) => url,
  });
  action(webhooks, {
    usage: 'delete <webhook>',
    alias: 'rm',
    summary: 'Delete a webhook',
    route: 'DELETE /webhooks/{webhook_id}',
    arguments: ['path/webhook_id'],
    asks: ({ webhook }) => `Delete ${webhook}?`,
    says: (_, { webhook }) => `Deleted ${webhook}.`,
  });
  action(webhooks, {
    usage: 'rotate-secret <webhook>',
    summary: 'Replace the signing secret; the new one is printed once',
    route: 'POST /webhooks/{webhook_id}/rotate-secret',
    arguments: ['path/webhook_id'],
    shows: ({ secret }) => secret,
    says: ({ id }) => `${id} signs with a new secret.`,
  });
  action(webhooks, {
    usage: 'test <webhook>',
    summary: 'Send a test event now',
    route: 'POST /webhooks/{webhook_id}/test',
    arguments: ['path/webhook_id'],
    shows: ({ delivered, response_status, error, duration_ms }) =>
      `${delivered ? 'delivered' : 'not delivered'}: ${response_status ?? error ?? ''} after ${duration_ms} ms`,
  });
  listing(webhooks, {
    usage: 'deliveries <webhook>',
    summary: 'List what was sent',
    route: 'GET /webhooks/{webhook_id}/deliveries',
    arguments: ['path/webhook_id'],
    rows: (page) => page.deliveries,
    columns: [
      { title: 'DELIVERY', of: ({ id }) => id },
      { title: 'EVENT', of: ({ event }) => event },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'ATTEMPTS', of: ({ attempts }) => attempts, isNumber: true },
      { title: 'ANSWER', of: ({ response_status, error }) => response_status ?? error, isFlexible: true },
      { title: 'WHEN', of: ({ created_at }) => ago(created_at) },
    ],
    empty: 'Nothing was sent yet.',
  });
  action(webhooks, {
    usage: 'redeliver <webhook> <delivery>',
    summary: 'Send something again',
    route: 'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    arguments: ['path/webhook_id', 'path/delivery_id'],
    says: ({ id, status }) => `${id} is ${status}.`,
  });
}
