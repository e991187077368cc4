import type { Command } from 'commander';
import { action, listing } from '../declared.ts';
import { ago } from '../output.ts';

export function register(program: Command): void {
  const keys = program.command('keys').description('Keys with which the service encrypts for programs');
  listing(keys, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the keys',
    route: 'GET /eaas/keys',
    rows: (page) => page.keys,
    columns: [
      { title: 'KEY', of: ({ name }) => name, isFlexible: true },
      { title: 'VERSION', of: ({ latest_version }) => latest_version, isNumber: true },
      { title: 'PROTECTED', of: ({ delete_protection }) => (delete_protection ? 'yes' : 'no') },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'ROTATED', of: ({ rotated_at, created_at }) => ago(rotated_at ?? created_at) },
      { title: 'DESCRIPTION', of: ({ description }) => description, isFlexible: true },
    ],
    empty: 'There is no key that you may see.',
  });
  action(keys, {
    usage: 'create <key>',
    summary: 'Create a key; it is protected from deletion',
    route: 'POST /eaas/keys',
    arguments: ['body/name'],
    options: [{ flags: '--description <text>', description: 'its purpose', to: 'body/description' }],
    says: ({ name }) => `Created the key ${name}.`,
  });
  action(keys, {
    usage: 'update <key>',
    summary: 'Change the description of a key, or its protection from deletion',
    route: 'PATCH /eaas/keys/{name}',
    arguments: ['path/name'],
    options: [
      { flags: '--description <text>', description: 'its purpose', to: 'body/description' },
      { flags: '--protect', description: 'it cannot be deleted', to: 'body/delete_protection', value: true },
      { flags: '--unprotect', description: 'it can be deleted', to: 'body/delete_protection', value: false },
    ],
    says: ({ name, delete_protection }) => `${name} ${delete_protection ? 'cannot' : 'can'} be deleted.`,
  });
  action(keys, {
    usage: 'rotate <key>',
    summary: 'Make a new version, which encrypts from now on; older ones still decrypt',
    route: 'POST /eaas/keys/{name}/rotate',
    arguments: ['path/name'],
    options: [{ flags: '--reason <text>', description: 'why', to: 'body/reason' }],
    says: ({ name, version }) => `Version ${version} of ${name} encrypts from now on.`,
  });
  action(keys, {
    usage: 'delete <key>',
    alias: 'rm',
    summary: 'Destroy a key: what it encrypted can never be opened again',
    route: 'DELETE /eaas/keys/{name}',
    arguments: ['path/name'],
    options: [{ flags: '--reason <text>', description: 'why', to: 'body/reason', isRequired: true }],
    asks: ({ key }) => `Destroy ${key}, and everything that it encrypted?`,
    says: (_, { key }) => `Destroyed the key ${key}.`,
  });
  const aad = {
    flags: '--aad <text>',
    description: 'additional text that the envelope is bound to',
    to: 'body/aad',
  } as const;
  action(keys, {
    usage: 'encrypt <key>',
    summary: 'Encrypt a text from standard input or a prompt, and print the envelope',
    route: 'POST /eaas/keys/{name}/encrypt',
    arguments: ['path/name'],
    options: [{ flags: '--text', description: 'Text', to: 'body/plaintext', kind: 'input' }, aad],
    isRead: true,
    shows: ({ envelope }) => envelope,
  });
  action(keys, {
    usage: 'rewrap <key>',
    summary: 'Bring an envelope from standard input or a prompt to the newest version, without showing its text',
    route: 'POST /eaas/keys/{name}/rewrap',
    arguments: ['path/name'],
    options: [{ flags: '--envelope', description: 'Envelope', to: 'body/envelope', kind: 'input' }, aad],
    isRead: true,
    shows: ({ envelope }) => envelope,
  });
  action(keys, {
    usage: 'decrypt <key>',
    summary: 'Open an envelope from standard input or a prompt, and print the text',
    route: 'POST /eaas/keys/{name}/decrypt',
    arguments: ['path/name'],
    options: [{ flags: '--envelope', description: 'Envelope', to: 'body/envelope', kind: 'input' }, aad],
    isRead: true,
    isValue: true,
    shows: ({ plaintext }) => plaintext,
  });
}
