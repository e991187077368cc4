import { readFileSync } from 'node:fs';
import { CommandError } from './failure.ts';
import { printable } from './printable.ts';

const EXIT_INTERRUPTED = 130;
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
  return utf8(Buffer.concat(chunks), 'Standard input');
}

/** The text of a file; one that is no text is refused rather than changed. */
export function readTextFile(file: string): string {
  return utf8(readFileSync(file), file);
}

function utf8(bytes: Buffer, name: string): string {
  const text = bytes.toString('utf8');
  if (Buffer.from(text, 'utf8').equals(bytes)) return text;
  throw new CommandError(`${name} is not UTF-8 text. Encode it first, for example with base64.`);
}

/** A value from standard input without the line break at its end, or typed without being shown. */
export async function readSecretInput(question: string, mayBeEmpty = false): Promise<string> {
  const isTyped = process.stdin.isTTY === true;
  const value = isTyped ? await askHidden(question) : (await readStandardInput()).replace(/\r?\n$/, '');
  // A program that failed before a pipe leaves nothing, which would empty a secret.
  if (value === '' && !mayBeEmpty) throw new CommandError('There is nothing on standard input: nothing was changed.');
  return value;
}

/** For a script that gives several values at once. */
export async function readInputLines(): Promise<string[]> {
  return (await readStandardInput()).replace(/\r?\n$/, '').split(/\r?\n/);
}

/** Asks twice, since what is typed is not shown. */
export async function askNewPassword(): Promise<string> {
  const password = await askHidden('New password, at least 12 characters');
  if ((await askHidden('The same again')) !== password)
    throw new CommandError('The two passwords differ: nothing was done.');
  return password;
}

export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export async function ask(question: string, fallback = ''): Promise<string> {
  refuseWithoutTerminal(question);
  const { createInterface } = await import('node:readline/promises');
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await readline.question(inOneLine(fallback === '' ? question : `${question} [${fallback}]`));
    return answer.trim() || fallback;
  } catch (error) {
    throw (error as Error).name === 'AbortError' ? cancelled() : error;
  } finally {
    readline.close();
  }
}

/** Names in a question come from other people, and must not be able to write over it. */
function inOneLine(question: string): string {
  return `${printable(question).replaceAll(/[\n\t]/g, ' ')}: `;
}

function cancelled(): CommandError {
  return new CommandError('', EXIT_INTERRUPTED);
}

export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N]`));
}

/** What is typed is not shown, and is in no history. */
export async function askHidden(question: string): Promise<string> {
  refuseWithoutTerminal(question);
  const { stdin, stderr } = process;
  // The terminal must not show what is typed from the moment of the prompt.
  stdin.setRawMode(true);
  stderr.write(inOneLine(question));
  stdin.setEncoding('utf8');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const listen = (keys: string) => {
    // What an arrow key or the like sends is not part of a value.
    if (keys.startsWith('\u001b')) return;
    for (const key of keys) {
      if (key === '\r' || key === '\n') return resolve(typed);
      if (key === '\u0003' || (key === '\u0004' && typed === '')) return reject(cancelled());
      if (key === '\u0004') return resolve(typed);
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
