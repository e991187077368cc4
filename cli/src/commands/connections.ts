import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { action, listing } from '../declared.ts';
import { CommandError } from '../failure.ts';
import { nameFields } from '../named-fields.ts';
import { collect, wholeNumber } from '../options.ts';
import { ago, note, print, printJson, printTable } from '../output.ts';
import { sayIfPending } from '../pending.ts';
import { readTextFile } from '../prompt.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const connections = program.command('connections').description('Give machines access');
  connections
    .command('list', { isDefault: true })
    .description('List the connections')
    .action((_, command: Command) => list(command));
  nameFields(withCertificate(connections.command('create <name>')), {
    ...CERTIFICATE_NAMES,
    allowed_paths: '--path',
    ip_allowlist: '--ip',
    scopes: '--scope',
    external_ca_pem: '--trust-ca',
  })
    .description('Create a connection: a client id and secret, and a certificate, for one machine')
    .option('--vault <name>', 'the vault it may use (COFFER_VAULT, or that of the project)')
    .option('--path <paths>', 'only these paths, with commas between them; db/* is allowed', collect)
    .option('--ip <ranges>', 'only from these addresses', collect)
    .option('--scope <scopes>', 'only for this, such as eso:read', collect)
    .option('--mtls', 'it must show its certificate')
    .option('--trust-ca <file>', 'certificates of its own authority, in place of the service’s')
    .action((name: string, options: CreateOptions, command: Command) => create(name, options, command))
    .addHelpText(
      'after',
      `
The credentials are shown once. A program uses them as COFFER_URL, COFFER_CLIENT_ID and COFFER_CLIENT_SECRET_FILE, also with coffer run.`,
    );
  nameFields(withCertificate(connections.command('rotate <connection>')), {
    ...CERTIFICATE_NAMES,
    overlap_seconds: '--overlap',
    client_secret: '--secret',
  })
    .description('Make a new client secret, a new certificate or both, and print them once')
    .option('--secret', 'a new client secret')
    .option('--certificate', 'a new certificate')
    .option('--overlap <seconds>', 'how long those from before still work; not at all unless given', Number)
    .action((id: string, options: RotateOptions, command: Command) => rotate(id, options, command));
  registerChanges(connections);
  connections
    .command('delete <connection>')
    .description('Delete a connection, by number or client id; what it has is refused from then on')
    .action((id: string, _, command: Command) => remove(id, command));
}

const CERTIFICATE_NAMES = { csr_pem: '--csr', certificate_ttl_days: '--days' };

function withCertificate(command: Command): Command {
  return command
    .option('--csr <file>', 'the request for its certificate: the key then never leaves its machine')
    .option('--days <number>', 'how long its certificate is valid', wholeNumber)
    .option(
      '--out <folder>',
      'write the credentials into files there that only you can read, instead of printing them',
    );
}

function registerChanges(connections: Command): void {
  action(connections, {
    usage: 'update <connection>',
    summary: 'Change a connection, or turn it on and off; counts from its next request on',
    route: 'PATCH /v1/app-connections/{connection}',
    arguments: ['path/connection'],
    options: [
      { flags: '--name <name>', description: 'another name', to: 'body/name' },
      { flags: '--path <paths>', description: 'only these paths', to: 'body/allowed_paths', kind: 'list' },
      { flags: '--ip <ranges>', description: 'only from these addresses', to: 'body/ip_allowlist', kind: 'list' },
      { flags: '--scope <scopes>', description: 'only for this, such as eso:read', to: 'body/scopes', kind: 'list' },
      {
        flags: '--sessions <number>',
        description: 'at most so many at a time',
        to: 'body/concurrent_session_limit',
        kind: 'number',
      },
      {
        flags: '--deny <thumbprints>',
        description: 'SHA-256 of certificates that it takes no longer',
        to: 'body/denied_thumbprints',
        kind: 'list',
      },
      { flags: '--enable', description: 'its credentials count again', to: 'body/status', value: 'active' },
      { flags: '--disable', description: 'its credentials count no longer', to: 'body/status', value: 'disabled' },
    ],
    says: ({ name, status }) => `Changed ${name}, which is ${status}.`,
  });
  listing(connections, {
    usage: 'paths',
    summary: 'List what connections can fetch by name, as far as you may see it',
    route: 'GET /app-connections/auto-paths',
    options: [{ flags: '--client <id>', description: 'only for this client id', to: 'query/client_id' }],
    rows: (page) => page.paths,
    columns: [
      { title: 'CLIENT ID', of: ({ client_id }) => client_id },
      { title: 'FETCH', of: ({ path }) => path, isFlexible: true },
    ],
    empty: 'There is nothing that a connection can fetch.',
  });
}

