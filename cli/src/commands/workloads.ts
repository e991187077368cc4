import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';
import { ago } from '../output.ts';

const TYPES = 'k8s_sa, aws_iam, gcp_iam, azure_msi, oidc_generic or spiffe';
const CONFIG = 'what the type needs, as JSON: a file or - for standard input; its secrets are never shown again';

const FIELDS: readonly Field<'POST /workload-identity/methods' | 'PUT /workload-identity/methods/{method_id}'>[] = [
  { flags: '--name <name>', description: 'another name', to: 'body/name' },
  { flags: '--connection <number>', description: 'another connection', to: 'body/app_connection_id', kind: 'number' },
  { flags: '--config <file>', description: CONFIG, to: 'body/config', kind: 'json' },
];

export function register(program: Command): void {
  const workloads = program
    .command('workloads')
    .description('Let workloads in by what their cluster, cloud or issuer says of them');
  listing(workloads, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the methods',
    route: 'GET /workload-identity/methods',
    rows: (page) => page.methods,
    columns: [
      { title: 'NO', of: ({ id }) => id, isNumber: true },
      { title: 'METHOD', of: ({ name }) => name, isFlexible: true },
      { title: 'TYPE', of: ({ type }) => type },
      { title: 'CONNECTION', of: ({ app_connection_id }) => app_connection_id, isNumber: true },
      { title: 'CHANGED', of: ({ updated_at }) => ago(updated_at) },
      { title: 'WARNINGS', of: ({ warnings }) => warnings.join(' '), isFlexible: true },
    ],
    empty: 'There is no method that you may see.',
  });
  action(workloads, {
    usage: 'show <number>',
    summary: 'Show a method with its config, without its secrets',
    route: 'GET /workload-identity/methods/{method_id}',
    arguments: ['path/method_id'],
    isRead: true,
    shows: ({ name, type, config }) => `${name} (${type})\n${JSON.stringify(config, null, 2)}`,
  });
  action(workloads, {
    usage: 'create <name>',
    summary: 'Make a method: whose word is believed, who is let in, and as which connection',
    route: 'POST /workload-identity/methods',
    arguments: ['body/name'],
    options: [
      { flags: '--type <type>', description: TYPES, to: 'body/type', isRequired: true },
      {
        flags: '--connection <number>',
        description: 'the connection that they act as, by its number',
        to: 'body/app_connection_id',
        kind: 'number',
        isRequired: true,
      },
      { flags: '--config <file>', description: CONFIG, to: 'body/config', kind: 'json', isRequired: true },
    ],
    says: ({ id, warnings }) => [`Created ${id}.`, ...warnings].join('\n'),
  });
  action(workloads, {
    usage: 'update <number>',
    summary: 'Change a method; the tokens that it gave end',
    route: 'PUT /workload-identity/methods/{method_id}',
    arguments: ['path/method_id'],
    options: FIELDS,
    says: ({ id, warnings }) => [`Changed ${id}.`, ...warnings].join('\n'),
  });
  action(workloads, {
    usage: 'delete <number>',
    alias: 'rm',
    summary: 'Delete a method; the tokens that it gave end',
    route: 'DELETE /workload-identity/methods/{method_id}',
    arguments: ['path/method_id'],
    asks: ({ number }) => `Delete the method ${number}?`,
    says: (_, { number }) => `Deleted the method ${number}.`,
  });
}
