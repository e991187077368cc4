import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { baseOf, CofferError } from '../../../client/src/index.ts';
import { CommandError, EXIT } from '../failure.ts';
import { withFreshProof } from '../fresh-session.ts';
import type { GlobalOptions } from '../global-options.ts';
import { ago, note, print, printJson, printTable } from '../output.ts';
import { type Profile, readProfiles, writeProfiles } from '../profiles.ts';
import { findProject } from '../project.ts';
import { ask, askHidden, askNewPassword, isInteractive, readInputLines, readStandardInput } from '../prompt.ts';
import { clientOf, env, settingsOf, wantsJson } from '../settings.ts';

const DEFAULT_URL = 'http://127.0.0.1:7400';

export function register(program: Command): void {
  program
    .command('login')
    .description('Log in with e-mail address and password, or with a token, and keep the session in a profile')
    .option('--email <address>', 'who you are')
    .option(
      '--invitation',
      'accept an invitation: its token and a new password, asked for or in two lines of standard input',
    )
    .option('--password', 'read the password from standard input; a second line is the code of a second factor')
    .option('--token', 'read a personal access token from standard input or a prompt instead')
    .option('--sso <provider>', 'sign in with this provider of your organization, in a browser')
    .option('--tenant <name>', 'your tenant, unless it is that of the operator')
    .option('--device', 'show a code, which you confirm where you are logged in already')
    .option('--approve <code>', 'confirm the code that another command line of yours shows')
    .action((options: LoginOptions, command: Command) => logIn(options, command))
    .addHelpText(
      'after',
      `
The session is stored in a file that only you can read (profiles.json in ~/.config/coffer, or COFFER_CONFIG_DIR). A password is asked for, unless
--password is given. Scripts use a token: coffer login --token < file, or COFFER_URL and COFFER_TOKEN without logging in.`,
    );
  program
    .command('logout')
    .description('End the session at the service and delete it here')
    .action((_, command) => logOut(command));
  program
    .command('whoami')
    .description('Show who you are, and where')
    .action((_, command) => whoAmI(command));
  const profiles = program.command('profiles').description('List the services that you are logged in to');
  profiles
    .command('list', { isDefault: true })
    .description('List them; * is the current one')
    .action((_, command) => listProfiles(command));
  profiles
    .command('use <name>')
    .description('Choose the profile that is used unless another one is named')
    .action((name: string) => useProfile(name));
}

interface LoginOptions {
  email?: string;
  invitation?: boolean;
  password?: boolean;
  token?: boolean;
  sso?: string;
  tenant?: string;
  device?: boolean;
  approve?: string;
}

async function logIn(login: LoginOptions, command: Command): Promise<void> {
  if (login.approve !== undefined) return approveDevice(login.approve, command);
  const options = command.optsWithGlobals<GlobalOptions>();
  const all = readProfiles();
  const name = options.profile ?? env('COFFER_PROFILE') ?? all.current;
  const url = baseOf(await urlFor(options, all.profiles[name]?.url));
  const before = all.profiles[name];
  const caFile = options.caFile ?? env('COFFER_CA_FILE') ?? (before?.url === url ? before.ca_file : undefined) ?? null;
  const session = await sessionFor(login, url, caFile);
  const first = Object.keys(all.profiles).length === 0;
  const { user, tenant } = await clientOf({ url, auth: { token: session.token }, caFile }).call('GET /auth/me', {});
  const profile: Profile = { url, email: user.email, ...session, ...(caFile !== null && { ca_file: resolve(caFile) }) };
  writeProfiles({ current: first ? name : all.current, profiles: { ...all.profiles, [name]: profile } });
  if (options.json === true)
    return printJson({ profile: name, url, user, tenant, expires_at: session.expires_at ?? null });
  note(`Logged in to ${url} as ${user.email} (${user.role} of ${tenant.name}).`);
  if (!first && all.current !== name)
    note(`The current profile is still ${all.current}. To change that: coffer profiles use ${name}`);
}

