import type { IncomingHttpHeaders } from 'node:http';
import { SECOND_MS } from '../base/clock.ts';
import { headerPart } from '../base/headers.ts';
import type { EndpointDeclaration } from '../endpoint/declaration.ts';
import type { Reply } from '../request/reply.ts';

/**
 * Requests of the console. Every endpoint is also served below this prefix, where the session is in a cookie that scripts cannot read. Elsewhere the
 * cookie is ignored, so no page of another site can use it for a request to the API.
 */
const PREFIX = '/console/api';

/** `__Host-`: only this host can set it, over TLS or on this machine, and it is sent to no other host. */
const COOKIE = '__Host-coffer-session';
const FLAGS = 'Path=/; HttpOnly; Secure; SameSite=Strict';
const COOKIE_LENGTH_MAX = 4096;
/** Browsers delete what they cached of the console. Cookies are deleted by name, because others on the host may belong to other programs. */
const CLEAR_CACHE = '"cache"';

/** The target of a request without the prefix of the console, or null if it does not have that prefix. */
export function consoleTarget(url: string): string | null {
  return url.startsWith(`${PREFIX}/`) ? url.slice(PREFIX.length) : null;
}

/**
 * Whether a page of this origin sent the request. Cookies with SameSite=Strict are also sent by pages on another port of the same host, so the browser
 * must name the same origin. Browsers that send no Sec-Fetch-Site send an Origin with every change.
 */
export function isSameOrigin({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  // Behind a proxy the service does not know by which of the two it was reached.
  const { protocol, host: from } = new URL(origin);
  return (protocol === 'https:' || protocol === 'http:') && from === host.toLowerCase();
}

/** Whether a page in a browser sent it: browsers name where a change comes from, and other programs do not. */
export function isOfPage({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  return origin !== undefined || site !== undefined;
}

/** The session token in the cookie; null if there is none. Of two cookies with the same name, neither is trusted. */
export function sessionCookie({ cookie }: IncomingHttpHeaders): string | null {
  return cookieNamed(cookie, COOKIE, COOKIE_LENGTH_MAX);
}

export function cookieNamed(header: string | undefined, name: string, lengthMax: number): string | null {
  const pairs = (header ?? '').split(';').map(headerPart);
  const found = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  const [text] = found;
  return text === undefined || text === '' || found.length > 1 || text.length > lengthMax ? null : text;
}

interface NewSession {
  token?: string;
  expires_at?: string;
}

/** Moves the token of a new session from the response to the cookie, and deletes the cookie of a session that ended. */
export function withCookie(reply: Reply, { session }: EndpointDeclaration, now: number): Reply {
  if (session === undefined || reply.status >= 300) return reply;
  const set = (value: string, seconds: number) => `${COOKIE}=${value}; ${FLAGS}; Max-Age=${seconds}`;
  if (session === 'ends') {
    return { ...reply, headers: { ...reply.headers, 'Clear-Site-Data': CLEAR_CACHE }, cookies: [set('', 0)] };
  }
  const answer = JSON.parse(String(reply.body)) as NewSession & { session?: NewSession | null };
  const { token, ...rest } = (session === 'continues' ? answer.session : answer) ?? {};
  if (token === undefined) return reply;
  const seconds = Math.max(0, Math.floor((Date.parse(rest.expires_at ?? '') - now) / SECOND_MS));
  return {
    ...reply,
    body: JSON.stringify(session === 'continues' ? { ...answer, session: rest } : rest),
    cookies: [set(token, Number.isNaN(seconds) ? 0 : seconds)],
  };
}
