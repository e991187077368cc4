import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { nameFields } from '../named-fields.ts';
import { collect } from '../options.ts';
import { ago, note, print, printJson, printTable } from '../output.ts';
import { sayIfPending } from '../pending.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const connections = program.command('connections').description('Give machines access');
  connections
    .command('list', { isDefault: true })
    .description('List the connections')
    .action((_, command: Command) => list(command));
  nameFields(connections.command('create <name>'), { allowed_paths: '--path', ip_allowlist: '--ip', scopes: '--scope' })
    .description('Create a connection: a client id and secret, and a certificate, for one machine')
    .option('--vault <name>', 'the vault it may use (COFFER_VAULT, or that of the project)')
    .option('--path <paths>', 'only these paths, with commas between them; db/* is allowed', collect)
    .option('--ip <ranges>', 'only from these addresses', collect)
    .option('--scope <scopes>', 'only for this, such as eso:read', collect)
    .option('--mtls', 'it must show its certificate')
    .option('--out <folder>', 'write the credentials into files there that only you can read, instead of printing them')
    .action((name: string, options: CreateOptions, command: Command) => create(name, options, command))
    .addHelpText(
      'after',
      `
The credentials are shown once. A program uses them as COFFER_URL, COFFER_CLIENT_ID and COFFER_CLIENT_SECRET_FILE, also with coffer run.`,
    );
  connections
    .command('delete <connection>')
    .description('Delete a connection, by number or client id; what it has is refused from then on')
    .action((id: string, _, command: Command) => remove(id, command));
}

interface CreateOptions {
  vault?: string;
  path?: string[];
  ip?: string[];
  scope?: string[];
  mtls?: boolean;
  out?: string;
}

async function list(command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const app_connections = (
    await collected(coffer.pages('GET /v1/app-connections', { query: { limit: 1000 } }))
  ).flatMap((page) => page.app_connections);
  if (wantsJson(command)) return printJson(app_connections);
  printTable(
    app_connections,
    [
      { title: 'NO', of: ({ id }) => id, isNumber: true },
      { title: 'CONNECTION', of: ({ name }) => name, isFlexible: true },
      { title: 'CLIENT ID', of: ({ client_id }) => client_id },
      { title: 'VAULT', of: ({ vault }) => vault, isFlexible: true },
      { title: 'PATHS', of: ({ allowed_paths }) => allowed_paths.join(' '), isFlexible: true },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'CREATED', of: ({ created_at }) => ago(created_at) },
    ],
    'There is no connection that you may see.',
  );
}

async function create(name: string, options: CreateOptions, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const { path, ip, scope, mtls, out } = options;
  const created = await clientOf(settings).call(
    'POST /v1/app-connections',
    {
      body: {
        name,
        vault: vaultOf(settings, options.vault),
        mtls_required: mtls === true,
        ...(path !== undefined && { allowed_paths: path }),
        ...(scope !== undefined && { scopes: scope }),
        ...(ip !== undefined && { ip_allowlist: ip }),
      },
    },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (!('client_secret' in created)) {
    if (wantsJson(command)) return printJson(created);
    return void sayIfPending(created);
  }
  if (out !== undefined) {
    mkdirSync(out, { recursive: true, mode: 0o700 });
    const write = (file: string, text: string | null) =>
      text !== null && writePrivateFile(join(out, file), `${text.trim()}\n`);
    write('client_id', created.client_id);
    write('client_secret', created.client_secret);
    write('client.crt', created.certificate);
    write('client.key', created.private_key);
    write('ca-chain.pem', created.ca_chain);
    return note(`Wrote the credentials of ${name} (${created.client_id}) into ${out}. They cannot be shown again.`);
  }
  if (wantsJson(command)) return printJson(created);
  print(`COFFER_URL=${settings.url}`);
  print(`COFFER_CLIENT_ID=${created.client_id}`);
  print(`COFFER_CLIENT_SECRET=${created.client_secret}`);
  note('The secret cannot be shown again. With --out its certificate is written too.');
}

async function remove(id: string, command: Command): Promise<void> {
  const deleted = await clientOf(settingsOf(command)).call(
    'DELETE /v1/app-connections/{connection}',
    { path: { connection: id } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(deleted);
  note(`Deleted the connection ${id}.`);
}
