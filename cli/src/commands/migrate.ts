import { type Command, Option } from 'commander';
import { CommandError, EXIT } from '../failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { apply, isWritten } from '../migrate/apply.ts';
import { planOf } from '../migrate/plan.ts';
import { printReport } from '../migrate/report.ts';
import type { Reading } from '../migrate/source.ts';
import { prefixSegments } from '../migrate/target-path.ts';
import { type KeysAs, wantedSecrets } from '../migrate/wanted-secrets.ts';
import { note } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { clientOf, settingsOf, vaultOf } from '../settings.ts';

interface MigrateOptions extends GlobalOptions {
  vault?: string;
  prefix?: string;
  keys?: KeysAs;
  apply?: boolean;
  overwrite?: boolean;
  promote?: boolean;
  mount: string;
  path?: string;
  versions: 'all' | 'newest';
  kv?: '1' | '2';
  project?: string;
  config?: string;
  environment?: string;
  /** Options of importing a file, which the verb takes for all. */
  dryRun?: boolean;
  onExisting?: string;
  format?: string;
}

/** Adds `vault`, `openbao`, `infisical`, `doppler` and `aws-sm` to the verb `import`. */
export function registerSources(importCommand: Command): void {
  for (const [product, name] of [
    ['vault', 'Vault'],
    ['openbao', 'OpenBao'],
  ] as const) {
    const prefix = product === 'vault' ? 'VAULT' : 'BAO';
    source(importCommand, product, `Migrate a KV engine of ${name}, with its history`)
      .addOption(keysOption())
      .option('--mount <mount>', 'where the KV engine is', 'secret')
      .option('--path <folder>', 'only this folder of it')
      .addOption(new Option('--versions <which>', 'which versions to take').choices(['all', 'newest']).default('all'))
      .addOption(
        new Option('--kv <version>', 'the version of the engine, if the token may not ask').choices(['1', '2']),
      )
      .addHelpText(
        'after',
        `\nSet ${prefix}_ADDR and ${prefix}_TOKEN; ${prefix}_NAMESPACE and ${prefix}_CACERT are used too. ${DRY_RUN}`,
      )
      .action((_: unknown, command: Command) =>
        migrate(name, command, async ({ mount, path = '', versions, kv = null }) => {
          const { readVaultKv } = await import('../migrate/vault-kv.ts');
          return readVaultKv(product, { mount, folder: path, versions, kv });
        }),
      );
  }
  source(importCommand, 'infisical', 'Migrate an environment of a project of Infisical')
    .argument('[file]', 'the output of infisical export --format=json, or - for standard input')
    .option('--project <id>', 'by the API: the id of the project')
    .option('--environment <slug>', 'by the API: the environment, such as prod')
    .option('--path <folder>', 'by the API: only this folder', '/')
    .addHelpText('after', `\nWithout a file set INFISICAL_TOKEN; INFISICAL_API_URL is used too. ${DRY_RUN}`)
    .action((file: string | undefined, _: unknown, command: Command) =>
      migrate('Infisical', command, async ({ project = null, environment = null, path: folder = '/' }) => {
        const { readInfisical } = await import('../migrate/infisical.ts');
        return readInfisical({ file: file ?? null, project, environment, folder });
      }),
    );
  source(importCommand, 'doppler', 'Migrate a config of Doppler')
    .argument('[file]', 'the output of doppler secrets download --no-file --format json, or - for standard input')
    .option('--project <name>', 'by the API: the project')
    .option('--config <name>', 'by the API: the config')
    .addHelpText('after', `\nWithout a file set DOPPLER_TOKEN. ${DRY_RUN}`)
    .action((file: string | undefined, _: unknown, command: Command) =>
      migrate('Doppler', command, async ({ project = null, config = null }) => {
        const { readDoppler } = await import('../migrate/doppler.ts');
        return readDoppler({ file: file ?? null, project, config });
      }),
    );
  source(importCommand, 'aws-sm', 'Migrate secrets of AWS Secrets Manager')
    .argument(
      '<file>',
      'the output of aws secretsmanager batch-get-secret-value or get-secret-value, or - for standard input',
    )
    .addOption(keysOption())
    .addHelpText('after', `\n${DRY_RUN}`)
    .action((file: string, _: unknown, command: Command) =>
      migrate('AWS Secrets Manager', command, async () => {
        const { readAwsSecretsManager } = await import('../migrate/aws-sm.ts');
        return readAwsSecretsManager(file);
      }),
    );
}

