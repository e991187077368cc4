import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address in the one spelling that Coffer compares, stores and shows: dotted IPv4, or IPv6 as in RFC 5952. */
export interface Address {
  readonly text: string;
  readonly bytes: readonly number[];
}

/** A range of addresses. Host bits are cleared, so equal ranges have equal text. */
export interface Cidr {
  readonly text: string;
  readonly bytes: readonly number[];
  readonly prefixBits: number;
}

const MAPPED_PREFIX_BITS = 96;
const PREFIX = /^(?:0|[1-9]\d{0,2})$/;

/**
 * Parses an address strictly. ipaddr.js also accepts octal, hexadecimal and short IPv4 forms, which other software reads differently (010.0.0.1 is
 * 8.0.0.1 or 10.0.0.1), so only what `isIP` accepts is passed to it. A zone id names an interface of one machine and means nothing in a rule. An
 * IPv4-mapped address is converted to IPv4, because `::ffff:10.0.0.1` would otherwise bypass a rule about 10.0.0.0/8.
 */
export function parseAddress(text: string): Address | null {
  if (isIP(text) === 0 || text.includes('%')) return null;
  const parsed = ipaddr.process(text);
  return { text: parsed.toString(), bytes: parsed.toByteArray() };
}

/** Parses `address/prefix`, or a bare address as a range of one. Returns null if the text is neither. */
export function parseCidr(text: string): Cidr | null {
  const slash = text.indexOf('/');
  const host = slash === -1 ? text : text.slice(0, slash);
  const address = parseAddress(host);
  if (address === null) return null;
  const sizeBits = address.bytes.length * 8;
  if (slash === -1) return range(address.bytes, sizeBits);
  const suffix = text.slice(slash + 1);
  if (!PREFIX.test(suffix)) return null;
  // The prefix of a mapped range counts 128 bits. A prefix shorter than 96 would reach outside IPv4 and match no address, so it is rejected.
  const mappedBits = host.includes(':') && sizeBits === 32 ? MAPPED_PREFIX_BITS : 0;
  const prefixBits = Number(suffix) - mappedBits;
  return prefixBits < 0 || prefixBits > sizeBits ? null : range(address.bytes, prefixBits);
}

/** Returns false for an address that does not parse, so an allow-list refuses it. */
export function cidrContains(cidr: Cidr, address: string | Address): boolean {
  const parsed = typeof address === 'string' ? parseAddress(address) : address;
  if (parsed === null || parsed.bytes.length !== cidr.bytes.length) return false;
  return parsed.bytes.every((byte, index) => (byte & maskByte(cidr.prefixBits, index)) === cidr.bytes[index]);
}

function range(host: readonly number[], prefixBits: number): Cidr {
  const bytes = host.map((byte, index) => byte & maskByte(prefixBits, index));
  return { text: `${ipaddr.fromByteArray(bytes).toString()}/${prefixBits}`, bytes, prefixBits };
}

function maskByte(prefixBits: number, index: number): number {
  const bits = Math.min(8, Math.max(0, prefixBits - index * 8));
  return (0xff << (8 - bits)) & 0xff;
}
