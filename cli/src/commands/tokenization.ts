import type { Command } from 'commander';
import { action } from '../declared.ts';

const VAULT = {
  flags: '--vault <name>',
  description: 'the vault (COFFER_VAULT, or that of the project)',
  to: 'path/vault',
  kind: 'vault',
} as const;

export function register(program: Command): void {
  action(program, {
    usage: 'tokenize',
    summary: 'Store a value from standard input or a prompt, and print a token for it',
    route: 'POST /v1/vaults/{vault}/tokenize',
    options: [
      VAULT,
      { flags: '--value', description: 'Value', to: 'body/value', kind: 'input' },
      {
        flags: '--days <number>',
        description: 'how long it is stored; without end by default',
        to: 'body/ttl_days',
        kind: 'number',
      },
    ],
    shows: ({ token }) => token,
  });
  action(program, {
    usage: 'detokenize <token>',
    summary: 'Print the value of a token',
    route: 'POST /v1/vaults/{vault}/detokenize',
    arguments: ['body/token'],
    options: [VAULT],
    isRead: true,
    isValue: true,
    shows: ({ value }) => value,
  });
}
