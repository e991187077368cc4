import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { TOTP } from '../../server/src/features/mfa/factors/index.ts';
import { passkeysOf } from '../../server/src/features/mfa/passkeys/passkey-store.ts';
import { sealSecret } from '../../server/src/features/mfa/service.ts';
import { issueToken } from '../../server/src/features/tokens/index.ts';
import { insertToken } from '../../server/src/features/tokens/storage/index.ts';
import { insertNew, newUser } from '../../server/src/features/users/index.ts';
import { findUser, USERS } from '../../server/src/features/users/storage/index.ts';
import type { Role } from '../../server/src/kernel/authz/roles.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { COST_DEFAULT } from '../../server/src/kernel/crypto/argon2-cost.ts';
import { hashPassword, setPasswordCost } from '../../server/src/kernel/crypto/passwords.ts';
import type { Kernel } from '../../server/src/kernel/request/kernel.ts';
import { recorded } from './rows.ts';
import type { Answer, CallOptions, Service } from './service.ts';

/** Somebody of a tenant, with a password and a personal access token without limits. */
export interface Person {
  id: string;
  email: string;
  password: string;
  token: string;
  /** Undefined for the tenant that runs the installation, which a login need not name. */
  tenant: string | undefined;
}

export interface Tenant {
  id: string;
  name: string;
  owner: { id: string; email: string; token: string };
}

let made = 0;

/** A name nobody has yet, whatever ran before in this process. */
export function uniqueName(prefix: string): string {
  made++;
  return `${prefix}-${process.pid}-${made}`;
}

/** On the Enterprise plan unless told, so that no limit gets in the way of a test about something else. */
export async function addTenant(service: Pick<Service, 'call'>, more: Record<string, unknown> = {}): Promise<Tenant> {
  const name = uniqueName('tenant');
  const body = { name, plan: 'enterprise', owner_email: `owner@${name}.example`, ...more };
  const { id, owner } = await ok(service.call('POST', '/v1/tenants', { body }), 201);
  return { id, name, owner };
}

export interface NewPerson {
  role?: Role;
  /** Whose tenant they join; the installation's own unless given. */
  tenant?: Tenant;
  email?: string;
}

/** Tokens of the admins that tests added to a tenant, by its name: where there are several, one approves what another asks for. */
const adminTokens = new WeakMap<Service, Map<string | undefined, string[]>>();

function adminsOf(service: Service, tenant: Tenant | undefined): string[] {
  const byTenant = adminTokens.get(service) ?? new Map<string | undefined, string[]>();
  adminTokens.set(service, byTenant);
  const tokens = byTenant.get(tenant?.name) ?? [];
  byTenant.set(tenant?.name, tokens);
  return tokens;
}

/** By way of the API; the password is put straight into the database, so that no admin has chosen it. */
export async function addPerson(service: Service, { role = 'member', tenant, email }: NewPerson = {}): Promise<Person> {
  const address = email ?? `${uniqueName(role)}@example.com`;
  const password = `password of ${address}`;
  const by = tenant?.owner.token ?? service.adminToken;
  const body = { email: address, role };
  const made = await done(service, service.call('POST', '/v1/users', { token: by, body }), 201, tenant);
  const user = made.email === undefined ? await userOf(service, address, by) : made;
  const person = { id: user.id, email: address, password, tenant: tenant?.name, token: '' };
  await setHash(service, user.id, await hashPassword(password, 'test'));
  const session = await logIn(service, person);
  // Tests end sessions and change passwords, and go on with the token.
  const { token } = await addToken(service, session, { ends_with_sessions: false });
  if (role === 'owner' || role === 'admin') adminsOf(service, tenant).push(token);
  return { ...person, token };
}

/** As the service would have hashed it, for tests of how long a login takes; from now on it hashes so. */
export async function hashInFull(service: Service, { id, password }: Pick<Person, 'id' | 'password'>): Promise<void> {
  setPasswordCost(COST_DEFAULT);
  await setHash(service, id, await hashPassword(password, 'test'));
}

