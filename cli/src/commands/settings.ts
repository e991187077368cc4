import type { Command } from 'commander';
import { action } from '../declared.ts';

export function register(program: Command): void {
  const settings = program.command('settings').description('What holds for everybody in your tenant');
  action(settings, {
    usage: 'show',
    isDefault: true,
    summary: 'Show the settings of your tenant',
    route: 'GET /v1/tenant/settings',
    isRead: true,
    shows: ({ require_mfa, mail_notices, anomaly_thresholds }) =>
      [
        `second factor: ${require_mfa ? 'required of everybody' : 'not required'}`,
        `mail: ${mail_notices.length === 0 ? 'none' : mail_notices.join(', ')}`,
        `thresholds of anomalies: ${JSON.stringify(anomaly_thresholds)}`,
      ].join('\n'),
  });
  action(settings, {
    usage: 'update',
    summary: 'Change settings of your tenant',
    route: 'PATCH /v1/tenant/settings',
    options: [
      {
        flags: '--require-second-factor',
        description: 'people without a second factor can only add one',
        to: 'body/require_mfa',
        value: true,
      },
      {
        flags: '--optional-second-factor',
        description: 'it is no longer required',
        to: 'body/require_mfa',
        value: false,
      },
      {
        flags: '--mail <occasions>',
        description: 'when mail is sent, with commas between them: invitations, approvals, expiry and security',
        to: 'body/mail_notices',
        kind: 'list',
      },
      { flags: '--mail-off', description: 'no mail is sent', to: 'body/mail_notices', value: [] },
      {
        flags: '--thresholds <file>',
        description: 'when something is an anomaly, as JSON: a file or - for standard input; {} for the defaults',
        to: 'body/anomaly_thresholds',
        kind: 'json',
      },
    ],
    needsProof: true,
    says: () => 'Changed. See them: coffer settings',
  });
}
