import { isIPv4 } from 'node:net';
import { type Address, type Cidr, cidrContains, parseAddress, parseCidr } from './cidr.ts';
import { headerPart } from './headers.ts';

export interface TrustedProxies {
  readonly ranges: readonly Cidr[];
}

/** Real chains of trusted proxies are shorter; a longer header is an attempt to cause work. */
export const MAX_FORWARDED_HOPS = 32;

/** Stands for the peer of a socket that is already closed. It is nobody's address, so no rule about a real network matches it. */
export const UNKNOWN_ADDRESS = '0.0.0.0';

export function trustProxies(list: readonly string[]): TrustedProxies {
  const ranges = list.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === null) throw new TypeError('a trusted proxy must be an IP address or a CIDR range');
    return cidr;
  });
  return { ranges };
}

/**
 * The address a request comes from. Anyone can send X-Forwarded-For, so only the part that trusted proxies wrote counts. Each proxy appends the
 * address it saw, so the header is read from the right up to the first hop that is not a trusted proxy. An entry that is not a plain address ends
 * the search too; the result is then the trusted proxy that forwarded it, which is wrong for the client but never chosen by it.
 */
export function clientAddress(
  remote: string,
  forwardedFor: string | string[] | undefined,
  trusted: TrustedProxies,
): string {
  if (trusted.ranges.length === 0 && isIPv4(remote)) return remote;
  // The zone of a link-local peer is an interface of this machine, set by our own kernel, so it is removed.
  const peer = parseAddress(remote.split('%', 1)[0] ?? '');
  if (peer === null) return UNKNOWN_ADDRESS;
  if (forwardedFor === undefined || !isTrusted(peer, trusted)) return peer.text;
  const header = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',');
  return walk(peer, header, trusted).text;
}

/** Whether the connected peer is a proxy whose statements about its clients are trusted. */
export function isTrustedPeer(remote: string, trusted: TrustedProxies): boolean {
  if (trusted.ranges.length === 0) return false;
  const peer = parseAddress(remote.split('%', 1)[0] ?? '');
  return peer !== null && isTrusted(peer, trusted);
}

function walk(peer: Address, header: string, trusted: TrustedProxies): Address {
  let nearest = peer;
  let end = header.length;
  for (let hops = 0; hops < MAX_FORWARDED_HOPS && end > 0; hops++) {
    const comma = header.lastIndexOf(',', end - 1);
    const hop = parseAddress(headerPart(header.slice(comma + 1, end)));
    if (hop === null) return nearest;
    if (!isTrusted(hop, trusted)) return hop;
    nearest = hop;
    end = comma;
  }
  return nearest;
}

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  return trusted.ranges.some((range) => cidrContains(range, address));
}
