import type { Command } from 'commander';
import type { Coffer } from '../../../client/src/index.ts';
import { CommandError } from '../failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { nameFields } from '../named-fields.ts';
import { note, printJson } from '../output.ts';
import { readProfiles } from '../profiles.ts';
import { askHidden, askNewPassword, readInputLines, readSecretInput } from '../prompt.ts';
import { clientOf, env, wantsJson } from '../settings.ts';
import { urlFor } from './login.ts';

export function register(program: Command): void {
  const signUp = program
    .command('sign-up')
    .description('Sign up for a tenant of your own, where a service offers that');
  nameFields(signUp.command('create <email>'), { password: 'The password' })
    .description('Sign up with a password from a prompt or standard input; a mail brings a token')
    .requiredOption('--organization <name>', 'the name of your organization')
    .action((email: string, options: { organization: string }, command: Command) => create(email, options, command));
  nameFields(signUp.command('verify'), { token: 'The token', password: 'The password' })
    .description(
      'Verify your address by the token of the mail and your password: two lines of standard input, or prompts',
    )
    .option('--replace-password', 'the password is a new one: you forgot yours, or somebody else signed you up')
    .action((options: { replacePassword?: boolean }, command: Command) => verify(options, command));
  signUp
    .command('resend <email>')
    .description('Send the mail again, with a new token')
    .action((email: string, _, command: Command) => resend(email, command));
}

async function anonymous(command: Command): Promise<{ coffer: Coffer; url: string }> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const { current, profiles } = readProfiles();
  const url = await urlFor(options, profiles[current]?.url);
  const caFile = options.caFile ?? env('COFFER_CA_FILE') ?? null;
  return { coffer: clientOf({ url, auth: { anonymous: true }, caFile }), url };
}

const isTyped = () => process.stdin.isTTY === true;

async function create(email: string, { organization }: { organization: string }, command: Command): Promise<void> {
  const { coffer } = await anonymous(command);
  const password = isTyped() ? await askNewPassword() : await readSecretInput('Password');
  const body = { email, password, organization };
  const pending = await coffer.call('POST /saas/signup', { body });
  if (wantsJson(command)) return printJson(pending);
  note('A mail to that address says what comes next: coffer sign-up verify takes its token.');
}

async function verify({ replacePassword }: { replacePassword?: boolean }, command: Command): Promise<void> {
  const { coffer, url } = await anonymous(command);
  const [token, password] = isTyped() ? await typed(replacePassword === true) : await readInputLines();
  if (token === undefined || password === undefined)
    throw new CommandError('Standard input must be the token and the password, in a line each: nothing was done.');
  const body = { token: token.trim(), password, ...(replacePassword === true && { replace_password: true }) };
  const verified = await coffer.call('POST /saas/verify', { body });
  if (wantsJson(command)) return printJson(verified);
  note(`The tenant ${verified.tenant} is yours. Log in: coffer login --url ${url} --tenant ${verified.tenant}`);
}

async function typed(isNew: boolean): Promise<string[]> {
  const token = await askHidden('Token of the mail');
  return [token, isNew ? await askNewPassword() : await askHidden('Password of the sign-up')];
}

async function resend(email: string, command: Command): Promise<void> {
  const { coffer } = await anonymous(command);
  const pending = await coffer.call('POST /saas/resend', { body: { email } });
  if (wantsJson(command)) return printJson(pending);
  note('If somebody signed up with that address, it gets the mail again.');
}
