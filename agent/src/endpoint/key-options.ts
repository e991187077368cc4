/** What the options of a line mean for the holder of the key. */
export type KeyFlag = 'cert_authority' | 'expired' | 'forced_command' | 'from' | 'principals' | 'restrict';

const SWITCHES = [
  ...['port-forwarding', 'agent-forwarding', 'x11-forwarding', 'pty', 'user-rc'],
  ...['touch-required', 'verify-required'],
];
const ONE_WAY_SWITCHES = ['restrict', 'cert-authority'];
const ONCE = ['command', 'principals', 'from'];
const WITH_VALUE = [...ONCE, 'expiry-time', 'environment', 'permitopen', 'permitlisten', 'tunnel'];
const NAMES = new Set([...SWITCHES, ...SWITCHES.map((name) => `no-${name}`), ...ONE_WAY_SWITCHES]);
const ENVIRONMENT = /^[A-Za-z0-9_]{1,256}=/;
/** A host in brackets or without a colon, and a port or the name of a service. */
const PERMIT = /^(?:\[[^\]]*\]|[^[:/][^:/]*)?[:/](\*|[A-Za-z0-9-]+)$/;
const PORT_MAX = 65_535;
const TUNNEL_MAX = 2 ** 31 - 2;

/** What sshd requires of the values that it checks when it reads a line. */
const VALID: Readonly<Record<string, (value: string) => boolean>> = {
  environment: (value) => ENVIRONMENT.test(value),
  permitopen: isPermit,
  permitlisten: (value) => isPermit(value.includes(':') ? value : `*:${value}`),
  tunnel: (value) => value === 'any' || (/^\d+$/.test(value) && Number(value) <= TUNNEL_MAX),
};

interface Option {
  name: string;
  value: string | null;
}

/** Where the options end: at the first blank outside quotes. Null if a quote is not closed. */
export function endOfOptions(text: string): number | null {
  let isQuoted = false;
  let at = 0;
  for (; at < text.length; at++) {
    const character = text[at];
    if (!isQuoted && (character === ' ' || character === '\t')) break;
    if (character === '\\' && text[at + 1] === '"') at++;
    else if (character === '"') isQuoted = !isQuoted;
  }
  return isQuoted ? null : Math.min(at, text.length);
}

/** Null if sshd refuses the options, and the whole line with them. */
export function flagsOfOptions(text: string, now: Date): KeyFlag[] | null {
  const options = parseOptions(text);
  if (options === null) return null;
  const names = options.map(({ name }) => name);
  if (ONCE.some((name) => names.indexOf(name) !== names.lastIndexOf(name))) return null;
  const flags = new Set<KeyFlag>();
  for (const { name, value } of options) {
    if (!(VALID[name]?.(value ?? '') ?? true)) return null;
    if (name === 'cert-authority') flags.add('cert_authority');
    if (name === 'restrict') flags.add('restrict');
    if (name === 'command') flags.add('forced_command');
    if (name === 'from' || name === 'principals') flags.add(name);
    if (name === 'expiry-time') {
      const expiry = expiryOf(value ?? '');
      if (expiry === null) return null;
      if (now.getTime() >= expiry) flags.add('expired');
    }
  }
  return [...flags].sort();
}

/** An option may be empty, as in `no-pty,,restrict`, because sshd accepts that. */
function parseOptions(text: string): Option[] | null {
  const options: Option[] = [];
  let rest = text;
  while (true) {
    const name = (/^[A-Za-z0-9-]+/.exec(rest)?.[0] ?? '').toLowerCase();
    rest = rest.slice(name.length);
    if (NAMES.has(name)) options.push({ name, value: null });
    else if (name !== '') {
      const value = rest[0] === '=' && WITH_VALUE.includes(name) ? parseQuoted(rest.slice(1)) : null;
      if (value === null) return null;
      options.push({ name, value: value.text });
      rest = rest.slice(1 + value.length);
    }
    if (rest === '') return options;
    if (rest[0] !== ',') return null;
    rest = rest.slice(1);
  }
}

function parseQuoted(text: string): { text: string; length: number } | null {
  if (text[0] !== '"') return null;
  let at = 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' && text[at + 1] === '"' ? 2 : 1;
  if (at >= text.length) return null;
  return { text: text.slice(1, at).replaceAll('\\"', '"'), length: at + 1 };
}

function isPermit(value: string): boolean {
  const port = PERMIT.exec(value)?.[1];
  return port !== undefined && (!/^\d+$/.test(port) || (Number(port) >= 1 && Number(port) <= PORT_MAX));
}

/** YYYYMMDD[HHMM[SS]], in local time unless a Z follows. Null if the text is not a time. */
function expiryOf(text: string): number | null {
  const match = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z|UTC)?$/i.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    ...[number, number, number],
    ...[number, number, number],
  ];
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return null;
  const time =
    match[7] === undefined
      ? new Date(year, month - 1, day, hour, minute, second).getTime()
      : Date.UTC(year, month - 1, day, hour, minute, second);
  return time > 0 ? time : null;
}
