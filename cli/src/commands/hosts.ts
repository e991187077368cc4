import type { Command } from 'commander';
import { action, listing } from '../declared.ts';
import { ago } from '../output.ts';

export function register(program: Command): void {
  const hosts = program
    .command('hosts')
    .description('Accounts and SSH keys on Linux hosts, and which of them should not be there');
  listing(hosts, {
    usage: 'accounts',
    isDefault: true,
    summary: 'List the accounts that hosts report',
    route: 'GET /endpoint-discovery/accounts',
    options: [
      { flags: '--host <name>', description: 'only of this host, by name or id', to: 'query/host' },
      { flags: '--account <name>', description: 'only of this name', to: 'query/username' },
      { flags: '--key-type <type>', description: 'only with a key such as ssh-rsa', to: 'query/key_type' },
    ],
    rows: (page) => page.accounts,
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'HOST', of: ({ hostname }) => hostname, isFlexible: true },
      { title: 'ACCOUNT', of: ({ username }) => username, isFlexible: true },
      { title: 'KEYS', of: ({ ssh_keys_count }) => ssh_keys_count, isNumber: true },
      {
        title: 'LAST SEEN',
        of: ({ last_seen_at, is_present }) => (is_present ? ago(last_seen_at) : `gone ${ago(last_seen_at)}`),
      },
    ],
    empty: 'No host has reported such an account.',
  });
  action(hosts, {
    usage: 'account <id>',
    summary: 'Show an account with its keys',
    route: 'GET /endpoint-discovery/accounts/{account_id}',
    arguments: ['path/account_id'],
    isRead: true,
    shows: ({ hostname, username, uid, ssh_keys }) =>
      [
        `${username} (${uid}) on ${hostname}`,
        ...ssh_keys.map(({ type, fingerprint_sha256, comment }) =>
          `  ${type} ${fingerprint_sha256} ${comment}`.trimEnd(),
        ),
      ].join('\n'),
  });
  listing(hosts, {
    usage: 'drift',
    summary: 'List what does not fit the members of vaults',
    route: 'GET /endpoint-discovery/drift',
    options: [
      {
        flags: '--kind <kind>',
        description: 'orphan_account, former_employee_key or missing_key',
        to: 'query/kind',
      },
    ],
    rows: (page) => page.drift,
    columns: [
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'HOST', of: ({ hostname }) => hostname, isFlexible: true },
      { title: 'ACCOUNT', of: ({ username }) => username, isFlexible: true },
      { title: 'PERSON', of: ({ email }) => email, isFlexible: true },
      { title: 'KEY', of: ({ fingerprint_sha256 }) => fingerprint_sha256 },
    ],
    empty: 'Everything fits.',
  });
  action(hosts, {
    usage: 'stats',
    summary: 'Count hosts, accounts, keys and what does not fit',
    route: 'GET /endpoint-discovery/stats',
    isRead: true,
    shows: ({ hosts_scanned, accounts, ssh_keys, drift }) =>
      `${hosts_scanned} hosts, ${accounts} accounts, ${ssh_keys} keys, ${drift} that do not fit`,
  });
  action(hosts, {
    usage: 'link <id> <who>',
    summary: 'Say whose account it is, by e-mail address or id',
    route: 'POST /endpoint-discovery/accounts/{account_id}/link',
    arguments: ['path/account_id', 'body/user'],
    says: ({ username, hostname }, { who }) => `${username} on ${hostname} is the account of ${who}.`,
  });
  action(hosts, {
    usage: 'unlink <id>',
    summary: 'Remove such a link',
    route: 'POST /endpoint-discovery/accounts/{account_id}/link',
    arguments: ['path/account_id'],
    options: [{ flags: '--user', description: '', to: 'body/user', kind: 'fixed', otherwise: null }],
    says: ({ username, hostname }) => `${username} on ${hostname} is no longer linked.`,
  });
}
