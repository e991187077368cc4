import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, type Cidr, cidrContains, parseAddress, parseCidr } from '../base/cidr.ts';
import { isHostName } from '../base/host-name.ts';

/** The format of `config.outboundAllow`: names in lower case, and ranges. */
export type OutboundAllow = readonly string[];

/** Resolves a name to all of its addresses. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The destination of a call. The call must connect to `address`, not to the name: resolved again, the name may lead elsewhere. */
export interface Destination {
  readonly address: string;
  readonly family: 4 | 6;
  /** A private address that the operator allowed. Plain http, or a connection without TLS, is permitted to it. */
  readonly isPrivateAllowed: boolean;
}

const LOOKUP_TIMEOUT_MS = 5000;
const SHOWN_HOST = /^[\x21-\x7e]{1,253}$/;

/** At least one address of the host is forbidden. The message does not reveal the addresses. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
  constructor(host: string) {
    super(`${shown(host)} is not public, and CV_OUTBOUND_ALLOW does not allow it.`);
  }
}

/** The name has no address, or the resolver did not respond in time. */
export class UnresolvedHost extends Error {
  override readonly name = 'UnresolvedHost';
  constructor(host: string) {
    super(`${shown(host)} cannot be resolved.`);
  }
}

/**
 * Decides where outgoing calls may go. Tenants choose the hosts, while the process often runs in a network that trusts it: without this guard, a
 * webhook could be aimed at the cloud's metadata service or a neighbour's database.
 */
export class AddressGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #ranges: readonly Cidr[];
  readonly #resolve: Resolve;

  constructor(allow: OutboundAllow, resolve: Resolve = lookupAll) {
    const ranges = allow.map(parseCidr);
    this.#ranges = ranges.filter((range) => range !== null);
    this.#hosts = new Set(allow.filter((_, index) => ranges[index] === null).map((host) => host.toLowerCase()));
    this.#resolve = resolve;
  }

  /** Takes a name or an address, which may be in brackets as in a URL. Throws BlockedAddress or UnresolvedHost. */
  async resolve(host: string): Promise<Destination> {
    const isBracketed = host.startsWith('[') && host.endsWith(']');
    const literal = isBracketed ? host.slice(1, -1) : host;
    if (isBracketed ? isIPv6(literal) : isIP(literal) !== 0) return this.#judge(host, false, [literal]);
    // Any other spelling of an address (0x7f.1, 2130706433, 127.0.0.1.) must not reach a resolver that might accept it.
    if (!isHostName(host)) throw new BlockedAddress(host);
    const name = host.toLowerCase();
    return this.#judge(host, this.#hosts.has(name), await this.#addressesOf(name));
  }

  /**
   * Why no call to this host can ever be allowed, or null if that is not known before its name is resolved. Checked when a URL is configured, so that
   * the caller learns it then and not from the first call that fails.
   */
  refusalOf(host: string, isEncrypted: boolean): string | null {
    const literal = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
    const address = isIP(literal) === 0 ? null : parseAddress(literal);
    if (address === null && !isHostName(host)) return NOT_PUBLIC;
    const name = host.toLowerCase();
    const isListed = this.#hosts.has(name);
    // RFC 6761, 6.3: the name means the machine itself, whatever a resolver says.
    const isOwn = name === 'localhost' || name.endsWith('.localhost');
    const known = isOwn ? LOOPBACK : address === null ? [] : [address];
    if (known.length > 0) {
      const reached = known.map((one) => this.#destination(one, isListed)).filter((one) => one !== null);
      if (reached.length === 0) return NOT_PUBLIC;
      return isEncrypted || reached.some(({ isPrivateAllowed }) => isPrivateAllowed) ? null : NOT_ENCRYPTED;
    }
    const mayBeAllowed = isListed || this.#ranges.length > 0;
    return isEncrypted || mayBeAllowed ? null : NOT_ENCRYPTED;
  }

  async #addressesOf(name: string): Promise<readonly string[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new UnresolvedHost(name)), LOOKUP_TIMEOUT_MS);
    });
    try {
      return await Promise.race([this.#resolve(name), late]);
    } catch {
      throw new UnresolvedHost(name);
    } finally {
      clearTimeout(timer);
    }
  }

  /** All addresses must be acceptable: if only some were, chance or the DNS server would decide which one is used. */
  #judge(host: string, isListed: boolean, addresses: readonly string[]): Destination {
    const destinations = addresses.map((text) => {
      const address = parseAddress(text);
      const destination = address && this.#destination(address, isListed);
      if (destination === null) throw new BlockedAddress(host);
      return destination;
    });
    const first = destinations[0];
    if (first === undefined) throw new UnresolvedHost(host);
    return first;
  }

  #destination(address: Address, isListed: boolean): Destination | null {
    const reach = reachOf(address);
    const isOpened = isListed || this.#ranges.some((range) => cidrContains(range, address));
    if (reach === 'never' || (reach === 'private' && !isOpened)) return null;
    // The text is that of the checked address, with mapped addresses unwrapped, so that nothing parses it differently afterwards.
    return {
      address: address.text,
      family: address.bytes.length === 4 ? 4 : 6,
      isPrivateAllowed: reach === 'private',
    };
  }
}

const NOT_PUBLIC =
  'is not at a public address: use one, or have the operator add the host or its range to CV_OUTBOUND_ALLOW';
const NOT_ENCRYPTED =
  'must be encrypted (https, or tls for syslog): only private hosts in CV_OUTBOUND_ALLOW may do without';

type AllowedRanges = 'public' | 'private' | 'never';

/** No server has these addresses, and a kernel may route them to the machine itself. No operator means them by `0.0.0.0/0`. */
const NEVER = ['unspecified', 'broadcast', 'multicast'];
const GLOBAL_UNICAST: Cidr = range('2000::/3');
/** NAT64 (RFC 6052, 2.1): how a machine without IPv4 reaches IPv4. The last four bytes are the real destination. */
const NAT64: Cidr = range('64:ff9b::/96');
const LOOPBACK = ['127.0.0.1', '::1'].map(parseAddress).filter((address) => address !== null);

/** Public only if known to be: any range that IANA has reserved or not assigned yet is private. */
function reachOf(address: Address): AllowedRanges {
  if (cidrContains(NAT64, address)) {
    const inner = parseAddress(address.bytes.slice(-4).join('.'));
    return inner === null ? 'never' : reachOf(inner);
  }
  const special = ipaddr.fromByteArray([...address.bytes]).range();
  if (NEVER.includes(special)) return 'never';
  const isGlobal = address.bytes.length === 4 || cidrContains(GLOBAL_UNICAST, address);
  return special === 'unicast' && isGlobal ? 'public' : 'private';
}

function range(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === null) throw new TypeError(`${text} is not a range`);
  return cidr;
}

/** The host is repeated to the caller only if it is one plain word. */
function shown(host: string): string {
  return SHOWN_HOST.test(host) ? `The host ${host}` : 'The host';
}

/** Uses the system's resolver, so that /etc/hosts and its order of preference apply. */
async function lookupAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}
