import { appendFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { Coffer } from '../../../client/src/index.ts';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { CommandError, nullIfRefused } from '../failure.ts';
import { FORMATS, type Format, formatted, githubEnvironment, githubMasks } from '../formats.ts';
import { note, writeValue } from '../output.ts';
import { withProgress } from '../progress.ts';
import {
  addSelectionOptions,
  readVariables,
  type Selection,
  type SelectionOptions,
  selectionOf,
} from '../selection.ts';
import { clientOf, env, settingsOf, wantsJson } from '../settings.ts';
import { refuseLoading, type Variables } from '../variables.ts';

export function register(program: Command): void {
  addSelectionOptions(program.command('export').description('Print secrets in the form that another program reads'))
    .addOption(new Option('--format <format>', 'what to print').choices(FORMATS).default('dotenv'))
    .option('--name <name>', 'name of the Secret, for k8s', 'coffer')
    .option('--skip-unsafe', 'leave out, and name, what the format cannot have or programs would read differently')
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
  skipUnsafe?: boolean;
}

async function exportSecrets(options: ExportOptions, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const selection = selectionOf(settings, options);
  const format = wantsJson(command) ? 'json' : options.format;
  const jobFile = format === 'github-actions' ? githubFile() : '';
  const all = await readWithProgress(clientOf(settings), selection, options.only);
  const variables = options.skipUnsafe === true ? withoutUnsafe(all, format, options) : all;
  refuseUnsafe(variables, format, options);
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

/** How many secrets there are is known of a whole vault, if the caller may see it. */
function readWithProgress(coffer: Coffer, selection: Selection, only: readonly string[] | undefined) {
  return withProgress(async (progress) => {
    const isWhole = 'vault' in selection && selection.prefix === '';
    const detail = progress.isShown && isWhole ? await coffer.vaults.get(selection.vault).catch(nullIfRefused) : null;
    progress.begin({ title: 'Reading', unit: 'secrets', total: detail?.secrets_count ?? null });
    return readVariables(coffer, selection, only, (read) => progress.reach(read));
  });
}

/** Whatever reads other formats than data has the names in its environment. */
function refuseUnsafe(variables: Variables, format: Format, { only, name }: ExportOptions): void {
  if (!DATA.has(format)) for (const one of variables.keys()) refuseLoading(one, only);
  if (format === 'github-actions') githubEnvironment(variables);
  else formatted(variables, format, name);
}

function withoutUnsafe(variables: Variables, format: Format, options: ExportOptions): Variables {
  const safe = new Map<string, string>();
  for (const [name, value] of variables) {
    try {
      refuseUnsafe(new Map([[name, value]]), format, options);
      safe.set(name, value);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      note(`Left out: ${error.message}`);
    }
  }
  return safe;
}

function githubFile(): string {
  const file = env('GITHUB_ENV');
  if (file === undefined)
    throw new CommandError('--format github-actions works in a job of GitHub Actions only, which sets GITHUB_ENV.');
  return file;
}
