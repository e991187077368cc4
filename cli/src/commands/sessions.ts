import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { CommandError } from '../failure.ts';
import { ago, note, printJson, printTable } from '../output.ts';
import { confirm, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const sessions = program.command('sessions').description('List and end your sessions');
  sessions
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List your sessions; * is the one of this command')
    .action((_, command: Command) => list(command));
  const ending = (command: Command) => command.option('--keep-tokens', 'tokens that were made with it go on');
  ending(sessions.command('end <session>'))
    .description('End a session, by its id, and the tokens that were made with it')
    .action((id: string, options: Ending, command: Command) => end(id, options, command));
  ending(sessions.command('end-all'))
    .description('End all your sessions but the one of this command, and the tokens that were made with them')
    .option('--yes', 'do not ask')
    .action((options: Ending & { yes?: boolean }, command: Command) => endAll(options, command));
}

interface Ending {
  keepTokens?: boolean;
}

async function list(command: Command): Promise<void> {
  const pages = clientOf(settingsOf(command)).pages('GET /auth/sessions', { query: { limit: 1000 } });
  const sessions = (await collected(pages)).flatMap((page) => page.sessions);
  if (wantsJson(command)) return printJson(sessions);
  printTable(
    sessions,
    [
      { title: '', of: ({ is_current }) => (is_current ? '*' : '') },
      { title: 'SESSION', of: ({ id }) => id },
      { title: 'BY', of: ({ method, factor }) => [method, factor].filter((one) => one !== null).join(' and ') },
      { title: 'FROM', of: ({ address }) => address },
      { title: 'OPENED', of: ({ created_at }) => ago(created_at) },
      { title: 'EXPIRES', of: ({ expires_at }) => ago(expires_at) },
    ],
    'You have no sessions.',
  );
}

async function end(session_id: string, { keepTokens }: Ending, command: Command): Promise<void> {
  const ended = await clientOf(settingsOf(command)).call(
    'DELETE /auth/sessions/{session_id}',
    { path: { session_id }, query: { ...(keepTokens === true && { keep_tokens: true }) } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(ended);
  note(`Ended ${session_id}.`);
}

async function endAll({ keepTokens, yes }: Ending & { yes?: boolean }, command: Command): Promise<void> {
  if (yes !== true) {
    if (!isInteractive()) throw new CommandError('Ending all sessions needs --yes where nobody can be asked.');
    if (!(await confirm('End all your other sessions?'))) return note('Nothing was ended.');
  }
  const ended = await clientOf(settingsOf(command)).call(
    'DELETE /auth/sessions',
    { query: { ...(keepTokens === true && { keep_tokens: true }) } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(ended);
  note(`Ended ${ended.sessions_ended} sessions and ${ended.tokens_ended} tokens. This one goes on.`);
}
