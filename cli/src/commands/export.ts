import { appendFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { CommandError } from '../failure.ts';
import { FORMATS, type Format, formatted, githubEnvironment, githubMasks } from '../formats.ts';
import { note, writeValue } from '../output.ts';
import { addSelectionOptions, readVariables, type SelectionOptions, selectionOf } from '../selection.ts';
import { clientOf, env, settingsOf, wantsJson } from '../settings.ts';
import { refuseLoading } from '../variables.ts';

export function register(program: Command): void {
  addSelectionOptions(program.command('export').description('Print secrets in the form that another program reads'))
    .addOption(new Option('--format <format>', 'what to print').choices(FORMATS).default('dotenv'))
    .option('--name <name>', 'name of the Secret, for k8s', 'coffer')
    .option('--out <file>', 'write into a file that only you can read')
    .action((options: ExportOptions, command: Command) => exportSecrets(options, command))
    .addHelpText(
      'after',
      `
To give secrets to a program, coffer run is safer: nothing is written anywhere. github-actions masks the values in the log of the job and sets
them for its later steps.`,
    );
}

/** Formats that are data for a program, not its environment. */
const DATA: ReadonlySet<Format> = new Set(['json', 'yaml']);

interface ExportOptions extends SelectionOptions {
  format: Format;
  name: string;
  out?: string;
}

async function exportSecrets(options: ExportOptions, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const selection = selectionOf(settings, options);
  const format = wantsJson(command) ? 'json' : options.format;
  const jobFile = format === 'github-actions' ? githubFile() : '';
  const variables = await readVariables(clientOf(settings), selection, options.only);
  // Whatever reads these has the names in its environment.
  if (!DATA.has(format)) for (const name of variables.keys()) refuseLoading(name, options.only);
  if (format === 'github-actions') {
    const lines = githubEnvironment(variables);
    process.stdout.write(githubMasks(variables));
    appendFileSync(jobFile, lines);
    return note(`Set ${variables.size} variables for the later steps of the job.`);
  }
  const text = formatted(variables, format, options.name);
  if (options.out === undefined) return writeValue(text, 'As it is: --out FILE, or a pipe.');
  writePrivateFile(options.out, text);
  note(`Wrote ${variables.size} variables into ${options.out}.`);
}

function githubFile(): string {
  const file = env('GITHUB_ENV');
  if (file === undefined)
    throw new CommandError('--format github-actions works in a job of GitHub Actions only, which sets GITHUB_ENV.');
  return file;
}
