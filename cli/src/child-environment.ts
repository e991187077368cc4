import { type Coffer, CofferError } from '../../client/src/index.ts';
import type { ChildEnvironment } from './child.ts';
import { CommandError } from './failure.ts';
import { note } from './output.ts';
import { readNamed, type Selection } from './selection.ts';
import type { Settings } from './settings.ts';
import { refuseLoading, type Variables } from './variables.ts';

export interface EnvironmentOptions {
  only?: string[];
  all?: boolean;
  clean?: boolean;
  preserve?: boolean;
  offline?: boolean;
  offlineHours?: string;
}

/** What a program needs from its surroundings even with `--clean`. */
const PASSED_ON = ['PATH', 'HOME', 'TERM', 'LANG', 'TZ', 'USER', 'SHELL', 'SystemRoot'];
/** Credentials of the command line: the command has its secrets, and does not need the key to all of them. */
const OWN = /^COFFER_(TOKEN|CLIENT_SECRET|ID_TOKEN|CLIENT_ID|CERT|KEY|WORKLOAD_\w+|CONNECTION)(_FILE)?$/;
const REFERENCE = 'coffer://';

/** The environment of the command: its surroundings with references filled in, and the secrets that were chosen. */
export async function environmentFor(
  coffer: Coffer,
  settings: Settings,
  selection: Selection | null,
  options: EnvironmentOptions,
): Promise<ChildEnvironment> {
  const own = await resolved(coffer, surroundings(options.clean === true));
  if (selection === null) return own;
  const secrets = await withOfflineCopy(settings, selection, options, async () => {
    const { variables, leftOut } = await readNamed(coffer, settings, selection, options);
    if (leftOut.length > 0) note(leftOutNote(leftOut));
    return variables;
  });
  return joined(own, secrets, options);
}

const SHOWN_MAX = 5;

function leftOutNote(names: readonly string[]): string {
  const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : '';
  return `Left out ${names.slice(0, SHOWN_MAX).join(', ')}${more}: the project does not name them. Add them to variables in .coffer.yaml, or give --only or --all.`;
}

/**
 * Secrets win over what is already set, unless told otherwise. Names that are known to change how a program is loaded are accepted only if the command
 * names them exactly.
 */
export function joined(
  own: ChildEnvironment,
  secrets: Variables,
  { preserve, only = [] }: EnvironmentOptions,
): ChildEnvironment {
  const environment = { ...own };
  for (const [name, value] of secrets) {
    refuseLoading(name, only);
    if (name.includes('=') || name.includes('\0') || value.includes('\0')) {
      throw new CommandError(
        `${name.replaceAll('\0', '')} cannot be in an environment: it has a character that none can have.`,
      );
    }
    if (preserve === true && own[name] !== undefined) continue;
    environment[name] = value;
  }
  return environment;
}

export function surroundings(isClean: boolean): ChildEnvironment {
  const all = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(all.filter(([name]) => (isClean ? PASSED_ON.includes(name) : !OWN.test(name))));
}

async function resolved(coffer: Coffer, environment: ChildEnvironment): Promise<ChildEnvironment> {
  const entries = await Promise.all(
    Object.entries(environment).map(async ([name, value]) => [
      name,
      value.startsWith(REFERENCE) ? await coffer.secrets.resolve(value) : value,
    ]),
  );
  return Object.fromEntries(entries);
}

/** With `--offline`, what was read is stored, encrypted, and used when the service cannot be reached. */
async function withOfflineCopy(
  settings: Settings,
  selection: Selection,
  { offline, offlineHours = '24', only, all }: EnvironmentOptions,
  read: () => Promise<Variables>,
): Promise<Variables> {
  if (offline !== true) return read();
  const hours = Number(offlineHours);
  if (!(hours > 0 && hours <= 24 * 30)) throw new CommandError('--offline-hours must be a number from 1 to 720.');
  const { OfflineCopy } = await import('./offline-copy.ts');
  // Another choice of variables is another copy.
  const copy = new OfflineCopy(settings, selection, only ?? (all === true ? undefined : settings.project.variables));
  try {
    const variables = await read();
    copy.write(variables);
    return variables;
  } catch (error) {
    const isUnreachable =
      error instanceof CofferError && (error.status === 0 || error.status >= 500) && error.code !== 'INVALID_ARGUMENT';
    // A refused caller has no right to the copy either.
    if (error instanceof CofferError && [401, 403, 404].includes(error.status)) copy.remove();
    if (!isUnreachable) throw error;
    const cached = copy.read(hours);
    if (cached === null) throw error;
    note(`The service cannot be reached: using the secrets of ${cached.readAt}.`);
    return cached.variables;
  }
}
