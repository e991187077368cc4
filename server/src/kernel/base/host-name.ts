import { cidrContains, parseCidr } from './cidr.ts';

const FORM = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const NUMERIC_END = /(?:^|\.)(?:\d+|0x[\da-f]*)$/i;

/**
 * Whether the text is a host name to look up. A trailing dot is rejected, so that a host has one spelling. A numeric last label would make an IPv4
 * address in a form that programs read differently (127.1, 0177.0.0.1, 0x7f000001), so it is rejected too.
 */
export function isHostName(text: string): boolean {
  return FORM.test(text) && !NUMERIC_END.test(text);
}

const LOOPBACK = ['127.0.0.0/8', '::1'].map((text) => parseCidr(text)).filter((range) => range !== null);

/** Whether only programs on the same machine can connect to it. */
export function isOnThisMachine(host: string): boolean {
  return host === 'localhost' || LOOPBACK.some((range) => cidrContains(range, host));
}