function sessionFor(login: LoginOptions, url: string, caFile: string | null): Promise<Session> {
  if (login.token === true) return sessionByToken(url, caFile);
  if (login.invitation === true) return sessionByInvitation(url, caFile);
  if (login.sso !== undefined || login.device === true) return sessionByDevice(url, caFile, login);
  return sessionByPassword(url, caFile, login);
}

/** Offers the service of the profile. A project file may be somebody else's: its address is named with the file, and never what Enter chooses. */
export async function urlFor({ url }: GlobalOptions, known: string | undefined): Promise<string> {
  const given = url ?? env('COFFER_URL');
  if (given !== undefined) return given;
  if (!isInteractive()) throw new CommandError('Which service? Give --url, or set COFFER_URL.');
  const suggested = baseOf(known ?? DEFAULT_URL);
  const found = findProject();
  const ofProject = found?.project.url === undefined ? suggested : baseOf(found.project.url);
  if (found !== null && ofProject !== suggested) {
    note(`${found.file} names another service: ${ofProject}. Type it if you trust that file and this address.`);
  }
  return ask('Address of the service', suggested);
}

async function sessionByToken(url: string, caFile: string | null): Promise<Session> {
  const typed = process.stdin.isTTY === true ? await askHidden('Token') : await readStandardInput();
  const token = typed.trim();
  const { credential, user } = await clientOf({ url, auth: { token }, caFile }).call('GET /auth/me', {});
  return { token, expires_at: credential.expires_at, email: user.email };
}

type Session = Pick<Profile, 'token' | 'expires_at' | 'email'>;

async function sessionByPassword(url: string, caFile: string | null, login: LoginOptions): Promise<Session> {
  const isTyped = process.stdin.isTTY === true;
  if (!isTyped && login.password !== true) {
    throw new CommandError(
      'A password can be entered on a terminal only. In a script use coffer login --token < FILE.',
    );
  }
  if (!isTyped && login.email === undefined) throw new CommandError('Whose password is it? Give --email.');
  const email = login.email ?? (await ask('E-mail address'));
  const [password = '', code] = isTyped ? [await askHidden('Password')] : await readInputLines();
  const coffer = clientOf({ url, auth: { anonymous: true }, caFile });
  const { tenant } = login;
  const attempt = (otp?: string) =>
    coffer.call('POST /auth/login', {
      body: { email, password, ...(otp !== undefined && { otp }), ...(tenant !== undefined && { tenant }) },
    });
  const { token, expires_at } = await attempt(code).catch(async (error: unknown) => {
    if (!(error instanceof CofferError) || error.code !== 'MFA_REQUIRED' || !isTyped) throw error;
    return attempt(await ask('Code of your second factor'));
  });
  return { token, expires_at, email };
}

/** Opens nothing itself: the browser may be on another machine. */
async function sessionByDevice(url: string, caFile: string | null, { sso, tenant }: LoginOptions): Promise<Session> {
  const coffer = clientOf({ url, auth: { anonymous: true }, caFile });
  const wanted = { ...(sso !== undefined && { provider: sso }), ...(tenant !== undefined && { tenant }) };
  const device = await coffer.call('POST /auth/device', { body: { client: 'cli', ...wanted } });
  note(
    device.verification_uri === null
      ? `Where you are logged in: coffer login --approve ${device.user_code}`
      : `Open ${device.verification_uri}\nand enter the code ${device.user_code}`,
  );
  for (;;) {
    await sleep(device.interval * 1000);
    const { token, expires_at } = await coffer
      .call('POST /auth/device/token', { body: { device_code: device.device_code } })
      .catch((error: unknown) => {
        // Too early: the next round waits again.
        if (error instanceof CofferError && error.code === 'RATE_LIMIT_EXCEEDED')
          return { token: undefined, expires_at: undefined };
        throw error;
      });
    if (token !== undefined && expires_at !== undefined) return { token, expires_at };
  }
}

async function approveDevice(code: string, command: Command): Promise<void> {
  const { approved } = await withFreshProof(command, (coffer) =>
    coffer.call('POST /auth/device/approve', { body: { user_code: code } }),
  );
  if (wantsJson(command)) return printJson({ approved });
  note('Confirmed: the command line that shows this code gets a session of yours.');
}

