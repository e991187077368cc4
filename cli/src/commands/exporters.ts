import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';
import { ago } from '../output.ts';

type Written = 'POST /v1/audit/exporters' | 'PATCH /v1/audit/exporters/{exporter_id}';

const FIELDS: readonly Field<Written>[] = [
  { flags: '--format <format>', description: 'native, ecs, ocsf or cef', to: 'body/format' },
  { flags: '--vault <name>', description: 'only entries of this vault', to: 'body/filter/vault' },
  { flags: '--actor <who>', description: 'only by this person or machine', to: 'body/filter/actor' },
  { flags: '--action <action>', description: 'only this action; secrets:* is allowed', to: 'body/filter/action' },
  { flags: '--resource <resource>', description: 'only this resource', to: 'body/filter/resource' },
  { flags: '--decision <decision>', description: 'allow, deny or error', to: 'body/filter/decision' },
  { flags: '--token', description: 'Token', to: 'body/credentials/token', kind: 'secret' },
  { flags: '--api-key', description: 'API key', to: 'body/credentials/api_key', kind: 'secret' },
  { flags: '--user <name>', description: 'its user, with --password', to: 'body/credentials/username' },
  { flags: '--password', description: 'Password', to: 'body/credentials/password', kind: 'secret' },
  {
    flags: '--ca <file>',
    description: 'a file with the CA certificates of the receiver',
    to: 'body/ca_pem',
    kind: 'file',
  },
];

export function register(program: Command): void {
  const exporters = program.command('exporters').description('Send the audit log to other systems');
  listing(exporters, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the exporters, and how far each is',
    route: 'GET /v1/audit/exporters',
    rows: (page) => page.exporters,
    columns: [
      { title: 'EXPORTER', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name, isFlexible: true },
      { title: 'TYPE', of: ({ type }) => type },
      { title: 'BEHIND', of: ({ lag_entries }) => lag_entries, isNumber: true },
      { title: 'SENT', of: ({ last_success_at }) => ago(last_success_at) },
      {
        title: 'STATUS',
        of: ({ enabled, last_error }) => (enabled ? (last_error ?? 'enabled') : 'disabled'),
        isFlexible: true,
      },
    ],
    empty: 'There is no exporter that you may see.',
  });
  action(exporters, {
    usage: 'create <name> <endpoint>',
    summary: 'Create an exporter; secrets come from standard input or a prompt',
    route: 'POST /v1/audit/exporters',
    arguments: ['body/name', 'body/endpoint'],
    options: [
      {
        flags: '--type <type>',
        description: 'splunk_hec, elastic, datadog, syslog, otlp or https_json',
        to: 'body/type',
        isRequired: true,
      },
      ...FIELDS,
      { flags: '--disabled', description: 'send nothing until it is enabled', to: 'body/enabled', value: false },
    ],
    says: ({ id }) => `Created ${id}. Try it: coffer exporters test ${id}`,
  });
  action(exporters, {
    usage: 'update <exporter>',
    summary: 'Change an exporter, or turn it on and off',
    route: 'PATCH /v1/audit/exporters/{exporter_id}',
    arguments: ['path/exporter_id'],
    options: [
      ...FIELDS,
      { flags: '--name <name>', description: 'another name', to: 'body/name' },
      { flags: '--endpoint <url>', description: 'where entries are sent', to: 'body/endpoint' },
      { flags: '--enable', description: 'send again', to: 'body/enabled', value: true },
      { flags: '--disable', description: 'send nothing for now', to: 'body/enabled', value: false },
    ],
    says: ({ id, enabled }) => `Changed ${id}, which is ${enabled ? 'enabled' : 'disabled'}.`,
  });
  action(exporters, {
    usage: 'delete <exporter>',
    alias: 'rm',
    summary: 'Delete an exporter',
    route: 'DELETE /v1/audit/exporters/{exporter_id}',
    arguments: ['path/exporter_id'],
    asks: ({ exporter }) => `Delete ${exporter}?`,
    says: (_, { exporter }) => `Deleted ${exporter}.`,
  });
  action(exporters, {
    usage: 'test <exporter>',
    summary: 'Send a test entry now',
    route: 'POST /v1/audit/exporters/{exporter_id}/test',
    arguments: ['path/exporter_id'],
    shows: ({ delivered, message, duration_ms }) =>
      `${delivered ? 'delivered' : 'not delivered'}: ${message} after ${duration_ms} ms`,
  });
  action(exporters, {
    usage: 'replay <exporter> <from>',
    summary: 'Send again from a time or date on',
    route: 'POST /v1/audit/exporters/{exporter_id}/replay',
    arguments: ['path/exporter_id', 'body/from'],
    options: [
      { flags: '--skip', description: 'go forward, and never send what lies between', to: 'body/skip', value: true },
    ],
    says: ({ id, lag_entries }) => `${id} has ${lag_entries} entries to send.`,
  });
}
