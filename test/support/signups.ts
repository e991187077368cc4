import assert from 'node:assert/strict';
import { type MailServer, textPart } from './mail-server.ts';
import { ok, uniqueName } from './people.ts';
import type { Answer, Service } from './service.ts';
import { until } from './until.ts';

/** Somebody who signs up, from a network of their own unless told. */
export interface Applicant {
  email: string;
  password: string;
  organization: string;
}

export const SIGNUP_ENV = { CV_SIGNUP: 'on', CV_TRUSTED_PROXIES: '127.0.0.1', CV_MAIL_FROM: 'coffer@service.example' };

let networks = 0;

/** An address nobody has sent from yet. */
export function newNetwork(): string {
  networks++;
  return `198.18.${Math.floor(networks / 250)}.${(networks % 250) + 1}`;
}

export function newApplicant(more: Partial<Applicant> = {}): Applicant {
  const name = uniqueName('applicant');
  return { email: `${name}@example.com`, password: `tulips of ${name}`, organization: `Firm ${name}`, ...more };
}

export function post(service: Service, path: string, body: unknown, network = newNetwork()): Promise<Answer> {
  return service.call('POST', path, { token: null, body, headers: { 'x-forwarded-for': network } });
}

export const mailTo = (server: MailServer, email: string) => server.received.filter(({ to }) => to.includes(email));

/** The token in the newest of so many mails to the address. */
export async function tokenIn(server: MailServer, email: string, mails = 1): Promise<string> {
  await until(`${mails} mails to ${email}`, () => mailTo(server, email).length >= mails);
  const text = textPart(mailTo(server, email).at(-1)?.source ?? '');
  const [token] = /cv_verify_[0-9A-Za-z]+/.exec(text) ?? [];
  assert.ok(token !== undefined, text);
  return token;
}

export interface SignedUp {
  tenantId: string;
  tenant: string;
  /** A session of the owner. */
  token: string;
}

/** Signs up, verifies the address and logs in. */
export async function signedUp(service: Service, server: MailServer, applicant = newApplicant()): Promise<SignedUp> {
  await ok(post(service, '/saas/signup', applicant), 201);
  const { email, password } = applicant;
  const token = await tokenIn(server, email);
  const { tenant_id, tenant } = await ok(post(service, '/saas/verify', { token, password }));
  const session = await ok(post(service, '/auth/login', { email, password, tenant }));
  return { tenantId: tenant_id, tenant, token: session.token };
}
