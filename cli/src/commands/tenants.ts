import type { Command } from 'commander';
import { type Coffer, collected } from '../../../client/src/index.ts';
import { action, type Field, listing } from '../declared.ts';
import { CommandError, EXIT } from '../failure.ts';
import { ago } from '../output.ts';

const LIMITS: readonly Field<'POST /v1/tenants' | 'PATCH /v1/tenants/{tenant_id}'>[] = [
  { flags: '--plan <plan>', description: 'starter, professional or enterprise', to: 'body/plan' },
  {
    flags: '--limit <class=number>',
    description: 'requests a minute of its own: read, write, rotate or aggregate',
    to: 'body/rate_limits',
    kind: 'limits',
  },
];

export function register(program: Command): void {
  const tenants = program.command('tenants').description('The tenants of the installation, for its operator');
  listing(tenants, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the tenants',
    route: 'GET /v1/tenants',
    rows: (page) => page.tenants,
    columns: [
      { title: 'TENANT', of: ({ name }) => name, isFlexible: true },
      { title: 'ID', of: ({ id }) => id },
      { title: 'PLAN', of: ({ plan }) => plan },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'CREATED', of: ({ created_at }) => ago(created_at) },
    ],
    empty: 'There is no tenant that you may see.',
  });
  action(tenants, {
    usage: 'create <name>',
    summary: 'Create a tenant, and print the token of its first owner once',
    route: 'POST /v1/tenants',
    arguments: ['body/name'],
    options: [
      { flags: '--owner <email>', description: 'its first owner', to: 'body/owner_email', isRequired: true },
      ...LIMITS,
    ],
    shows: ({ owner }) => owner.token,
    says: ({ name, plan, owner }) =>
      `Created the tenant ${name} (${plan}). This is the token of ${owner.email}, which cannot be shown again.`,
  });
  action(tenants, {
    usage: 'update <tenant>',
    summary: 'Change the plan or limits of a tenant, by name or id, or suspend it',
    route: 'PATCH /v1/tenants/{tenant_id}',
    arguments: [{ to: 'path/tenant_id', translate: tenantIdOf }],
    options: [
      ...LIMITS,
      {
        flags: '--suspend',
        description: 'all its credentials are refused; nothing is deleted',
        to: 'body/status',
        value: 'suspended',
      },
      { flags: '--activate', description: 'its credentials count again', to: 'body/status', value: 'active' },
    ],
    says: ({ name, plan, status }) => `${name} is ${status}, on the plan ${plan}.`,
  });
}

async function tenantIdOf(coffer: Coffer, given: string): Promise<string> {
  if (given.startsWith('tenant_')) return given;
  const pages = await collected(coffer.pages('GET /v1/tenants', { query: { limit: 1000 } }));
  const found = pages.flatMap((page) => page.tenants).find(({ name }) => name === given);
  if (found === undefined)
    throw new CommandError('There is no tenant with that name or id. coffer tenants lists them.', EXIT.notFound);
  return found.id;
}
