import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, type Cidr, cidrContains, parseAddress, parseCidr } from '../cidr.ts';
import { isHostName } from '../host-name.ts';

/** As `config.outboundAllow` has it: names in lower case, and ranges. */
export type OutboundAllow = readonly string[];

/** Every address of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Where a call may go. It must connect to `address`, not to the name: asked again, the name may lead elsewhere. */
export interface Destination {
  readonly address: string;
  readonly family: 4 | 6;
  /** A private address that the operator opened: plain http, or no TLS, may be used to it. */
  readonly isPrivateAllowed: boolean;
}

const LOOKUP_TIMEOUT_MS = 5000;
const SHOWN_HOST = /^[\x21-\x7e]{1,253}$/;

/** The host leads, at least with one of its addresses, where no call may go. The addresses themselves are nobody's business. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
  constructor(host: string) {
    super(`${shown(host)} is not public, and CV_OUTBOUND_ALLOW does not open it.`);
  }
}

/** The name has no address, or the resolver did not answer in time. */
export class UnresolvedHost extends Error {
  override readonly name = 'UnresolvedHost';
  constructor(host: string) {
    super(`${shown(host)} has no address.`);
  }
}

/**
 * Decides where outgoing calls go. Their hosts are chosen by tenants, while the process often stands in a network that trusts it: without
 * this, a webhook could be aimed at the cloud's metadata service or a neighbour's database.
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

  /** Takes a name or an address, as in a URL also in brackets. Throws BlockedAddress or UnresolvedHost. */
  async resolve(host: string): Promise<Destination> {
    const isBracketed = host.startsWith('[') && host.endsWith(']');
    const literal = isBracketed ? host.slice(1, -1) : host;
    if (isBracketed ? isIPv6(literal) : isIP(literal) !== 0) return this.#judge(host, false, [literal]);
    // Whatever else looks like an address (0x7f.1, 2130706433, 127.0.0.1.) never reaches a resolver that might read it as one.
    if (!isHostName(host)) throw new BlockedAddress(host);
    const name = host.toLowerCase();
    return this.#judge(host, this.#hosts.has(name), await this.#addressesOf(name));
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

  /** All addresses must be acceptable: of a mixed answer, which one is used would be a matter of luck, or of whoever gave it. */
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
    // The text is the one that was judged, mapped addresses unwrapped, so that nothing reads it differently afterwards.
    return {
      address: address.text,
      family: address.bytes.length === 4 ? 4 : 6,
      isPrivateAllowed: reach === 'private',
    };
  }
}

type AllowedRanges = 'public' | 'private' | 'never';

/** No server is there, and a kernel may take them for the machine itself; no operator means them by `0.0.0.0/0`. */
const NEVER = ['unspecified', 'broadcast', 'multicast'];
const GLOBAL_UNICAST: Cidr = range('2000::/3');
/** NAT64 (RFC 6052, 2.1): how a machine without IPv4 reaches IPv4. The last four bytes are the address it really goes to. */
const NAT64: Cidr = range('64:ff9b::/96');

/** Public only if known to be: whatever IANA has set apart, or has not given out yet, is private. */
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

/** What a caller wrote is shown to that caller only if it is one plain word. */
function shown(host: string): string {
  return SHOWN_HOST.test(host) ? `The host ${host}` : 'The host';
}

/** The system's resolver, so that /etc/hosts counts and its order of preference holds. */
async function lookupAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}
