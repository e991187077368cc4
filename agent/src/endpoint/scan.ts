import { type AuthorizedKey, parseAuthorizedKeys } from './authorized-keys.ts';
import { hostIdOf, readHostname, readMachineId } from './host-id.ts';
import { type LocalAccount, parsePasswd } from './passwd.ts';
import { PrivateGroups } from './private-groups.ts';
import { RootFolder, type Unread, UnreadError } from './root-folder.ts';
import { expandKeysFile, matchesPattern, SshdConfig } from './sshd-config.ts';

/** The body of POST /kube-guardian/endpoint-accounts. */
export interface Report {
  host_id: string;
  hostname?: string;
  scanned_at: string;
  flags: string[];
  accounts: ReportedAccount[];
}

export interface ReportedAccount {
  username: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
  flags: string[];
  ssh_keys: ReportedKey[];
}

export interface ReportedKey {
  type: string;
  fingerprint_sha256: string;
  comment: string;
  flags: string[];
}

export interface Scan {
  report: Report;
  /** How many accounts nobody can log in to. */
  excluded: number;
}

/** The service refuses more than this. */
export const ACCOUNTS_MAX = 10_000;
export const KEYS_PER_ACCOUNT_MAX = 1000;
export const KEYS_PER_REPORT_MAX = 60_000;
/** The service accepts 12 MiB, of which some are left for flags and the host itself. */
export const REPORT_BYTES_MAX = 10 * 1024 * 1024;
const COMMENT_CHARS_MAX = 512;
const PATH_CHARS_MAX = 1024;
const USERNAME_CHARS_MAX = 256;

const PASSWD_BYTES_MAX = 8 * 1024 * 1024;
const GROUP_BYTES_MAX = 8 * 1024 * 1024;
const CONFIG_BYTES_MAX = 1024 * 1024;
export const KEYS_FILE_BYTES_MAX = 16 * 1024 * 1024;
const KEYS_FILES_MAX = 16;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const CONTROL = /[\u0000-\u001f\u007f]/g;
const LOCAL_SOURCES = new Set(['files', 'compat', 'systemd']);
const INACTIVE = ['cert_authority', 'expired'];

const FLAG_OF: Readonly<Record<Exclude<Unread, 'absent'>, string>> = {
  denied: 'keys_not_readable',
  not_a_file: 'keys_not_a_file',
  unsafe: 'keys_unsafe_permissions',
  out_of_reach: 'keys_not_readable_by_account',
};

/** Reads the state of a host without changing anything. */
export function scanHost(options: { root: string; clusterId: string; now: Date }): Scan {
  const root = new RootFolder(options.root);
  const passwd = root.read('/etc/passwd', PASSWD_BYTES_MAX);
  const { accounts, excluded, entries, refusedLines, hasNisLines } = parsePasswd(passwd.bytes);
  const groups = new PrivateGroups(entries, readOptional(root, '/etc/group', GROUP_BYTES_MAX));
  const host: Host = { root, config: readSshdConfig(root), groups, now: options.now };
  const budget: Budget = { keys: KEYS_PER_REPORT_MAX, bytes: REPORT_BYTES_MAX, isOver: false };
  // Accounts come before keys, so that many keys of one account hide no other account.
  const reported = accounts
    .filter(({ username }) => isName(username))
    .slice(0, ACCOUNTS_MAX)
    .filter((account) => spend(budget, withoutKeys(account)))
    .map((account) => reportAccount(host, account, budget));
  const flags = [
    ...host.config.flags,
    ...(hasNisLines || hasOtherSources(root) ? ['nss_accounts_not_scanned'] : []),
    ...(refusedLines > 0 ? ['passwd_lines_refused'] : []),
    ...(passwd.isCut || accounts.length > reported.length ? ['accounts_left_out'] : []),
    ...(budget.isOver ? ['keys_left_out'] : []),
  ];
  const hostname = readHostname(root);
  const report: Report = {
    host_id: hostIdOf(readMachineId(root), options.clusterId),
    ...(hostname !== null && { hostname }),
    scanned_at: options.now.toISOString(),
    flags: [...new Set(flags)].sort(),
    accounts: reported,
  };
  return { report, excluded };
}

interface Host {
  root: RootFolder;
  config: SshdConfig;
  groups: PrivateGroups;
  now: Date;
}

/** How much still fits into the report. */
interface Budget {
  keys: number;
  bytes: number;
  isOver: boolean;
}

/** Returns false if the part does not fit into the report. */
function spend(budget: Budget, part: ReportedAccount | ReportedKey): boolean {
  const bytes = Buffer.byteLength(JSON.stringify(part)) + 1;
  if (bytes > budget.bytes) return false;
  budget.bytes -= bytes;
  return true;
}

