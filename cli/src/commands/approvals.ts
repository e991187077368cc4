import type { Command } from 'commander';
import { collected, type Schemas } from '../../../client/src/index.ts';
import { CommandError } from '../failure.ts';
import { ago, green, note, print, printJson, printTable, red } from '../output.ts';
import { printable } from '../printable.ts';
import { confirm, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const approvals = program.command('approvals').description('List and decide approvals');
  approvals
    .command('list', { isDefault: true })
    .description('List approvals that wait')
    .option('--all', 'also those that are decided')
    .action(({ all }: { all?: boolean }, command: Command) => list(all === true, command));
  approvals
    .command('show <approval>')
    .description('Show what would be done')
    .action((id: string, _, command: Command) => show(id, command));
  approvals
    .command('reveal <approval>')
    .description('Print the present and the new value of a waiting change of a secret that you review and may read')
    .option('--path <path>', 'of which secret, if the request changes several')
    .action((id: string, { path }: { path?: string }, command: Command) => reveal(id, path, command));
  approvals
    .command('approve <approval>')
    .description('Approve what is shown')
    .option('--reason <text>', 'why')
    .option('--digest <digest>', 'approve exactly the request with this digest, without being asked')
    .action((id: string, options: Decision, command: Command) => approve(id, options, command));
  approvals
    .command('reject <approval>')
    .description('Reject it')
    .requiredOption('--reason <text>', 'why')
    .action((id: string, { reason = '' }: Decision, command: Command) => reject(id, reason, command));
}

interface Decision {
  reason?: string;
  digest?: string;
}

async function list(isAll: boolean, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const approvals = (
    await collected(
      coffer.pages('GET /approvals', { query: { limit: 1000, ...(!isAll && { status: 'pending' as const }) } }),
    )
  ).flatMap((page) => page.approvals);
  if (wantsJson(command)) return printJson(approvals);
  printTable(
    approvals,
    [
      { title: 'APPROVAL', of: ({ id }) => id },
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'RESOURCE', of: ({ resource }) => resource, isFlexible: true },
      { title: 'BY', of: ({ requested_by }) => requested_by.name, isFlexible: true },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'EXPIRES', of: ({ expires_at }) => ago(expires_at) },
    ],
    'Nothing waits for an approval.',
  );
}

async function show(id: string, command: Command): Promise<void> {
  const approval = await clientOf(settingsOf(command)).call('GET /approvals/{approval_id}', {
    path: { approval_id: id },
  });
  if (wantsJson(command)) return printJson(approval);
  printApproval(approval);
}

async function reveal(approval_id: string, path: string | undefined, command: Command): Promise<void> {
  const values = await clientOf(settingsOf(command)).call('GET /approvals/{approval_id}/values', {
    path: { approval_id },
    query: path === undefined ? {} : { path },
  });
  if (wantsJson(command)) return printJson(values);
  const { before, after } = values;
  if (before !== null) print(red(`- ${printable(before)}`));
  if (after !== null) print(green(`+ ${printable(after)}`));
  else note('The request has no new value: it stays, or the service makes it.');
}

function printApproval(approval: Schemas['ApprovalDetail']): void {
  print(`${approval.id}: ${approval.kind} of ${approval.resource}, ${approval.status}`);
  print(`Requested by ${approval.requested_by.name} ${ago(approval.created_at)}, expires ${ago(approval.expires_at)}`);
  const { request, digest } = approval;
  if (request === null) return;
  print(`${request.method} ${request.path}${request.query === '' ? '' : `?${request.query}`}`);
  for (const [ref, name] of Object.entries(request.names)) print(`  ${ref} is ${name}`);
  if (request.differences.length === 0 && request.body !== null) print(JSON.stringify(request.body, null, 2));
  for (const { what, before, after } of request.differences) {
    print(`${what}:`);
    process.stdout.write(
      `${red(`- ${printable(JSON.stringify(before))}`)}\n${green(`+ ${printable(JSON.stringify(after))}`)}\n`,
    );
  }
  if (digest !== null) print(`Digest ${digest}`);
}

async function approve(id: string, options: Decision, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const path = { approval_id: id };
  let { digest } = options;
  if (digest === undefined) {
    if (!isInteractive())
      throw new CommandError(
        'Give --digest, as coffer approvals show prints it, so that you decide about exactly what you saw.',
      );
    // What is approved is what was shown, whatever becomes of it meanwhile.
    const shown = await coffer.call('GET /approvals/{approval_id}', { path });
    printApproval(shown);
    digest = shown.digest ?? undefined;
    if (digest === undefined) throw new CommandError('You may not decide this approval.');
    if (!(await confirm('Approve this?'))) return note('Nothing was decided.');
  }
  const { reason } = options;
  const decided = await coffer.call(
    'POST /approvals/{approval_id}/approve',
    { path, body: { digest, ...(reason !== undefined && { reason }) } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(decided);
  note(decided.status === 'pending' ? `Approved. ${id} waits for the next level.` : `${id} is ${decided.status}.`);
}

async function reject(id: string, reason: string, command: Command): Promise<void> {
  const decided = await clientOf(settingsOf(command)).call(
    'POST /approvals/{approval_id}/reject',
    { path: { approval_id: id }, body: { reason } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(decided);
  note(`${id} is ${decided.status}.`);
}
