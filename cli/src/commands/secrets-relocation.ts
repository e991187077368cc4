import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';
import { ago } from '../output.ts';
import { referrersNote } from './secrets-references.ts';

const FIELDS: readonly Field<
  'POST /v1/vaults/{vault}/secrets/{path}/move' | 'POST /v1/vaults/{vault}/secrets/{path}/copy'
>[] = [
  {
    flags: '--vault <name>',
    description: 'the vault (COFFER_VAULT, or that of the project)',
    to: 'path/vault',
    kind: 'vault',
  },
  { flags: '--to-vault <name>', description: 'another vault to bring it to', to: 'body/to_vault' },
  { flags: '--promote', description: 'it belongs into production', to: 'body/promote', value: true },
];

/** Neither shows the value to anybody. */
export function registerRelocation(secrets: Command): void {
  action(secrets, {
    usage: 'move <path> <to>',
    alias: 'mv',
    summary: 'Move a secret with its history, without reading it',
    route: 'POST /v1/vaults/{vault}/secrets/{path}/move',
    arguments: ['path/path', 'body/to_path'],
    options: FIELDS,
    says: ({ path, referred_by }, given) => {
      const moved = `Moved ${given['path']} to ${path}.`;
      return referred_by.length === 0 ? moved : `${moved}\n${referrersNote(referred_by)}`;
    },
  });
  action(secrets, {
    usage: 'copy <path> <to>',
    alias: 'cp',
    summary: 'Copy the newest version of a secret, without reading it',
    route: 'POST /v1/vaults/{vault}/secrets/{path}/copy',
    arguments: ['path/path', 'body/to_path'],
    options: FIELDS,
    says: ({ path }, given) => `Copied ${given['path']} to ${path}.`,
  });
  listing(secrets, {
    usage: 'due <kind>',
    summary: 'List what needs somebody, in all vaults: failed_rotation, rotation or expiry',
    route: 'GET /v1/secrets/due',
    arguments: ['query/kind'],
    options: [
      {
        flags: '--within <days>',
        description: 'how many days to look ahead; 7 by default',
        to: 'query/within_days',
        kind: 'number',
      },
    ],
    rows: (page) => page.secrets,
    columns: [
      { title: 'VAULT', of: ({ vault }) => vault, isFlexible: true },
      { title: 'SECRET', of: ({ path }) => path, isFlexible: true },
      { title: 'WHEN', of: ({ at }) => ago(at) },
      { title: 'WHY', of: ({ failure }) => failure, isFlexible: true },
    ],
    empty: 'Nothing needs anybody.',
  });
}
