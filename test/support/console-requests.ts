/** Requests of the console without a browser. */

export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

/** The person whom a session belongs to, as the console names them, by the token in its cookie (`name=value`). */
export function ownerOf(cookie: string): string {
  const [, payload = ''] = cookie.slice(cookie.indexOf('=') + 1).split('.');
  const { tid, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { tid: string; sub: string };
  return `${tid}/${sub}`;
}

/** A session and whom it is meant for, without the page that sends it. */
export function sessionOf(cookie: string, owner = ownerOf(cookie)): Record<string, string> {
  return { cookie, 'x-coffer-user': owner };
}

/** What the console sends with a session. */
export function withSession(cookie: string, owner = ownerOf(cookie)): Record<string, string> {
  return { ...SAME_ORIGIN, ...sessionOf(cookie, owner) };
}

/** The cookies that an answer sets, as a browser sends them back. */
export function cookiesOf(answer: Response): string[] {
  return answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '');
}
