import type { Command } from 'commander';
import { CommandError } from '../failure.ts';
import { withFreshProof } from '../fresh-session.ts';
import { nameFields } from '../named-fields.ts';
import { note, printJson } from '../output.ts';
import { askHidden, askNewPassword, readInputLines } from '../prompt.ts';
import { wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const command = program
    .command('password')
    .description('Set or change your password; your other sessions and the tokens made with them end')
    .option('--email <address>', 'with the first password of the first owner: the address to log in with')
    .option('--keep-tokens', 'tokens that were made with your sessions go on')
    .option('--revoke-tokens', 'all your other tokens end, too')
    .action((options: PasswordOptions, executed: Command) => change(options, executed))
    .addHelpText(
      'after',
      `
Both passwords are asked for. In a script they are two lines of standard input, the current one first; one line sets a first password.`,
    );
  const standardInput = 'The password';
  nameFields(command, { current_password: standardInput, new_password: standardInput });
}

interface PasswordOptions {
  email?: string;
  keepTokens?: boolean;
  revokeTokens?: boolean;
}

async function change({ email, keepTokens, revokeTokens }: PasswordOptions, command: Command): Promise<void> {
  const passwords = await (process.stdin.isTTY === true ? typedPasswords() : pipedPasswords());
  const body = {
    ...passwords,
    ...(email !== undefined && { email }),
    ...(keepTokens === true && { keep_tokens: true }),
    ...(revokeTokens === true && { revoke_tokens: true }),
  };
  await withFreshProof(command, (coffer) => coffer.call('POST /auth/password', { body }));
  if (wantsJson(command)) return printJson({ changed: true });
  note('Your password is changed. This session goes on.');
}

interface Passwords {
  current_password?: string;
  new_password: string;
}

async function typedPasswords(): Promise<Passwords> {
  const current = await askHidden('Current password (Enter if you have none)');
  const new_password = await askNewPassword();
  return { ...(current !== '' && { current_password: current }), new_password };
}

async function pipedPasswords(): Promise<Passwords> {
  const [first = '', second, more] = await readInputLines();
  if (first === '' || second === '' || more !== undefined)
    throw new CommandError(
      'Standard input must be the current password and the new one, in a line each: nothing was changed.',
    );
  return second === undefined ? { new_password: first } : { current_password: first, new_password: second };
}