const DRY_RUN = 'Without --apply nothing is written.';

function source(importCommand: Command, name: string, description: string): Command {
  // Options of the verb are for files, or stand among those of the source already.
  const visibleGlobalOptions = (): Option[] => [...(importCommand.parent?.options ?? [])];
  return importCommand
    .command(name)
    .description(description)
    .configureHelp({ ...importCommand.configureHelp(), visibleGlobalOptions })
    .option('--vault <vault>', 'the vault to write to')
    .option('--prefix <path>', 'put everything below this path')
    .option('--apply', 'write it; otherwise only say what would be written')
    .option('--overwrite', 'replace values that differ and that the source never had')
    .option('--promote', 'the vault is a production vault, and the secrets are production secrets');
}

function keysOption(): Option {
  return new Option('--keys <as>', 'what an entry with keys becomes: a secret for each, or one of type json')
    .choices(['paths', 'json'])
    .default('paths');
}

/** One rule for files and other products: nothing is written unless `--apply` is given. */
export function refuseBoth({ dryRun, apply }: { dryRun?: boolean; apply?: boolean }): void {
  if (dryRun === true && apply === true) throw new CommandError('Give --dry-run or --apply, one of them.');
}

/** The service would refuse values that are not sealed, but only after they were sent. */
export function refuseSealed({ name, is_zero_knowledge }: { name: string; is_zero_knowledge: boolean }): void {
  if (is_zero_knowledge)
    throw new CommandError(
      `${name} is a zero-knowledge vault, whose values only a client seals. Choose another vault.`,
    );
}

async function migrate(
  name: string,
  command: Command,
  read: (options: MigrateOptions) => Promise<Reading>,
): Promise<void> {
  const options = command.optsWithGlobals<MigrateOptions>();
  refuseBoth(options);
  if (options.onExisting !== undefined || options.format !== undefined)
    throw new CommandError('--on-existing and --format are for files. See --help for what this source takes.');
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const prefix = options.prefix === undefined ? [] : prefixSegments(options.prefix);
  if (prefix === null)
    throw new CommandError('--prefix must be a path such as shop/web, of letters, digits and . _ @ + = -');
  const coffer = clientOf(settings);
  const detail = await coffer.vaults.get(vault);
  refuseSealed(detail);
  const { environment } = detail;
  const isPromoting = options.promote === true;
  const needsPromotion = environment === 'production' && !isPromoting;

  note(`Reading ${name} …`);
  const { secrets, skipped } = wantedSecrets(await read(options), { keysAs: options.keys ?? 'paths', prefix });
  const steps = await planOf(coffer, vault, secrets, options.overwrite === true);
  const report = { source: name, vault, isJson: options.json === true, steps, skipped };
  if (options.apply !== true) {
    printReport({ ...report, applied: null, isStopped: false });
    if (needsPromotion) note(`${vault} is a production vault: --apply needs --promote.`);
    return;
  }
  if (needsPromotion)
    throw new CommandError(`${vault} is a production vault. If these are production secrets, add --promote.`);

  const progress = new ProgressBar();
  const total = steps.filter(isWritten).length;
  let isStopped = false;
  const stop = () => {
    // A second signal ends at once; a repetition goes on from there too.
    if (isStopped) process.exit(STOPPED);
    progress.end();
    note('Stopping: what is under way is finished first.');
    isStopped = true;
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  progress.begin({ title: 'Importing', unit: 'secrets', total });
  const applied = await apply(steps, {
    coffer,
    vault,
    source: name,
    isPromoting,
    isStopped: () => isStopped,
    onProgress: (done) => progress.reach(done),
  }).finally(() => {
    for (const signal of SIGNALS) process.off(signal, stop);
    progress.end();
  });
  printReport({ ...report, applied, isStopped });
  if (applied.failure !== null) throw applied.failure;
  if (isStopped) throw new CommandError('Stopped. Repeat the command: it goes on where it was.', STOPPED);
  if (applied.refused.length > 0)
    throw new CommandError(`The service refused ${applied.refused.length} secrets; see above.`, EXIT.refused);
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** As shells say of a command that was interrupted. */
const STOPPED = 130;
