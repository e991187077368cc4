import { type Command, Option } from 'commander';
import { CommandError, EXIT, nullIfRefused } from '../failure.ts';
import { note, printJson, printTable } from '../output.ts';
import { readStandardInput, readTextFile } from '../prompt.ts';
import { keepsNames } from '../selection.ts';
import { clientOf, prefixOf, type Settings, settingsOf, vaultOf, wantsJson } from '../settings.ts';
import { variableName } from '../variables.ts';
import { refuseBoth, refuseSealed, registerSources } from './migrate.ts';

export function register(program: Command): void {
  const command = program
    .command('import <file>')
    .description('Import a .env file, or a JSON object of paths and values, into a vault; - reads standard input')
    .option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)')
    .option('--prefix <path>', 'put everything below this path')
    .option('--apply', 'write it; otherwise only say what would be written')
    .option('--dry-run', 'only say what would be written, as without --apply')
    .option(
      '--keep-names',
      'do not warn about names with small letters: programs get them unchanged (coffer run --keep-names)',
    )
    .option('--promote', 'allow secrets without an environment in a production vault')
    .addOption(
      new Option('--on-existing <what>', 'what to do with secrets that exist').choices(['update', 'skip', 'fail']),
    )
    .addOption(
      new Option('--format <format>', 'by default json for a name that ends in .json, otherwise dotenv').choices([
        'dotenv',
        'json',
      ]),
    )
    .action((file: string, options: ImportOptions, command: Command) => importFile(file, options, command))
    .addHelpText(
      'after',
      '\nWithout --apply nothing is written. All entries are written or none. Delete the file afterwards: it is not needed any more.',
    );
  registerSources(command);
}

interface ImportOptions {
  vault?: string;
  prefix?: string;
  apply?: boolean;
  dryRun?: boolean;
  promote?: boolean;
  keepNames?: boolean;
  onExisting?: 'update' | 'skip' | 'fail';
  format?: 'dotenv' | 'json';
}

async function importFile(file: string, options: ImportOptions, command: Command): Promise<void> {
  refuseBoth(options);
  const isDryRun = options.apply !== true;
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const text = file === '-' ? await readStandardInput() : readTextFile(file);
  const format = options.format ?? (file.endsWith('.json') ? 'json' : 'dotenv');
  const { promote, onExisting } = options;
  const prefix = options.prefix ?? prefixOf(settings, options);
  const coffer = clientOf(settings);
  const detail = await coffer.vaults.get(vault).catch(nullIfRefused);
  if (detail !== null) refuseSealed(detail);
  const imported = await coffer.call(
    'POST /v1/vaults/{vault}/import',
    {
      path: { vault },
      body: {
        ...(format === 'json' ? { secrets: parseSecrets(text, file) } : { dotenv: text }),
        ...(prefix !== '' && { prefix }),
        ...(isDryRun && { dry_run: true }),
        ...(promote === true && { promote }),
        ...(onExisting !== undefined && { on_existing: onExisting }),
      },
    },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(imported);
  const { created, updated, unchanged, skipped, changes, warnings } = imported;
  if (isDryRun) {
    printTable(
      changes,
      [
        { title: 'CHANGE', of: ({ change }) => change },
        { title: 'PATH', of: ({ path }) => path, isFlexible: true },
        { title: 'VERSION', of: ({ version }) => version, isNumber: true },
      ],
      'The file has no entries.',
    );
  }
  warnOfNames(changes, prefix, settings, options);
  for (const { line, message } of warnings) note(`Line ${line}: ${message}`);
  const summary = `${created} created, ${updated} updated, ${unchanged} unchanged, ${skipped} skipped in ${prefix === '' ? vault : `${vault}/${prefix}`}`;
  note(isDryRun ? `Nothing was written. With --apply it would be: ${summary}.` : `${summary}.`);
}

/** A program that looks for `lower_case` finds nothing if it gets `LOWER_CASE`. */
function warnOfNames(
  changes: readonly { path: string }[],
  prefix: string,
  settings: Settings,
  options: ImportOptions,
): void {
  if (keepsNames(settings, options)) return;
  const changed = changes
    .map(({ path }) => [variableName(path, prefix, true), variableName(path, prefix)] as const)
    .filter(([importedAs, name]) => importedAs !== name);
  if (changed.length === 0) return;
  const shown = changed.slice(0, SHOWN_MAX).map(([importedAs, name]) => `${importedAs} → ${name}`);
  const more = changed.length > SHOWN_MAX ? ` and ${changed.length - SHOWN_MAX} more` : '';
  note(
    `Programs get other names: ${shown.join(', ')}${more}. To keep them: --keep-names with coffer run and export, or once for the project with coffer init.`,
  );
}
const SHOWN_MAX = 10;

function parseSecrets(text: string, file: string): Record<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandError(`${file} is not JSON.`);
  }
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  const entries = isObject ? Object.entries(parsed as object) : [];
  const wrong = entries.find(([, value]) => typeof value !== 'string');
  if (!isObject || wrong !== undefined) {
    const where = wrong === undefined ? '' : ` The value of ${wrong[0]} is not a text.`;
    throw new CommandError(`${file} must be a JSON object of paths and texts.${where}`, EXIT.local);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}
