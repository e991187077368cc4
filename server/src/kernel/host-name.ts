const FORM = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const NUMERIC_END = /(?:^|\.)(?:\d+|0x[\da-f]*)$/i;

/**
 * A name to be looked up, without a trailing dot: a host has one spelling. A last label that is a number makes an IPv4 address in a form
 * that programs read differently (127.1, 0177.0.0.1, 0x7f000001), so it is no name.
 */
export function isHostName(text: string): boolean {
  return FORM.test(text) && !NUMERIC_END.test(text);
}