async function setHash({ app: { kernel } }: Service, userId: string, password_hash: string): Promise<void> {
  const query = kernel.database.read.selectFrom('users').select('tenant_id').where('user_id', '=', userId);
  const { tenant_id } = await query.executeTakeFirstOrThrow();
  await recorded(kernel, tenant_id, (tx) =>
    USERS.updateWhere(tx, (eb) => eb.and({ tenant_id, user_id: userId }), { password_hash }),
  );
}

async function userOf(service: Service, email: string, token: string): Promise<Answer['body']> {
  const users = await allPages(service, '/v1/users', 'users', { token });
  return users.find((user) => user.email === email.toLowerCase());
}

export interface Colleague {
  id: string;
  email: string;
  token: string;
}

/**
 * Somebody with a token and without a password, put straight into the database: for tests that need many, or need them to be there before
 * anybody has to approve that.
 */
export async function addColleague(
  service: Service,
  tenantId: string,
  role: Role,
  more: { mfaAt?: number } = {},
): Promise<Colleague> {
  const { kernel } = service.app;
  const now = service.clock.now();
  const row = newUser(tenantId, { email: `${uniqueName(role)}@example.com`, name: '', role, password_hash: '' }, now);
  const token = { kind: 'pat', name: 'colleague', expiresAt: now + 90 * DAY_MS } as const;
  const issued = await issueToken(kernel, { tenantId, userId: row.user_id, ...token, ...more });
  const factor = more.mfaAt === undefined ? null : await oldFactor(kernel, tenantId, row.user_id);
  await recorded(kernel, tenantId, async (tx) => {
    await insertNew(tx, row);
    await insertToken(tx, issued.row, row);
    if (factor !== null) await TOTP.insert(tx, factor);
  });
  return { id: row.user_id, email: row.email, token: issued.token };
}

/** A personal access token of somebody who has no password to log in with. */
export async function patOf({ app: { kernel }, clock }: Service, tenantId: string, userId: string): Promise<string> {
  const user = await findUser(kernel.database.read, tenantId, userId);
  assert.ok(user !== undefined, userId);
  const pat = { kind: 'pat', name: 'theirs', expiresAt: clock.now() + 90 * DAY_MS } as const;
  const issued = await issueToken(kernel, { tenantId, userId, ...pat });
  await recorded(kernel, tenantId, (tx) => insertToken(tx, issued.row, user));
  return issued.token;
}

/** A second factor enrolled long enough ago to open fortress secrets, whose secret nobody knows. */
async function oldFactor(kernel: Kernel, tenant_id: string, user_id: string) {
  const confirmed_at = kernel.clock.now() - 2 * DAY_MS;
  const sealed_secret = await sealSecret(kernel, tenant_id, user_id, randomBytes(20));
  return { tenant_id, user_id, sealed_secret, confirmed_at, last_step: 0, created_at: confirmed_at, trusted_at: null };
}

/** Of what must have this status, or else waits: then an admin that a test has added approves it. */
export async function done(
  service: Service,
  answer: Promise<Answer>,
  status: number,
  tenant?: Tenant,
): Promise<Answer['body']> {
  const { status: actual, body, text } = await answer;
  if (actual !== 202) {
    assert.equal(actual, status, text);
    return body;
  }
  for (const token of adminsOf(service, tenant)) {
    const decided = await approve(service, body.approval_id, token);
    if (decided.status === 200) return completed(decided.body);
  }
  assert.fail(`nobody could approve ${text}`);
}

/** Asserts that it waits, and approves it with this token; answers the approval. */
export async function approved(
  service: Pick<Service, 'call'>,
  answer: Promise<Answer>,
  by: string,
): Promise<Answer['body']> {
  const { approval_id } = await ok(answer, 202);
  return completed(await ok(approve(service, approval_id, by)));
}

/** Reads it first, as an approver does, and sends the digest of what was seen; a caller without the right to read it sends a wrong one. */
export async function approve(
  service: Pick<Service, 'call'>,
  approvalId: string,
  by: string,
  body: object = {},
): Promise<Answer> {
  const seen = await service.call('GET', `/approvals/${approvalId}`, { token: by });
  const digest = seen.body?.digest ?? 'nothing';
  return service.call('POST', `/approvals/${approvalId}/approve`, { token: by, body: { digest, ...body } });
}

function completed(approval: Answer['body']): Answer['body'] {
  assert.equal(approval.status, 'completed', JSON.stringify(approval.failure));
  return approval;
}

