import type { Command } from 'commander';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { note, writeValue } from '../output.ts';
import { readStandardInput, readTextFile } from '../prompt.ts';
import { clientOf, settingsOf } from '../settings.ts';
import { renderTemplate } from '../template.ts';

export function register(program: Command): void {
  program
    .command('inject')
    .description('Replace every reference (coffer://vault/path#/field) in a text by what it refers to')
    .option('--in <file>', 'the template; standard input unless given')
    .option('--out <file>', 'write into a file that only you can read; standard output unless given')
    .action((options: { in?: string; out?: string }, command: Command) => inject(options, command))
    .addHelpText(
      'after',
      `
A reference may stand in braces, {{ coffer://shop/db/password }}, which are replaced with it. If one cannot be resolved, nothing is written.`,
    );
}

async function inject(options: { in?: string; out?: string }, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const template = options.in === undefined ? await readStandardInput() : readTextFile(options.in);
  const { text, references } = await renderTemplate(template, (reference) => coffer.secrets.resolve(reference));
  if (options.out === undefined) return writeValue(text, 'As it is: --out FILE, or a pipe.');
  writePrivateFile(options.out, text);
  note(`Wrote ${options.out} with ${references} references filled in.`);
}
