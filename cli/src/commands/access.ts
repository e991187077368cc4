import type { Command } from 'commander';
import { action, listing } from '../declared.ts';
import { ago } from '../output.ts';

export function register(program: Command): void {
  registerRequest(program);
  const access = program.command('access').description('List access that was given for a time, and end it');
  listing(access, {
    usage: 'list',
    isDefault: true,
    summary: 'List your access for a time, and that to vaults whose members you may list',
    route: 'GET /v1/access-requests',
    options: [
      { flags: '--vault <name>', description: 'only that to this vault', to: 'query/vault' },
      { flags: '--status <status>', description: 'active or ended', to: 'query/status' },
    ],
    rows: (page) => page.access,
    columns: [
      { title: 'ACCESS', of: ({ id }) => id },
      { title: 'WHO', of: ({ user_id }) => user_id },
      { title: 'ROLE', of: ({ role }) => role },
      { title: 'OF', of: ({ vault, path }) => (path === null ? vault : `${vault}/${path}`), isFlexible: true },
      { title: 'ENDS', of: ({ ended_at, expires_at }) => ago(ended_at ?? expires_at) },
      { title: 'WHAT FOR', of: ({ reason }) => reason, isFlexible: true },
    ],
    empty: 'There is none. Request some: coffer request VAULT --for 8h --reason TEXT',
  });
  action(access, {
    usage: 'end <access>',
    summary: 'End access before its time',
    route: 'DELETE /v1/access-requests/{access_id}',
    arguments: ['path/access_id'],
    says: (_, { access: id }) => `Ended ${id}.`,
  });
}

function registerRequest(program: Command): void {
  action(program, {
    usage: 'request <vault>',
    summary: 'Request access to a vault for a time',
    route: 'POST /v1/access-requests',
    arguments: ['body/vault'],
    options: [
      { flags: '--path <path>', description: 'only the secret at this path, and those below', to: 'body/path' },
      {
        flags: '--role <role>',
        description: 'reader or writer; reader by default',
        to: 'body/role',
        otherwise: 'reader',
      },
      {
        flags: '--for <time>',
        description: 'how long, such as 30m, 8h or 2d',
        to: 'body/ttl_seconds',
        kind: 'duration',
        isRequired: true,
      },
      { flags: '--reason <text>', description: 'what for', to: 'body/reason', isRequired: true },
    ],
    help: 'Somebody who manages the vault decides, or an admin where nobody does: coffer approvals.',
    says: ({ vault, expires_at }) => `You have access to ${vault}, which ends ${ago(expires_at)}.`,
  });
}
