export interface LocalAccount {
  username: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
}

export interface Passwd {
  accounts: LocalAccount[];
  /** How many accounts nobody can log in to. */
  excluded: number;
  /** The entries of all accounts, with those that nobody can log in to. */
  entries: LocalAccount[];
  /** How many lines are no entry. */
  refusedLines: number;
  /** Lines with + or - take accounts from NIS, which is not read. */
  hasNisLines: boolean;
}

const ID_MAX = 2 ** 32 - 1;
const NO_LOGIN = new Set(['nologin', 'false']);
const DEFAULT_SHELL = '/bin/sh';

/** Reads the file as glibc's `files` service does; the first entry of a name counts. */
export function parsePasswd(content: Buffer): Passwd {
  const found: Passwd = { accounts: [], excluded: 0, entries: [], refusedLines: 0, hasNisLines: false };
  const names = new Set<string>();
  for (const raw of content.toString('utf8').split('\n')) {
    const line = raw.replace(/^\s+/, '');
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('+') || line.startsWith('-')) {
      found.hasNisLines = true;
      continue;
    }
    const account = parseEntry(line);
    if (account === null) found.refusedLines++;
    else if (!names.has(account.username)) {
      names.add(account.username);
      found.entries.push(account);
      if (canLogIn(account.shell)) found.accounts.push(account);
      else found.excluded++;
    }
  }
  return found;
}

function parseEntry(line: string): LocalAccount | null {
  const [username = '', , uid = '', gid = '', , home = '', ...shell] = line.split(':');
  // Names that are no UTF-8 would look like one another, and one would hide the next.
  if (username === '' || username.includes('\ufffd') || !isId(uid) || !isId(gid)) return null;
  return { username, uid: Number(uid), gid: Number(gid), home, shell: shell.join(':') || DEFAULT_SHELL };
}

function isId(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) <= ID_MAX;
}

function canLogIn(shell: string): boolean {
  return !NO_LOGIN.has(shell.split('/').at(-1) ?? '');
}