/** A session token. */
export async function logIn(service: Service, person: Omit<Person, 'token'>, more: object = {}): Promise<string> {
  return (await ok(tryLogIn(service, person, more), 200)).token;
}

export function tryLogIn(
  service: Service,
  { email, password, tenant }: Pick<Person, 'email' | 'password' | 'tenant'>,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = { email, password, ...(tenant !== undefined && { tenant }), ...more };
  return service.call('POST', '/auth/login', { token: null, body, headers });
}

/** A session of somebody whose password nobody knows any more, put straight into the database; with `isFactorShown`, as if they had shown their app or, if they have one, their passkey. */
export async function openSession(
  { app: { kernel } }: Service,
  userId: string,
  { isFactorShown = false } = {},
): Promise<string> {
  const query = kernel.database.read.selectFrom('users').selectAll().where('user_id', '=', userId);
  const owner = await query.executeTakeFirstOrThrow();
  const { tenant_id: tenantId } = owner;
  const facts = { tenantId, userId, kind: 'session', name: 'login', method: 'password' } as const;
  const now = kernel.clock.now();
  const mfaAt = isFactorShown ? now : null;
  const issued = await issueToken(kernel, { ...facts, mfaAt, expiresAt: now + DAY_MS / 2 });
  const [passkey] = isFactorShown ? await passkeysOf(kernel.database.read, tenantId, userId) : [];
  const factor = passkey?.passkey_id ?? null;
  await recorded(kernel, tenantId, (tx) => insertToken(tx, { ...issued.row, factor }, owner));
  return issued.token;
}

/** A personal access token made with another token or a session. */
export async function addToken(service: Service, by: string, more: object = {}): Promise<Answer['body']> {
  return ok(service.call('POST', '/auth/tokens', { token: by, body: { name: uniqueName('token'), ...more } }), 201);
}

/** The body of an answer that must have this status. */
export async function ok(answer: Promise<Answer>, status = 200): Promise<Answer['body']> {
  const { status: actual, body, text } = await answer;
  assert.equal(actual, status, text);
  return body;
}

/** Asserts a refusal by its status and code; answers the error for a closer look. */
export async function refused(answer: Promise<Answer>, status: number, code: string): Promise<Answer['body']> {
  const { status: actual, body, text } = await answer;
  assert.equal(actual, status, text);
  assert.equal(body.error.code, code);
  return body.error;
}

/** Asserts a 422 that points at this field. */
export async function invalid(answer: Promise<Answer>, pointer: string): Promise<void> {
  const error = await refused(answer, 422, 'VALIDATION_FAILED');
  const pointers: string[] = error.details.fields.map((field: { pointer: string }) => field.pointer);
  assert.ok(pointers.includes(pointer), `${pointer} is not among ${pointers}`);
}

/** Asserts a 413 that points at this field. */
export async function tooLarge(answer: Promise<Answer>, pointer: string): Promise<void> {
  const { details } = await refused(answer, 413, 'PAYLOAD_TOO_LARGE');
  assert.deepEqual(
    details.fields.map((field: { pointer: string }) => field.pointer),
    [pointer],
  );
}

/** Every row of a list, page by page; fails if a row comes twice. */
export async function allPages(
  service: Service,
  path: string,
  noun: string,
  options: CallOptions = {},
): Promise<Answer['body'][]> {
  const rows: Answer['body'][] = [];
  let cursor: string | null = null;
  do {
    const url: string = cursor === null ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
    const page: Answer['body'] = await ok(service.call('GET', url, options));
    rows.push(...page[noun]);
    cursor = page.next_cursor;
  } while (cursor !== null);
  const ids = rows.map((row) => row.id ?? row.user_id ?? row.key_id ?? row.name);
  assert.equal(new Set(ids).size, ids.length, 'a row came twice');
  return rows;
}

/** What the service's clock moves on by in `holdClock`: enough that it runs on, too little to end a back-off. */
const HELD_STEP_MS = 50;

/** Waits with the service's clock standing still: how long a hash takes here must not decide what is blocked. */
export async function holdClock<T>(service: Service, work: Promise<T>): Promise<T> {
  service.clock.hold();
  try {
    return await work;
  } finally {
    service.clock.release(HELD_STEP_MS);
  }
}
