import type { Command } from 'commander';
import { action, listing } from '../declared.ts';
import { ago } from '../output.ts';

export function register(program: Command): void {
  const clusters = program
    .command('clusters')
    .description('Deliver secrets to Kubernetes, and read the accounts of hosts');
  listing(clusters, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the clusters, and how far each is',
    route: 'GET /clusters',
    rows: (page) => page.clusters,
    columns: [
      { title: 'CLUSTER', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name, isFlexible: true },
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'STAGE', of: ({ environment }) => environment },
      { title: 'APPLIED', of: ({ applied_generation, generation }) => `${applied_generation} of ${generation}` },
      { title: 'FAILED', of: ({ failed }) => failed, isNumber: true },
      { title: 'REPORTED', of: ({ last_report_at }) => ago(last_report_at) },
    ],
    empty: 'There is no cluster that you may see.',
  });
  action(clusters, {
    usage: 'create <name>',
    summary: 'Create a cluster; the token of its agent is printed once',
    route: 'POST /clusters',
    arguments: ['body/name'],
    options: [
      { flags: '--kind <kind>', description: 'kubernetes or hosts', to: 'body/kind', otherwise: 'kubernetes' },
      { flags: '--stage <stage>', description: 'the stage of its secrets', to: 'body/environment' },
    ],
    shows: ({ cluster_token }) => cluster_token,
    says: ({ id }) => `Created ${id}. Its token cannot be shown again.`,
  });
  action(clusters, {
    usage: 'delete <cluster>',
    alias: 'rm',
    summary: 'Delete a cluster; its token is refused from then on',
    route: 'DELETE /clusters/{cluster_id}',
    arguments: ['path/cluster_id'],
    asks: ({ cluster }) => `Delete ${cluster}?`,
    says: (_, { cluster }) => `Deleted ${cluster}.`,
  });
  action(clusters, {
    usage: 'rotate-token <cluster>',
    summary: 'Replace the token of the agent; the new one is printed once',
    route: 'POST /clusters/{cluster_id}/rotate-token',
    arguments: ['path/cluster_id'],
    options: [
      {
        flags: '--overlap <seconds>',
        description: 'how long the former one works',
        to: 'body/overlap_seconds',
        kind: 'number',
      },
    ],
    shows: ({ cluster_token }) => cluster_token,
    says: ({ former_token_until }) => `The former token works until ${former_token_until ?? 'now'}.`,
  });
  listing(clusters, {
    usage: 'secrets <cluster>',
    summary: 'List the Secrets that are delivered',
    route: 'GET /clusters/{cluster_id}/policies',
    arguments: ['path/cluster_id'],
    rows: (page) => page.policies,
    columns: [
      { title: 'DELIVERY', of: ({ id }) => id },
      { title: 'SECRET', of: ({ namespace, secret_name }) => `${namespace}/${secret_name}`, isFlexible: true },
      {
        title: 'FROM',
        of: ({ vault, prefix, environment_id }) =>
          vault ? `${vault}/${prefix ?? ''}` : `environment ${environment_id}`,
        isFlexible: true,
      },
      { title: 'CREATED', of: ({ created_at }) => ago(created_at) },
    ],
    empty: 'Nothing is delivered.',
  });
  action(clusters, {
    usage: 'deliver <cluster> <namespace> <secret>',
    summary: 'Deliver secrets of a vault, or a composed environment, as a Secret',
    route: 'POST /clusters/{cluster_id}/policies',
    arguments: ['path/cluster_id', 'body/namespace', 'body/secret_name'],
    options: [
      { flags: '--vault <name>', description: 'the vault', to: 'body/vault' },
      { flags: '--prefix <path>', description: 'everything below this path of the vault', to: 'body/prefix' },
      {
        flags: '--mappings <file>',
        description: 'a JSON list of {"path", "key"} instead, or - for standard input',
        to: 'body/mappings',
        kind: 'json',
      },
      {
        flags: '--env <number>',
        description: 'a composed environment instead, by its number',
        to: 'body/environment_id',
        kind: 'number',
      },
      { flags: '--type <type>', description: 'the type of the Secret', to: 'body/secret_type' },
    ],
    says: ({ id }) => `Delivering it (${id}).`,
  });
  action(clusters, {
    usage: 'withdraw <cluster> <delivery>',
    summary: 'Stop delivering a Secret',
    route: 'DELETE /clusters/{cluster_id}/policies/{policy_id}',
    arguments: ['path/cluster_id', 'path/policy_id'],
    says: (_, { delivery }) => `${delivery} is not delivered any more.`,
  });
}
