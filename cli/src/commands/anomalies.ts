import type { Command } from 'commander';
import { action, listing } from '../declared.ts';
import { ago } from '../output.ts';

export function register(program: Command): void {
  const anomalies = program.command('anomalies').description('See what is unusual, and act on it');
  listing(anomalies, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the anomalies that are open, the newest first',
    route: 'GET /anomalies',
    options: [
      { flags: '--type <type>', description: 'only of this type, such as stale_rotation', to: 'query/type' },
      { flags: '--severity <severity>', description: 'low, medium, high or critical', to: 'query/severity' },
      { flags: '--since <time>', description: 'only those found since this time or date', to: 'query/since' },
      { flags: '--status <status>', description: 'open, acknowledged, dismissed, resolved or all', to: 'query/status' },
    ],
    rows: (page) => page.anomalies,
    columns: [
      { title: 'ANOMALY', of: ({ id }) => id },
      { title: 'SEVERITY', of: ({ severity }) => severity },
      { title: 'TYPE', of: ({ type }) => type },
      { title: 'RESOURCE', of: ({ resource }) => resource, isFlexible: true },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'FOUND', of: ({ detected_at }) => ago(detected_at) },
    ],
    empty: 'There is no such anomaly that you may see.',
  });
  action(anomalies, {
    usage: 'show <anomaly>',
    summary: 'Show what was found, and what to do',
    route: 'GET /anomalies/{anomaly_id}',
    arguments: ['path/anomaly_id'],
    isRead: true,
    shows: ({ severity, type, resource, recommendation }) => `${severity} ${type}: ${resource}\n${recommendation}`,
  });
  action(anomalies, {
    usage: 'acknowledge <anomaly>',
    summary: 'Say that you look into it; the same is not raised again',
    route: 'POST /anomalies/{anomaly_id}/acknowledge',
    arguments: ['path/anomaly_id'],
    options: [{ flags: '--note <text>', description: 'why, or what is done about it', to: 'body/note' }],
    says: ({ id, status }) => `${id} is ${status}.`,
  });
  action(anomalies, {
    usage: 'dismiss <anomaly>',
    summary: 'Say that it is a false alarm; what is much like it is not raised again',
    route: 'POST /anomalies/{anomaly_id}/dismiss',
    arguments: ['path/anomaly_id'],
    options: [{ flags: '--reason <text>', description: 'why', to: 'body/reason', isRequired: true }],
    says: ({ id, status }) => `${id} is ${status}.`,
  });
  action(anomalies, {
    usage: 'scan',
    summary: 'Look for anomalies now instead of at the next scan',
    route: 'POST /anomalies/scan',
    says: () => 'The scan runs in the background. See what it found: coffer anomalies',
  });
}
