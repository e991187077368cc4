import { type Command, Option } from 'commander';
import type { AuditFilter, Schemas } from '../../../client/src/index.ts';
import { drawActivity, type Span } from '../activity.ts';
import { action } from '../declared.ts';
import { CommandError } from '../failure.ts';
import { jsonText, note, printJson, printTable, red } from '../output.ts';
import { printable } from '../printable.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const audit = program.command('audit').description('Show, follow and verify the audit log');
  filtered(audit.command('list', { isDefault: true }))
    .description('Show the newest entries')
    .option('--limit <number>', 'how many', '50')
    .addOption(new Option('--by <span>', 'draw how much happened in each, instead').choices(['hour', 'day']))
    .action((options: ListOptions, command: Command) => list(options, command));
  filtered(audit.command('tail'))
    .description('Show entries as they are recorded, until you press Ctrl-C')
    .action((options: AuditOptions, command: Command) => tail(options, command));
  audit
    .command('verify')
    .description('Have the service recompute the chain of the log; the exit code is 1 if it is broken')
    .action((_, command: Command) => verify(command));
  registerCheckpoints(audit);
}

/** `coffer-verify` compares an exported log with checkpoints, without the service. */
function registerCheckpoints(audit: Command): void {
  action(audit, {
    usage: 'checkpoint',
    summary: 'Have the service sign the newest entry of the log now',
    route: 'POST /v1/audit/checkpoints',
    says: ({ seq }) =>
      `Signed the log up to entry ${seq}. Store the checkpoints elsewhere: coffer audit checkpoints > FILE`,
  });
  action(audit, {
    usage: 'checkpoints',
    summary: 'Print the newest checkpoints and all keys that signed, as JSON for coffer-verify',
    route: 'GET /v1/audit/checkpoints',
    options: [{ flags: '--limit <number>', description: 'how many', to: 'query/limit', kind: 'number' }],
    isRead: true,
    shows: (page) => JSON.stringify(page),
  });
}

interface AuditOptions {
  vault?: string;
  actor?: string;
  action?: string;
  resource?: string;
  decision?: string;
  from?: string;
  to?: string;
}

function filtered(command: Command): Command {
  return command
    .option('--vault <name>', 'only of this vault')
    .option('--actor <who>', 'only by this person or machine')
    .option('--action <action>', 'only this action; secrets:* is allowed')
    .option('--resource <resource>', 'only this resource; vault/shop/* is allowed')
    .option('--decision <decision>', 'allow, deny or error')
    .option('--from <time>', 'from this time or date on')
    .option('--to <time>', 'until this time or date');
}

function filterOf({ vault, actor, action, resource, decision, from, to }: AuditOptions): AuditFilter {
  const given = Object.entries({ vault, actor, action, resource, decision, from, to });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as AuditFilter;
}

type Entry = Schemas['AuditEntry'];

interface ListOptions extends AuditOptions {
  limit: string;
  by?: Span;
}

async function list(options: ListOptions, command: Command): Promise<void> {
  if (options.by !== undefined) return drawActivity(options.by, filterOf(options), command);
  const limit = Number(options.limit);
  if (!Number.isSafeInteger(limit) || limit < 1) throw new CommandError('--limit must be a number from 1.');
  const entries: Entry[] = [];
  for await (const entry of clientOf(settingsOf(command)).audit.list(filterOf(options))) {
    entries.push(entry);
    if (entries.length >= limit) break;
  }
  if (wantsJson(command)) return printJson(entries);
  printTable(
    entries,
    [
      { title: 'WHEN', of: ({ timestamp }) => timestamp.slice(0, 19).replace('T', ' ') },
      { title: 'WHO', of: ({ actor }) => actor.name || actor.id, isFlexible: true },
      { title: 'ACTION', of: ({ action }) => action },
      { title: 'RESOURCE', of: ({ resource }) => resource, isFlexible: true },
      { title: 'DECISION', of: ({ decision }) => decision },
      { title: 'FROM', of: ({ ip }) => ip },
    ],
    'No entry matches.',
  );
}

/** With `--json` it prints one entry for each line. Its own requests are left out, because each of them would be the next entry. */
async function tail(options: AuditOptions, command: Command): Promise<void> {
  const isJson = wantsJson(command);
  const filter = filterOf(options);
  if (!isJson) note('Following the audit log; Ctrl-C ends it.');
  for await (const entry of clientOf(settingsOf(command)).audit.tail(filter)) {
    if (entry.action === 'audit:list' && options.action === undefined) continue;
    if (isJson) process.stdout.write(`${jsonText(entry)}\n`);
    else process.stdout.write(`${lineOf(entry)}\n`);
  }
}

function lineOf({ timestamp, actor, action, resource, decision, ip }: Entry): string {
  const text = printable(
    `${timestamp.slice(0, 19).replace('T', ' ')}  ${decision}  ${actor.name || actor.id}  ${action}  ${resource}  ${ip}`,
  );
  return decision === 'allow' ? text : red(text);
}

async function verify(command: Command): Promise<void> {
  const verified = await clientOf(settingsOf(command)).call('GET /v1/audit/verify', {}, { timeoutMs: 3_600_000 });
  if (wantsJson(command)) printJson(verified);
  const { valid, entries, checkpoints, first_broken, rows } = verified;
  if (valid)
    return note(`The audit log is whole: ${entries} entries, ${checkpoints} signed checkpoints, ${rows.checked} rows.`);
  const where =
    first_broken === null
      ? `${rows.problems_count} rows were changed`
      : `entry ${first_broken.seq}: ${first_broken.reason}`;
  throw new CommandError(
    `The audit log or what it protects was changed from outside: ${where}. See the guide on the audit log.`,
  );
}
