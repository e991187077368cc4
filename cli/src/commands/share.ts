import type { Command } from 'commander';
import { collected, openShare, sealShare, takesPassphrase } from '../../../client/src/index.ts';
import { CommandError } from '../failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { secondsOf } from '../options.ts';
import { ago, note, print, printJson, printTable, writeValue } from '../output.ts';
import { readSecretInput } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const share = program.command('share').description('Hand a value to somebody by a link that opens it once');
  share
    .command('create', { isDefault: true })
    .description('Seal a value from standard input or a prompt, and print its link')
    .option('--for <time>', 'how long it can be opened, such as 30m, 8h or 2d', '24h')
    .option('--views <number>', 'how often it can be opened', '1')
    .option('--passphrase', 'also ask for a passphrase, which you tell in another way')
    .action((options: CreateOptions, command: Command) => create(options, command));
  share
    .command('open')
    .description('Open a link from standard input or a prompt, and print the value')
    .action((_, command: Command) => open(command));
  share
    .command('list')
    .alias('ls')
    .description('List your links')
    .action((_, command: Command) => list(command));
  share
    .command('revoke <share>')
    .description('Revoke a link, so that nobody can open it any more')
    .action((id: string, _, command: Command) => revoke(id, command));
}

interface CreateOptions {
  for: string;
  views: string;
  passphrase?: boolean;
}

async function create(options: CreateOptions, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  const views = Number(options.views);
  if (!Number.isSafeInteger(views) || views < 1) throw new CommandError('--views must be a whole number, such as 1.');
  const expires_in_seconds = secondsOf(options.for, '--for');
  const value = await readSecretInput('Value to share');
  const passphrase = options.passphrase === true ? await readSecretInput('Passphrase for the link') : null;
  const { envelope, key } = await sealShare(value, passphrase);
  const body = { envelope, expires_in_seconds, views };
  const made = await coffer.call('POST /v1/shares', { body }, { idempotencyKey: crypto.randomUUID() });
  const base = settings.url.endsWith('/') ? settings.url : `${settings.url}/`;
  const link = `${base}s/${made.id}#${key}`;
  if (wantsJson(command)) return printJson({ ...made, link });
  print(link);
  note(`It can be opened ${views === 1 ? 'once' : `${views} times`}, and ends ${ago(made.expires_at)}.`);
}

const LINK = /^(https?:\/\/[^\s#]+)\/s\/(share_[0-9a-z]+)#([A-Za-z0-9_-]{43})$/;

/** The link is no argument, because other users can see those and it has the key. */
async function open(command: Command): Promise<void> {
  const [, url, share_id, key] = LINK.exec((await readSecretInput('Link')).trim()) ?? [];
  if (url === undefined || share_id === undefined || key === undefined)
    throw new CommandError('This is no complete link: it ends in /s/share_...#KEY.');
  const opened = await openedAt(url, share_id, command);
  const passphrase = takesPassphrase(opened.envelope) ? await readSecretInput('Passphrase of the link') : null;
  const value = await openShare(opened.envelope, key, passphrase);
  if (wantsJson(command)) return printJson({ value, views_left: opened.views_left });
  writeValue(value, 'As it is: a pipe.');
}

/** Nobody needs an account to open a link, and no credential is sent to where it points. */
async function openedAt(url: string, share_id: string, command: Command) {
  const { caFile = null } = command.optsWithGlobals<GlobalOptions>();
  const coffer = clientOf({ url, auth: { anonymous: true }, caFile });
  return coffer.call('POST /v1/shares/{share_id}/open', { path: { share_id } });
}

async function list(command: Command): Promise<void> {
  const pages = clientOf(settingsOf(command)).pages('GET /v1/shares', { query: { limit: 1000 } });
  const shares = (await collected(pages)).flatMap((page) => page.shares);
  if (wantsJson(command)) return printJson(shares);
  printTable(
    shares,
    [
      { title: 'SHARE', of: ({ id }) => id },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'OPENED', of: ({ views, views_left }) => `${views - views_left} of ${views}` },
      { title: 'ENDS', of: ({ expires_at }) => ago(expires_at) },
    ],
    'You shared nothing. Share a value: coffer share',
  );
}

async function revoke(share_id: string, command: Command): Promise<void> {
  const revoked = await clientOf(settingsOf(command)).call(
    'DELETE /v1/shares/{share_id}',
    { path: { share_id } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(revoked);
  note(`Revoked ${share_id}.`);
}
