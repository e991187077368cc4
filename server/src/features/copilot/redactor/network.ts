import type { Finding } from './finding.ts';

/** Addresses and names that mean something only inside a network, and describe it to a stranger. */

const IPV4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)/g;
/** Hexadecimal groups with colons, as text; whether it is an address is decided by its first group. */
const IPV6 =
  /(?<![\w:.])(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|fec0)(?::[0-9a-f]{0,4}){1,7}(?::?\d{1,3}(?:\.\d{1,3}){3})?(?:%[a-z0-9]{1,15})?(?![\w:])/gi;
const MAPPED = /(?<![\w:.])::(?:ffff:)?(?<v4>(?:\d{1,3}\.){3}\d{1,3})(?![\w.])/dgi;
const MAPPED_HEX = /(?<![\w:.])(?:::|(?:0{1,4}:){5})ffff:([0-9a-f]{1,4}):[0-9a-f]{1,4}(?![\w:])/gi;
const LOOPBACK_V6 = /(?<![\w:.])(?:::|(?:0{1,4}:){7})0{0,3}1(?![\w:])/g;
const HOST =
  /(?<![\w.@-])(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.){1,8}(?:internal|intranet|intra|local|localdomain|corp|lan|private|svc|cluster|consul|vpn|priv)(?![\w-])(?!\.\w)|(?<![\w.@-])(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.){1,8}(?:svc\.cluster\.local|home\.arpa|compute\.internal|ec2\.internal)(?![\w-])/gi;
/** Names that are the same everywhere and reveal nothing. */
const KNOWN_HOSTS =
  /^(?:host\.docker\.internal|gateway\.docker\.internal|kubernetes\.docker\.internal|metadata\.google\.internal|kubernetes\.default(?:\.svc(?:\.cluster\.local)?)?|localhost\.localdomain|(?:self|this|window|document|process|config|settings|module|std|app|ctx|req|res|env|vars?|local|scope|super)\.[a-z_.]+)$/i;
/** What follows a member of an object in code: a call, an assignment, an index. */
const MEMBER_AFTER = /^(?:\(|\[| ?=[^=]| ?\+=)/;

export function networkFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const match of text.matchAll(IPV4)) {
    if (isInternal(match[0])) findings.push(internal(match.index, match[0].length));
  }
  for (const match of text.matchAll(MAPPED)) {
    if (isInternal(match.groups?.['v4'] ?? '')) findings.push(internal(match.index, match[0].length));
  }
  for (const match of text.matchAll(MAPPED_HEX)) {
    if (isInternalPrefix(Number.parseInt(match[1] ?? '', 16))) findings.push(internal(match.index, match[0].length));
  }
  for (const match of text.matchAll(LOOPBACK_V6)) findings.push(internal(match.index, match[0].length));
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

/** RFC 1918, shared addresses of carriers (RFC 6598), link-local addresses (RFC 3927) and loopback (RFC 1122). */
function isInternal(text: string): boolean {
  const [a = 256, b = 256, c = 256, d = 256] = text.split('.').map(Number);
  return [a, b, c, d].every((byte) => byte <= 255) && isInternalPrefix(a * 256 + b);
}

/** Whether an IPv4 address with these first 16 bits is internal. No range is smaller than these bits tell. */
function isInternalPrefix(prefix: number): boolean {
  const [a, b] = [prefix >> 8, prefix & 0xff];
  return (
    a === 10 ||
    a === 127 ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 192 && b === 168) ||
    (a === 169 && b === 254) ||
    (a === 100 && b >= 64 && b <= 127)
  );
}
