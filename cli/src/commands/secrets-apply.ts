import type { Command } from 'commander';
import { action, jsonIn, textOf } from '../declared.ts';

/** Several changes as one: the file has what the body of the request has. */
export function registerApply(secrets: Command): void {
  action(secrets, {
    usage: 'apply <file>',
    summary: 'Make the changes in a JSON file (- for standard input), all or none',
    route: 'POST /v1/vaults/{vault}/changes',
    arguments: [{ to: 'body', translate: async (_, file) => jsonIn(await textOf(file), file) }],
    options: [
      {
        flags: '--vault <name>',
        description: 'the vault (COFFER_VAULT, or that of the project)',
        to: 'path/vault',
        kind: 'vault',
      },
      { flags: '--reason <text>', description: 'why, for changes that do not say it themselves', to: 'body/reason' },
    ],
    help: 'The file is {"changes": [{"op": "update", "path": "db/password", "value": "...", "expected_version": 3}]}. op is create, update, delete, move, rotate or rollback.',
    says: ({ changes }) => `Made ${changes.length} ${changes.length === 1 ? 'change' : 'changes'}.`,
  });
}
