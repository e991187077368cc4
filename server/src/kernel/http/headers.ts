import type { IncomingMessage } from 'node:http';

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

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
