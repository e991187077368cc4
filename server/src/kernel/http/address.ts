import { isIPv4 } from 'node:net';
import { type Address, type Cidr, cidrContains, parseAddress, parseCidr } from '../cidr.ts';

export interface TrustedProxies {
  readonly ranges: readonly Cidr[];
}

/** Longer chains of trusted proxies do not exist; a longer header is somebody making us work. */
export const MAX_FORWARDED_HOPS = 32;

/** The peer of a socket that is already closed. It is nobody's address, so no rule about a real network matches it. */
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
 * The address a request comes from. Anyone can send X-Forwarded-For, so it counts only as far as it was written by
 * proxies we trust: each appends the address it saw, hence the walk from the right, which ends at the first hop that
 * is not a trusted proxy. An entry that is no plain address ends the walk too, and the answer is then the trusted
 * proxy that passed it on: wrong for the client, but never chosen by it.
 */
export function clientAddress(
  remote: string,
  forwardedFor: string | string[] | undefined,
  trusted: TrustedProxies,
): string {
  if (trusted.ranges.length === 0 && isIPv4(remote)) return remote;
  // The zone of a link-local peer is our own interface, told by our own kernel: the address stands without it.
  const peer = parseAddress(remote.split('%', 1)[0] ?? '');
  if (peer === null) return UNKNOWN_ADDRESS;
  if (forwardedFor === undefined || !isTrusted(peer, trusted)) return peer.text;
  const header = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',');
  return walk(peer, header, trusted).text;
}

/** Whether who is connected is a proxy whose word about its clients counts. */
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
    const hop = parseAddress(header.slice(comma + 1, end).trim());
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
