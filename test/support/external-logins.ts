import assert from 'node:assert/strict';
import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';

/** The service may call this machine, and believes what address its callers say they have. */
export const OUTSIDE_ENV = {
  CV_OUTBOUND_ALLOW: '127.0.0.1,localhost',
  CV_TRUSTED_PROXIES: '127.0.0.1',
  CV_AUDIENCE: 'https://coffer.example',
};

let callers = 0;

/** From an address of its own, so that what is limited by address does not get in the way. */
export function fromElsewhere(): Record<string, string> {
  callers++;
  return { 'x-forwarded-for': `198.51.${100 + Math.floor(callers / 250)}.${1 + (callers % 250)}` };
}

export function logInWith(service: Service, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const options = { token: null, body, headers: { ...fromElsewhere(), ...headers } };
  return service.call('POST', '/workload-identity/login', options);
}

export function exchange(
  service: Service,
  connection: string | number,
  id_token: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const options = { token: null, body: { id_token }, headers: { ...fromElsewhere(), ...headers } };
  return service.call('POST', `/app-connections/${connection}/federated-token`, options);
}

/** The entry of this answer in the log of the tenant whose token it is. */
export async function entryOf(service: Service, answer: Answer, token = service.adminToken): Promise<Answer['body']> {
  const requestId = answer.headers.get('x-request-id');
  const { entries } = await ok(service.call('GET', '/v1/audit?limit=50', { token }));
  const found = entries.find(
    (entry: { request_id: string; action: string }) => entry.request_id === requestId && entry.action !== 'cert_issued',
  );
  assert.ok(found !== undefined, `no entry of ${requestId}`);
  return found;
}

/** Denied, with one answer for whatever was wrong, and with the true reason in the log. */
export async function deniedFor(
  service: Service,
  work: Promise<Answer>,
  reason: RegExp,
  more: { code?: string; token?: string; status?: number } = {},
): Promise<void> {
  const answer = await work;
  const { code = 'LOGIN_DENIED', token, status = 401 } = more;
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.error.code, code);
  assert.equal(answer.body.error.details, undefined);
  const entry = await entryOf(service, answer, token);
  assert.match(entry.reason, reason);
  assert.equal(entry.decision, 'deny');
  assert.ok(!answer.text.includes(entry.reason), 'the answer tells the reason');
}