interface CertificateOptions {
  csr?: string;
  days?: number;
  out?: string;
}

interface RotateOptions extends CertificateOptions {
  secret?: boolean;
  certificate?: boolean;
  overlap?: number;
}

interface CreateOptions extends CertificateOptions {
  trustCa?: string;
  vault?: string;
  path?: string[];
  ip?: string[];
  scope?: string[];
  mtls?: boolean;
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
  const { path, ip, scope, mtls, trustCa, out } = options;
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
        ...(trustCa !== undefined && { external_ca_pem: readTextFile(trustCa) }),
        ...certificateFields(options),
      },
    },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (!('client_secret' in created)) {
    if (wantsJson(command)) return printJson(created);
    return void sayIfPending(created);
  }
  show(created, { name, url: settings.url, out }, command);
}

function certificateFields({ csr, days }: CertificateOptions) {
  return {
    ...(csr !== undefined && { csr_pem: readTextFile(csr) }),
    ...(days !== undefined && { certificate_ttl_days: days }),
  };
}

interface Credentials {
  client_id: string;
  client_secret: string | null;
  certificate: string | null;
  private_key: string | null;
  ca_chain: string | null;
}

/** Into files, as JSON, or as lines for a file with variables. */
function show(made: Credentials, to: { name: string; url: string; out: string | undefined }, command: Command): void {
  const { client_id, client_secret, certificate, private_key, ca_chain } = made;
  if (to.out !== undefined) {
    const folder = to.out;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const write = (file: string, text: string | null) =>
      text !== null && writePrivateFile(join(folder, file), `${text.trim()}\n`);
    write('client_id', client_id);
    write('client_secret', client_secret);
    write('client.crt', certificate);
    write('client.key', private_key);
    write('ca-chain.pem', ca_chain);
    note(`Wrote the credentials of ${to.name} (${client_id}) into ${folder}. They cannot be shown again.`);
    return;
  }
  if (wantsJson(command)) {
    printJson(made);
    return;
  }
  print(`COFFER_URL=${to.url}`);
  print(`COFFER_CLIENT_ID=${client_id}`);
  print(`COFFER_CLIENT_SECRET=${client_secret}`);
  note(`The secret cannot be shown again.${certificate === null ? '' : ' With --out its certificate is written too.'}`);
}

async function rotate(connection: string, options: RotateOptions, command: Command): Promise<void> {
  const { secret, certificate, csr, overlap, out } = options;
  const wantsCertificate = certificate === true || csr !== undefined;
  if (secret !== true && !wantsCertificate) throw new CommandError('Give --secret, --certificate or both.');
  if (wantsCertificate && out === undefined && !wantsJson(command))
    throw new CommandError('Give --out FOLDER for the new certificate, or --json.');
  const settings = settingsOf(command);
  const body = {
    ...(secret === true && { client_secret: true }),
    ...(wantsCertificate && { certificate: true }),
    ...(overlap !== undefined && { overlap_seconds: overlap }),
    ...certificateFields(options),
  };
  const made = await clientOf(settings).call(
    'POST /v1/app-connections/{connection}/rotate',
    { path: { connection }, body },
    { idempotencyKey: crypto.randomUUID() },
  );
  show(made, { name: connection, url: settings.url, out }, command);
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
