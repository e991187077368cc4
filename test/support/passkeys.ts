import { type Deviations, SoftwarePasskey } from './authenticator.ts';
import { fromElsewhere } from './external-logins.ts';
import { addPerson, addTenant, logIn, ok, type Person, uniqueName } from './people.ts';
import type { Answer, Service } from './service.ts';

/** Browsers make passkeys for localhost, not for the address that tests connect to. */
export function originOf(service: Service): string {
  return `http://localhost:${service.app.kernel.addresses.port}`;
}

export function enrolmentOptions(service: Service, session: string): Promise<Answer['body']> {
  return ok(service.call('POST', '/auth/mfa/passkeys/options', { token: session }));
}

export function sendPasskey(service: Service, session: string, response: object, name = 'laptop'): Promise<Answer> {
  return service.call('POST', '/auth/mfa/passkeys', { token: session, body: { name, response } });
}

export interface Enrolled {
  passkey: SoftwarePasskey;
  id: string;
}

export async function enrolPasskey(
  service: Service,
  session: string,
  shape: ConstructorParameters<typeof SoftwarePasskey>[1] = {},
): Promise<Enrolled> {
  const passkey = new SoftwarePasskey(originOf(service), shape);
  const { options } = await enrolmentOptions(service, session);
  const { id } = await ok(sendPasskey(service, session, passkey.create(options), uniqueName('passkey')), 201);
  return { passkey, id };
}

/** A person's first passkey, right after they logged in with a password. */
export async function firstPasskey(service: Service, person: Person): Promise<Enrolled> {
  return enrolPasskey(service, await logIn(service, person));
}

export async function signInOptions(service: Service): Promise<Answer['body']> {
  const requesting = service.call('POST', '/auth/passkeys/options', { token: null, headers: fromElsewhere() });
  return (await ok(requesting)).options;
}

/** Sends what an authenticator answered. */
export function sendSignIn(service: Service, response: object): Promise<Answer> {
  return service.call('POST', '/auth/passkeys/login', { token: null, body: { response }, headers: fromElsewhere() });
}

export async function trySignIn(
  service: Service,
  passkey: SoftwarePasskey,
  deviations: Deviations = {},
): Promise<Answer> {
  return sendSignIn(service, passkey.get(await signInOptions(service), deviations));
}

/** A session that was opened with the passkey. */
export async function signIn(service: Service, passkey: SoftwarePasskey): Promise<string> {
  return (await ok(trySignIn(service, passkey))).token;
}

/** What the audit log has as the reason of a refusal. */
export async function reasonOf(service: Service, answer: Answer, token?: string): Promise<string> {
  const id = answer.headers.get('x-request-id');
  const options = token === undefined ? {} : { token };
  const { entries } = await ok(service.call('GET', '/v1/audit?decision=deny', options));
  return entries.find((entry: { request_id: string }) => entry.request_id === id)?.reason ?? '';
}

/** An admin of a tenant of their own, and how they write a fortress secret. */
export async function fortressAdmin(service: Service) {
  const tenant = await addTenant(service);
  const person = await addPerson(service, { tenant, role: 'admin' });
  const name = uniqueName('keep');
  const made = { token: tenant.owner.token, body: { name, environment: 'development' } };
  await ok(service.call('POST', '/v1/vaults', made), 201);
  const body = { path: 'gold', value: 'bar', protection: 'fortress' };
  const write = (token: string) => service.call('POST', `/v1/vaults/${name}/secrets`, { token, body });
  return { person, write };
}