function reportAccount(host: Host, account: LocalAccount, budget: Budget): ReportedAccount {
  const flags = new Set<string>();
  const sent: ReportedKey[] = [];
  for (const { type, fingerprint, comment, flags: keyFlags } of readKeys(host, account, flags)) {
    const key = {
      type,
      fingerprint_sha256: fingerprint,
      comment: printable(comment, COMMENT_CHARS_MAX),
      flags: keyFlags,
    };
    const isAccountFull = sent.length >= KEYS_PER_ACCOUNT_MAX;
    if (isAccountFull || budget.keys === 0 || !spend(budget, key)) {
      flags.add('keys_left_out');
      budget.isOver ||= !isAccountFull;
      break;
    }
    budget.keys--;
    sent.push(key);
  }
  return { ...withoutKeys(account), flags: [...flags].sort(), ssh_keys: sent };
}

function withoutKeys({ username, uid, gid, home, shell }: LocalAccount): ReportedAccount {
  return {
    username,
    uid,
    gid,
    home: printable(home, PATH_CHARS_MAX),
    shell: printable(shell, PATH_CHARS_MAX),
    flags: [],
    ssh_keys: [],
  };
}

function readKeys(
  { root, config, groups, now }: Host,
  account: LocalAccount,
  flags: Set<string>,
): Iterable<AuthorizedKey> {
  const byFingerprint = new Map<string, AuthorizedKey>();
  const { authorizedKeysFiles, isStrict } = config.settingsFor(account.username);
  if (!account.home.startsWith('/')) flags.add('no_home');
  else {
    for (const file of authorizedKeysFiles.slice(0, KEYS_FILES_MAX)) {
      const path = expandKeysFile(file, account);
      if (path === null) {
        flags.add('keys_path_not_known');
        continue;
      }
      try {
        const isOwnGroup = (gid: number, owner: number) => groups.isOf(account.uid, gid, owner);
        const content = root.readAs({ ...account, isStrict, isOwnGroup }, path, KEYS_FILE_BYTES_MAX);
        if (content.isGroupWritable) flags.add('keys_group_writable');
        const found = parseAuthorizedKeys(content.bytes, now, KEYS_PER_ACCOUNT_MAX + 1);
        if (content.isCut || found.isCut) flags.add('keys_left_out');
        if (found.refusedLines > 0) flags.add('keys_lines_refused');
        for (const key of found.keys) preferActive(byFingerprint, key);
      } catch (error) {
        if (!(error instanceof UnreadError)) throw error;
        if (error.reason !== 'absent') flags.add(FLAG_OF[error.reason]);
      }
    }
  }
  return byFingerprint.values();
}

/** If several lines have the same key, one that lets its holder log in is reported. */
function preferActive(keys: Map<string, AuthorizedKey>, key: AuthorizedKey): void {
  const known = keys.get(key.fingerprint);
  const isActive = !INACTIVE.some((flag) => key.flags.some((one) => one === flag));
  const wasActive = known !== undefined && !INACTIVE.some((flag) => known.flags.some((one) => one === flag));
  if (known === undefined || (isActive && !wasActive)) keys.set(key.fingerprint, key);
}

/** A name with a slash would make the path of its keys lead elsewhere, and the service refuses one with control characters. */
function isName(username: string): boolean {
  return (
    username.length <= USERNAME_CHARS_MAX &&
    username.search(CONTROL) === -1 &&
    !username.includes('/') &&
    username !== '.' &&
    username !== '..'
  );
}

function printable(text: string, max: number): string {
  return text.slice(0, max).toWellFormed().replace(CONTROL, '\ufffd');
}

function readSshdConfig(root: RootFolder): SshdConfig {
  const included = (pattern: string): Buffer[] => {
    const path = pattern.startsWith('/') ? pattern : `/etc/ssh/${pattern}`;
    const folder = path.slice(0, path.lastIndexOf('/')) || '/';
    const last = path.slice(path.lastIndexOf('/') + 1);
    const names = root.names(folder).filter((name) => !name.startsWith('.') && matchesPattern(name, last));
    return names.map((name) => root.read(`${folder}/${name}`, CONFIG_BYTES_MAX).bytes);
  };
  return new SshdConfig(readOptional(root, '/etc/ssh/sshd_config', CONFIG_BYTES_MAX), included);
}

/** Whether accounts come from somewhere else too, such as LDAP. */
function hasOtherSources(root: RootFolder): boolean {
  const text = readOptional(root, '/etc/nsswitch.conf', CONFIG_BYTES_MAX).toString('utf8');
  const sources = /^[ \t]*passwd[ \t]*:([^\n#]*)/m.exec(text)?.[1]?.replace(/\[[^[\]]*\]/g, ' ') ?? '';
  return sources.split(/\s+/).some((source) => source !== '' && !LOCAL_SOURCES.has(source));
}

/** A missing file means that its defaults apply. A file that cannot be read fails the scan. */
function readOptional(root: RootFolder, path: string, bytesMax: number): Buffer {
  try {
    return root.read(path, bytesMax).bytes;
  } catch (error) {
    if (error instanceof UnreadError && error.reason === 'absent') return Buffer.alloc(0);
    throw error;
  }
}
