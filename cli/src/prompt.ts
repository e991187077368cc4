import { CommandError } from './failure.ts';

const STDIN_BYTES_MAX = 8 * 1024 * 1024;

/** Everything on standard input, as text. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of process.stdin) {
    total += (chunk as Buffer).length;
    if (total > STDIN_BYTES_MAX) throw new CommandError('Standard input is larger than 8 MiB.');
    chunks.push(chunk as Buffer);
  }
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) {
    throw new CommandError('Standard input is not UTF-8 text. Encode it first, for example with base64.');
  }
  return text;
}

/** A value from standard input without the line break at its end, or typed without being shown. */
export async function readSecretInput(question: string): Promise<string> {
  if (process.stdin.isTTY === true) return askHidden(question);
  return (await readStandardInput()).replace(/\r?\n$/, '');
}

export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export async function ask(question: string, fallback = ''): Promise<string> {
  refuseWithoutTerminal(question);
  const { createInterface } = await import('node:readline/promises');
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await readline.question(fallback === '' ? `${question}: ` : `${question} [${fallback}]: `);
    return answer.trim() || fallback;
  } finally {
    readline.close();
  }
}

export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N]`));
}

/** What is typed is not shown, and is in no history. */
export async function askHidden(question: string): Promise<string> {
  refuseWithoutTerminal(question);
  const { stdin, stderr } = process;
  // The terminal must not show what is typed from the moment somebody is asked.
  stdin.setRawMode(true);
  stderr.write(`${question}: `);
  stdin.setEncoding('utf8');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const listen = (keys: string) => {
    for (const key of keys) {
      if (key === '\r' || key === '\n' || key === '\u0004') return resolve(typed);
      if (key === '\u0003') return reject(new CommandError('', 130));
      if (key === '\u007f' || key === '\b') typed = [...typed].slice(0, -1).join('');
      else if (key === '\u0015') typed = '';
      else typed += key;
    }
  };
  stdin.on('data', listen);
  stdin.resume();
  try {
    return await promise;
  } finally {
    stdin.off('data', listen);
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

function refuseWithoutTerminal(question: string): void {
  if (!isInteractive())
    throw new CommandError(`"${question}" can only be asked on a terminal. See --help for how to give it.`);
}