async function sessionByInvitation(url: string, caFile: string | null): Promise<Session> {
  const isTyped = process.stdin.isTTY === true;
  const [invitation, password] = isTyped
    ? [await askHidden('Token of the invitation'), await askNewPassword()]
    : await readInputLines();
  if (invitation === undefined || password === undefined)
    throw new CommandError('Standard input must be the token and a new password, in a line each: nothing was done.');
  const coffer = clientOf({ url, auth: { anonymous: true }, caFile });
  const body = { token: invitation.trim(), password };
  const { token, expires_at } = await coffer.call('POST /auth/accept-invite', { body });
  return { token, expires_at };
}

async function logOut(command: Command): Promise<void> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const all = readProfiles();
  const name = options.profile ?? env('COFFER_PROFILE') ?? all.current;
  const profile = all.profiles[name];
  if (profile === undefined) throw new CommandError(`There is no profile named ${name}.`);
  const { [name]: _, ...rest } = all.profiles;
  const [next = 'default'] = Object.keys(rest);
  writeProfiles({ current: all.current === name ? next : all.current, profiles: rest });
  try {
    const caFile = profile.ca_file ?? null;
    await clientOf({ url: profile.url, auth: { token: profile.token }, caFile }).call('POST /auth/logout', {});
    note(`Logged out of ${profile.url}.`);
  } catch (error) {
    if (!(error instanceof CofferError)) throw error;
    // A personal access token is no session, and an ended one is none any more.
    if (error.status === 401 || error.status === 403)
      return note(`Forgot the profile ${name}. A personal access token stays valid: coffer tokens revoke ends it.`);
    throw new CommandError(
      `The profile ${name} is forgotten, but the service did not end the session: ${error.message}`,
      EXIT.remote,
    );
  }
}

async function whoAmI(command: Command): Promise<void> {
  const settings = settingsOf(command);
  const { auth } = settings;
  const clientId = 'clientId' in auth ? auth.clientId : 'certificate' in auth ? auth.certificate.clientId : null;
  if (clientId !== null) {
    // Machines have no account to ask for.
    if (wantsJson(command)) return printJson({ url: settings.url, connection: clientId });
    return print(`the connection ${clientId} at ${settings.url}, by ${settings.source}`);
  }
  const me = await clientOf(settings).call('GET /auth/me', {});
  if (wantsJson(command)) return printJson({ url: settings.url, ...me });
  const { user, tenant, credential, warnings } = me;
  print(`${user.email}, ${user.role} of ${tenant.name} (plan ${tenant.plan})`);
  print(`at ${settings.url}, by ${settings.source}: ${credential.kind}, expires ${ago(credential.expires_at)}`);
  for (const warning of warnings) note(`Warning: ${warning.message}`);
}

function listProfiles(command: Command): void {
  const { current, profiles } = readProfiles();
  const rows = Object.entries(profiles).map(([name, { url, email, expires_at }]) => ({
    name,
    url,
    email: email ?? null,
    expires_at: expires_at ?? null,
    current: name === current,
  }));
  if (wantsJson(command)) {
    printJson(rows);
    return;
  }
  printTable(
    rows,
    [
      { title: '', of: (row) => (row.current ? '*' : '') },
      { title: 'PROFILE', of: (row) => row.name },
      { title: 'SERVICE', of: (row) => row.url, isFlexible: true },
      { title: 'WHO', of: (row) => row.email, isFlexible: true },
      { title: 'EXPIRES', of: (row) => ago(row.expires_at) },
    ],
    'You are not logged in anywhere. Log in: coffer login',
  );
}

function useProfile(name: string): void {
  const all = readProfiles();
  if (all.profiles[name] === undefined) {
    throw new CommandError(`There is no profile named ${name}. coffer profiles lists them.`, EXIT.notFound);
  }
  writeProfiles({ ...all, current: name });
  note(`From now on ${name} is used.`);
}
