import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Network-order bytes: 4 for IPv4, 16 for IPv6. The two families never match each other. */
export type Address = readonly number[];

export interface Cidr {
  readonly network: Address;
  readonly prefixBits: number;
}

let lastText: string | undefined;
let lastAddress: Address | null = null;

/**
 * The address of a request, or null when it is none. One request asks about the same address in many statements, so the
 * latest answer is kept.
 */
export function parseAddress(text: string): Address | null {
  if (text !== lastText) {
    lastAddress = addressBytes(text);
    lastText = text;
  }
  return lastAddress;
}

/** Node's check comes first because ipaddr.js also reads octal, hexadecimal and short forms (`010.1`). */
function addressBytes(text: string): Address | null {
  if (isIP(text) === 0) return null;
  // The zone of a link-local address names our interface, not the client, and ipaddr.js refuses some spellings of it.
  const [bare = text] = text.split('%', 1);
  // A socket that listens on :: reports IPv4 clients as ::ffff:a.b.c.d; rules are written for a.b.c.d.
  return ipaddr.process(bare).toByteArray();
}

const CIDR = /^([0-9a-fA-F:.]+)\/(0|[1-9][0-9]{0,2})$/;

/** What is wrong with the text, as an instruction, or the range. One range has one spelling: no host bits. */
export function parseCidr(text: string): Cidr | string {
  const [, address, length] = CIDR.exec(text) ?? [];
  if (address === undefined || isIP(address) === 0) return 'Write a range as address/prefix, such as 203.0.113.0/24.';
  const parsed = ipaddr.parse(address);
  // Requests are unwrapped to IPv4 before matching, so such a rule would silently never apply.
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) return 'Write the range in its IPv4 form.';
  const network = parsed.toByteArray();
  const prefixBits = Number(length);
  if (prefixBits > network.length * 8) return `Write a prefix of 0 to ${network.length * 8}.`;
  if (!network.every((byte, index) => (byte & ~maskOf(index, prefixBits) & 0xff) === 0)) {
    return 'Clear the address bits beyond the prefix.';
  }
  return { network, prefixBits };
}

export function covers({ network, prefixBits }: Cidr, address: Address): boolean {
  if (network.length !== address.length) return false;
  for (let index = 0; index * 8 < prefixBits; index++) {
    if (((address[index] ?? 0) & maskOf(index, prefixBits)) !== network[index]) return false;
  }
  return true;
}

function maskOf(byteIndex: number, prefixBits: number): number {
  const bits = Math.min(8, Math.max(0, prefixBits - byteIndex * 8));
  return (0xff << (8 - bits)) & 0xff;
}
