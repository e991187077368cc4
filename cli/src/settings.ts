import type { Command } from 'commander';
import { type Auth, baseOf, Coffer } from '../../client/src/index.ts';
import { identityFromFiles, nodeTransport, readCredential } from '../../client/src/node/index.ts';
import packageJson from '../package.json' with { type: 'json' };
import { CommandError, credential, EXIT } from './failure.ts';
import type { GlobalOptions } from './global-options.ts';
import { certificateFilesIn, machineAuth } from './machine-auth.ts';
import { note } from './output.ts';
import { type Profile, readProfiles } from './profiles.ts';
import { findProject, type Project } from './project.ts';
import { withoutTrailingSlashes } from './trailing-slashes.ts';

/** Which service is meant, and who is asking. */
export interface Settings {
  url: string;
  auth: Auth;
  caFile: string | null;
  project: Project;
  /** Describes where the credential comes from. */
  source: string;
}

const USER_AGENT = `coffer-cli/${packageJson.version}`;

/**
 * In this order: options, environment, `.coffer.yaml`, profile. A credential is only ever sent to the service it belongs to: a project file, which
 * may be somebody else's, chooses among the services that are known here and cannot name a new one for a credential of the environment.
 */
export function settingsOf(command: Command): Settings {
  const options = command.optsWithGlobals<GlobalOptions>();
  const { project = {}, file = '' } = findProject() ?? {};
  const { current, profiles } = readProfiles();
  const chosen = options.profile ?? env('COFFER_PROFILE');
  if (chosen !== undefined && profiles[chosen] === undefined) {
    throw new CommandError(`There is no profile named ${chosen}. Create it: coffer login --profile ${chosen}`);
  }
  const given = options.url ?? env('COFFER_URL');
  const wanted = normalized(given ?? project.url);
  const profile = chosenProfile(profiles, chosen ?? null, current, wanted);
  const caFile = options.caFile ?? env('COFFER_CA_FILE') ?? profile?.ca_file ?? null;

  const machine = machineAuth(process.env);
  if (machine !== null) {
    const isFromProject =
      given === undefined && project.url !== undefined && wanted !== profiles[chosen ?? current]?.url;
    if (isFromProject) {
      throw new CommandError(
        `${file} names ${project.url}, which may not be where the credential in ${machine.source} belongs. If it does, set COFFER_URL too.`,
      );
    }
    const url = wanted ?? profile?.url;
    if (url === undefined)
      throw new CommandError(`Set COFFER_URL: ${machine.source} alone does not say which service.`);
    credential.source = machine.source;
    return { url, auth: machine.auth, caFile, project, source: machine.source };
  }
  if (profile === null) {
    throw new CommandError(
      notLoggedIn(wanted, given === undefined && wanted !== undefined ? file : null),
      EXIT.refused,
    );
  }
  if (given === undefined && chosen === undefined && profile !== profiles[current])
    note(
      `${file} names ${wanted}: using the profile of that service, not the current one. To choose yourself: --profile NAME`,
    );
  if (profile.expires_at !== undefined && Date.parse(profile.expires_at) < Date.now()) {
    throw new CommandError('Your session has ended. Log in again: coffer login', EXIT.refused);
  }
  return { url: profile.url, auth: { token: profile.token }, caFile, project, source: PROFILE };
}

/** A project file may be somebody else's: where an address comes from is said before anybody logs in there. */
function notLoggedIn(url: string | undefined, file: string | null): string {
  if (url === undefined) return 'You are not logged in. Log in: coffer login';
  if (file === null) return `You are not logged in to ${url}. Log in: coffer login --url ${url}`;
  return `${file} names ${url}, where you are not logged in. If you trust that file and this address: coffer login --url ${url}. Otherwise name yours: --url or --profile`;
}

/** The profile that is named, or the one for the service that is meant, or the current one. */
function chosenProfile(
  profiles: Readonly<Record<string, Profile>>,
  chosen: string | null,
  current: string,
  url: string | undefined,
): Profile | null {
  const named = profiles[chosen ?? current] ?? null;
  if (url === undefined || named?.url === url) return named;
  if (chosen !== null) {
    throw new CommandError(`The profile ${chosen} is for ${named?.url}, not for ${url}. Leave one of them out.`);
  }
  return Object.values(profiles).find((profile) => profile.url === url) ?? null;
}

function normalized(url: string | undefined): string | undefined {
  return url === undefined ? undefined : baseOf(url);
}

/** Whether a script reads the output. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<GlobalOptions>().json === true;
}

export const PROFILE = 'the profile';

/** An empty variable counts as none. */
export function env(name: string): string | undefined {
  return process.env[name] || undefined;
}

export function clientOf({ url, auth, caFile }: Pick<Settings, 'url' | 'auth' | 'caFile'>, keepAlive = false): Coffer {
  const ca = caFile === null ? {} : { ca: readCredential(caFile) };
  const files = certificateFilesIn(process.env);
  const identity = files === null ? {} : { identity: identityFromFiles(files) };
  return new Coffer({ url, auth, userAgent: USER_AGENT, transport: nodeTransport({ ...ca, ...identity, keepAlive }) });
}

/** The vault that is meant: `--vault`, COFFER_VAULT or the project's. */
export function vaultOf(settings: Settings, option: string | undefined): string {
  const vault = option ?? env('COFFER_VAULT') ?? settings.project.vault;
  if (vault === undefined)
    throw new CommandError('Which vault? Give --vault NAME, or choose one for the project: coffer init');
  return vault;
}

/** The part of the vault that the project uses, where no vault was named: one that is named is meant as a whole. */
export function prefixOf({ project }: Settings, options: { vault?: string }): string {
  return withoutTrailingSlashes(isVaultOfProject(options) ? (project.prefix ?? '') : '');
}

/** Whether no other vault, or part of it, was named. */
export function isVaultOfProject({ vault, prefix }: { vault?: string; prefix?: string }): boolean {
  return vault === undefined && prefix === undefined && env('COFFER_VAULT') === undefined;
}
