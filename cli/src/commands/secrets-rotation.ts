import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Coffer, unlessPending } from '../../../client/src/index.ts';
import { action, type Field } from '../declared.ts';
import { CommandError, EXIT } from '../failure.ts';
import { nameFields } from '../named-fields.ts';
import { wholeNumber } from '../options.ts';
import { ago, note, printJson } from '../output.ts';
import { readSecretInput } from '../prompt.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

type Update = 'PUT /v1/vaults/{vault}/secrets/{path}';

const VAULT: Field<Update> = {
  flags: '--vault <name>',
  description: 'the vault (COFFER_VAULT, or that of the project)',
  to: 'path/vault',
  kind: 'vault',
};

/** Settings of rotation, and the login of a database in one step. */
export function registerRotation(secrets: Command): void {
  action(secrets, {
    usage: 'rotation <path>',
    summary: 'Have a value replaced regularly, or no longer',
    route: 'PUT /v1/vaults/{vault}/secrets/{path}',
    arguments: ['path/path'],
    options: [
      VAULT,
      { flags: '--every <days>', description: 'how often', to: 'body/rotation/interval_days', kind: 'number' },
      {
        flags: '--length <number>',
        description: 'how many characters a new value has',
        to: 'body/rotation/generator/length',
        kind: 'number',
      },
      {
        flags: '--charset <charset>',
        description: 'alphanumeric, ascii, hex, base64url or digits',
        to: 'body/rotation/generator/charset',
      },
      {
        flags: '--postgres',
        description: 'the value is a login of PostgreSQL, whose password is changed there too',
        to: 'body/rotation/backend/kind',
        value: 'postgres_role',
      },
      { flags: '--off', description: 'no longer', to: 'body/rotation', value: null },
    ],
    says: ({ next_rotation }, { path }) =>
      next_rotation === null ? `${path} is not rotated by itself.` : `${path} is rotated ${ago(next_rotation)}.`,
  });
  nameFields(secrets.command('postgres <path>'), { interval_days: '--every' })
    .description('Store a login of PostgreSQL and replace its password at once, and then regularly')
    .requiredOption('--host <host>', 'the server')
    .option('--port <port>', 'its port', wholeNumber, 5432)
    .requiredOption('--database <name>', 'the database')
    .requiredOption('--user <name>', 'the role; its password comes from standard input or a prompt')
    .option('--every <days>', 'how often it is replaced', wholeNumber, 30)
    .option('--no-tls', 'the server has no TLS, and its address is private')
    .option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)')
    .action((path: string, options: LoginOptions, command: Command) => addLogin(path, options, command));
}

interface LoginOptions {
  host: string;
  port: number;
  database: string;
  user: string;
  every: number;
  tls: boolean;
  vault?: string;
}

async function addLogin(path: string, options: LoginOptions, command: Command): Promise<void> {
  const { host, port, database, user, every, tls } = options;
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  const vault = vaultOf(settings, options.vault);
  const password = await readSecretInput(`Password of ${user}`);
  const login = { host, port, database, username: user, password, ...(!tls && { tls: false }) };
  const created = await coffer.call(
    'POST /v1/vaults/{vault}/secrets',
    {
      path: { vault },
      body: {
        path,
        type: 'database',
        value: JSON.stringify(login),
        rotation: { interval_days: every, backend: { kind: 'postgres_role' } },
      },
    },
    { idempotencyKey: crypto.randomUUID() },
  );
  unlessPending(created);
  await coffer.secrets.rotate(vault, path, { reason: 'stored by coffer secrets postgres' });
  const rotated = await finished(coffer, vault, path);
  if (wantsJson(command)) return printJson(rotated);
  note(`Rotated ${vault}/${path}: version ${rotated.version}. It is rotated again ${ago(rotated.next_rotation)}.`);
}

/** Waits while the service changes the password at the server. */
async function finished(coffer: Coffer, vault: string, path: string) {
  const until = Date.now() + WAITED_MS;
  for (;;) {
    const { value: _, ...secret } = await coffer.call('GET /v1/vaults/{vault}/secrets/{path}', {
      path: { vault, path },
    });
    const status = secret.rotation_status;
    if (status?.status === 'completed') return secret;
    if (status?.status === 'failed')
      throw new CommandError(
        `The login is stored, but its password is still the old one: ${status.failure}. See the guide on rotation; coffer secrets rotate ${path} tries again.`,
        EXIT.refused,
      );
    if (Date.now() > until)
      throw new CommandError(
        `The rotation of ${path} is still under way. coffer secrets history ${path} shows when it is done.`,
        EXIT.remote,
      );
    await sleep(POLL_MS);
  }
}
const WAITED_MS = 60_000;
const POLL_MS = 500;
