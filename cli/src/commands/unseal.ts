import type { Command } from 'commander';
import { StartError } from '../../../server/src/operator/index.ts';
import { isInteractive, readInputLines, readSecretInput } from '../prompt.ts';

const TIMEOUT_MS = 15_000;
const URL_DEFAULT = 'http://127.0.0.1:7400';

interface State {
  sealed: boolean;
  shares: { set_id: string; made_on: string; needed: number; parts: number; entered: number } | null;
}

/** `coffer server unseal`: gives shares of the root key to a node that waits for them. */
export function registerUnseal(server: Command): void {
  server
    .command('unseal')
    .description('Enter shares of the root key on a node that waits for them')
    .option('--node <url>', 'where the node listens', URL_DEFAULT)
    .addHelpText(
      'after',
      '\nA share is typed, or comes from standard input, one in a line. Each person may enter theirs in a command of their own. Use https unless the node is on this machine.',
    )
    .action(async ({ node: url }: { node: string }) => {
      let state = await send(url, null);
      if (!state.sealed) return report(state);
      if (!isInteractive()) {
        for (const line of (await readInputLines()).filter((each) => each.trim() !== ''))
          if (state.sealed) state = await send(url, line);
        return report(state);
      }
      while (state.sealed) {
        report(state);
        state = await send(url, await readSecretInput('One share'));
      }
      report(state);
    });
}

function report({ sealed, shares }: State): void {
  if (!sealed) return void process.stdout.write('Enough shares were entered: the node starts.\n');
  if (shares === null) throw new StartError('This node takes no shares. It starts when one of its seals opens.');
  const { entered, needed, set_id, made_on } = shares;
  process.stdout.write(`${entered} of ${needed} shares of set ${set_id}, made on ${made_on}, were entered.\n`);
}

async function send(url: string, share: string | null): Promise<State> {
  let response: Response;
  try {
    response = await fetch(new URL('/unseal', url), {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
      ...(share !== null && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ share }),
      }),
    });
  } catch {
    throw new StartError('The node cannot be reached: check --node, and that it runs.');
  }
  const body = (await response.json().catch(() => null)) as (State & { error?: { message?: string } }) | null;
  if (response.status === 200 && body !== null) return body;
  // A node that serves knows no such path.
  if (response.status === 404 || response.status === 401)
    throw new StartError('This node is not sealed: it serves already.');
  throw new StartError(body?.error?.message ?? `The node answered ${response.status}.`);
}
