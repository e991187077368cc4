import type { IncomingMessage } from 'node:http';

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/**
 * A part of a header without the spaces and tabs around it (RFC 9110, 5.6.3). `trim` would also remove the byte 0xA0, which is part of a name for
 * browsers and proxies: what they hold for another cookie, address or value would count as the one that the service looks for.
 */
export function headerPart(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t';
}

/** Responses are never cached, framed, sniffed or used as a page. */
export function securityHeaders(isHttps: boolean): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    ...(isHttps && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
  };
}

/** The service's own pages may load only their own style and script, and connect only to the service itself. */
export const PAGE_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** RFC 3986, 3.2, without the comma, which joins a header that was sent twice. */
const HOST = /^[\w.~%!$&'()*+;=:[\]-]*$/;

/** Why the Host header is refused (RFC 9112, 3.2). With two of them, proxies that use different ones would disagree about the destination. */
export function hostProblem({ headers: { host }, httpVersion }: IncomingMessage): string | null {
  if (host === undefined) return httpVersion === '1.1' ? 'Send a Host header.' : null;
  return HOST.test(host) ? null : 'Send one Host header: a host name or address, optionally with a port.';
}
