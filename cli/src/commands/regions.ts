import type { Command } from 'commander';
import { type Coffer, collected } from '../../../client/src/index.ts';
import { action, listing } from '../declared.ts';
import { CommandError, EXIT } from '../failure.ts';
import { ago } from '../output.ts';

export function register(program: Command): void {
  const regions = program
    .command('regions')
    .description('The primary region of each tenant, as this region knows it; for operators');
  const tenant = { to: 'path/tenant_id', translate: tenantIdOf } as const;
  listing(regions, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the tenants of all regions',
    route: 'GET /admin/tenant-region',
    rows: (page) => page.tenant_regions,
    columns: [
      { title: 'TENANT', of: ({ name, tenant_id }) => name ?? tenant_id, isFlexible: true },
      { title: 'REGION', of: ({ region }) => region ?? 'none' },
      { title: 'STATE', of: ({ state }) => state },
      { title: 'EPOCH', of: ({ epoch }) => epoch, isNumber: true },
      { title: 'SINCE', of: ({ since }) => ago(since) },
      { title: 'MISSING HERE', of: ({ replica }) => missing(replica), isNumber: true },
    ],
    empty: 'There is no tenant that you may see.',
  });
  action(regions, {
    usage: 'show <tenant>',
    summary: 'Show the region of a tenant, by name or id, and how far the copy here is behind',
    route: 'GET /admin/tenant-region/{tenant_id}',
    arguments: [tenant],
    isRead: true,
    shows: ({ name, tenant_id, region, state, epoch, previous, replica }) =>
      [
        `${name ?? tenant_id}: ${region ?? 'no region'} (${state}, epoch ${epoch}${previous === null ? '' : `, before it ${previous}`})`,
        replica === null
          ? 'no copy here'
          : `missing here: ${missing(replica)} entries, as of ${replica.published_at ?? 'no time that is known'}`,
      ].join('\n'),
  });
  action(regions, {
    usage: 'assign <tenant> <region>',
    summary: 'Assign a tenant that has no region to this one',
    route: 'PUT /admin/tenant-region/{tenant_id}',
    arguments: [tenant, 'body/region'],
    says: ({ name, tenant_id, region }) => `${name ?? tenant_id} belongs to ${region}.`,
  });
  action(regions, {
    usage: 'promote <tenant> <region>',
    summary: 'Make this region the primary one of a tenant; somebody else approves it',
    route: 'POST /admin/tenant-region/{tenant_id}/promote',
    arguments: [tenant, 'body/region'],
    options: [{ flags: '--reason <text>', description: 'why', to: 'body/reason', isRequired: true }],
    says: ({ name, tenant_id, region, state }) => `${region} is the primary region of ${name ?? tenant_id} (${state}).`,
  });
}

function missing(replica: { missing_entries: number | null } | null): string {
  if (replica === null) return '';
  return replica.missing_entries === null ? 'unknown' : String(replica.missing_entries);
}

async function tenantIdOf(coffer: Coffer, given: string): Promise<string> {
  if (given.startsWith('tenant_')) return given;
  const pages = await collected(coffer.pages('GET /admin/tenant-region', { query: { limit: 1000 } }));
  const found = pages.flatMap((page) => page.tenant_regions).filter(({ name }) => name === given);
  if (found.length > 1) throw new CommandError('Several tenants have that name. Give the id: coffer regions --json');
  if (found[0] === undefined)
    throw new CommandError('There is no tenant with that name or id. coffer regions lists them.', EXIT.notFound);
  return found[0].tenant_id;
}
