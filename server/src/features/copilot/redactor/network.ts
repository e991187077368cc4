import type { Finding } from './finding.ts';

/** Addresses and names that mean something only inside a network, and describe it to a stranger. */

const IPV4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)/g;
/** Hexadecimal groups with colons, as text; whether it is an address is decided by its first group. */
const IPV6 =
  /(?<![\w:.])(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|fec0)(?::[0-9a-f]{0,4}){1,7}(?::?\d{1,3}(?:\.\d{1,3}){3})?(?:%[a-z0-9]{1,15})?(?![\w:])/gi;
const MAPPED = /(?<![\w:.])::(?:ffff:)?(?<v4>(?:\d{1,3}\.){3}\d{1,3})(?![\w.])/dgi;
const HOST =
  /(?<![\w.@-])(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.){1,8}(?:internal|intranet|intra|local|localdomain|corp|lan|private|svc|cluster|consul|vpn|priv)(?![\w-])(?!\.\w)|(?<![\w.@-])(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.){1,8}(?:svc\.cluster\.local|home\.arpa|compute\.internal|ec2\.internal)(?![\w-])/gi;
/** Names that are the same everywhere and reveal nothing. */
const KNOWN_HOSTS =
  /^(?:host\.docker\.internal|gateway\.docker\.internal|kubernetes\.docker\.internal|metadata\.google\.internal|kubernetes\.default(?:\.svc(?:\.cluster\.local)?)?|localhost\.localdomain|(?:self|this|window|document|process|config|settings|module|std|app|ctx|req|res|env|vars?|local|scope|super)\.[a-z_.]+)$/i;
/** What follows a member of an object in code: a call, an assignment, an index. */
const MEMBER_AFTER = /^(?:\(|\[| ?=[^=]| ?\+=)/;

/** The ranges themselves are in every textbook. */
const STANDARD_RANGES: ReadonlySet<string> = new Set([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
]);

export function networkFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const match of text.matchAll(IPV4)) {
    const range =
      match[0] +
      (/^\/\d{1,2}(?!\d)/.exec(text.slice(match.index + match[0].length, match.index + match[0].length + 4))?.[0] ??
        '');
    if (isInternal(match[0]) && !STANDARD_RANGES.has(range)) findings.push(internal(match.index, match[0].length));
  }
  for (const match of text.matchAll(MAPPED)) {
    if (isInternal(match.groups?.['v4'] ?? '')) findings.push(internal(match.index, match[0].length));
  }
  for (const match of text.matchAll(IPV6)) {
    if (match[0].includes('::') || match[0].split(':').length === 8)
      findings.push(internal(match.index, match[0].length));
  }
  for (const match of text.matchAll(HOST)) {
    const { index } = match;
    const end = index + match[0].length;
    if (KNOWN_HOSTS.test(match[0]) || MEMBER_AFTER.test(text.slice(end, end + 3))) continue;
    findings.push({ start: index, end, kind: 'internal_host', rule: 'internal-host-name' });
  }
  return findings;
}

function internal(start: number, length: number): Finding {
  return { start, end: start + length, kind: 'internal_address', rule: 'internal-address' };
}

/** RFC 1918, shared addresses of carriers (RFC 6598) and link-local addresses (RFC 3927). Loopback is the same on every machine. */
function isInternal(text: string): boolean {
  const [a = 256, b = 256, c = 256, d = 256] = text.split('.').map(Number);
  if ([a, b, c, d].some((byte) => byte > 255)) return false;
  if (a === 169 && b === 254) return text !== '169.254.169.254';
  return (
    a === 10 || (a === 172 && b >= 16 && b <= 31) || (a === 192 && b === 168) || (a === 100 && b >= 64 && b <= 127)
  );
}
