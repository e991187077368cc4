import assert from 'node:assert/strict';
import { fromElsewhere } from './external-logins.ts';
import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';

/** A browser and a command line that sign in with a provider, as people use them. */

export interface Device {
  device_code: string;
  user_code: string;
  verification_uri: string | null;
  interval: number;
}

export function startDevice(service: Service, more: object = {}): Promise<Device> {
  const options = { token: null, body: { client: 'cli', ...more }, headers: fromElsewhere() };
  return ok(service.call('POST', '/auth/device', options)) as unknown as Promise<Device>;
}

export function poll(service: Service, { device_code }: Pick<Device, 'device_code'>): Promise<Answer> {
  const options = { token: null, body: { device_code }, headers: fromElsewhere() };
  return service.call('POST', '/auth/device/token', options);
}

/** Sends a form as a browser does. */
export function sendForm(
  service: Service,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return service.call('POST', path, {
    token: null,
    body: new URLSearchParams(fields).toString(),
    headers: {
      ...fromElsewhere(),
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
  });
}

/** The fields that a form on a page would send. */
export function hiddenFields(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="([a-z_]+)" value="([^"]*)">/g);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

export interface Begun {
  answer: Answer;
  /** The cookie as a browser sends it back. */
  cookie: string;
  /** Where the page leads. */
  authorizationUrl: string;
}

/** The code that the person reads from their command line, by the cookie of the sign-in. */
const codes = new Map<string, string>();

export async function begin(
  service: Service,
  provider: string,
  device: Pick<Device, 'user_code'>,
  tenant?: string,
): Promise<Begun> {
  const fields = { user_code: device.user_code, ...(tenant !== undefined && { tenant }) };
  const answer = await sendForm(service, `/auth/sso/${provider}`, fields);
  assert.equal(answer.status, 200, answer.text);
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  codes.set(cookie, device.user_code);
  const [, address = ''] = /<a href="([^"]+)"/.exec(answer.text) ?? [];
  return { answer, cookie, authorizationUrl: unescaped(address) };
}

/** The provider sends the browser to `callbackUrl`; the person types the code once more. */
export async function finish(service: Service, callbackUrl: string, cookie: string): Promise<Answer> {
  const { pathname, search } = new URL(callbackUrl);
  const shown = await service.call('GET', `${pathname}${search}`, {
    token: null,
    headers: { ...fromElsewhere(), cookie },
  });
  if (shown.status !== 200) return shown;
  const [, action = ''] = /<form method="post" action="([^"]+)">/.exec(shown.text) ?? [];
  return confirm(service, unescaped(action), hiddenFields(shown.text), cookie);
}

/** The last form of a sign-in for a command line, with the code that was typed into the first one. */
export function confirm(
  service: Service,
  path: string,
  fields: Record<string, string>,
  cookie: string,
): Promise<Answer> {
  return sendForm(service, path, { ...fields, user_code: codes.get(cookie) ?? 'NONE-NONE' }, { cookie });
}
