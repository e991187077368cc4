import { randomBytes } from 'node:crypto';
import { isCommonPassword } from '../../../../detection/src/index.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import { CredentialText } from '../../kernel/crypto/credential-text.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { hashPassword, verifyPassword } from '../../kernel/crypto/passwords.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import { findTenantByName } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { canonicalEmail } from '../../kernel/wire/wire.ts';
import { mailSettings, prepareMail, queueMail } from '../mail/index.ts';
import { beginTry, verificationSubjects } from '../sessions/index.ts';
import { type CreationPorts, insertPrepared, prepareTenant } from '../tenants/index.ts';
import { hasAccountAnywhere } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { countSignup } from './signup-limits.ts';
import { verificationMail } from './signup-mail.ts';
import * as store from './signup-store.ts';

const PURPOSE = 'signup';
export const VERIFICATION_TOKEN = new CredentialText('cv_verify_');
export const VERIFICATION_TTL_MS = 24 * HOUR_MS;
/** How long a sign-up that nobody verifies is stored. */
export const SIGNUP_RETENTION_MS = 7 * DAY_MS;
/** Sign-ups share the slots in which passwords are hashed, so that they never delay logins much. */
const QUEUE_KEY = 'sign-up';

const PENDING = 'pending_verification' as const;

/** The tenant that will exist once the address is verified. */
interface Signup {
  email: string;
  organization: string;
  password_hash: string;
  tenant_id: string;
  token_hash: string;
  expires_at: number;
  /** Nobody signed up, and nobody gets the token. */
  isDecoy: boolean;
  /** Whether some account has the address, which the mail says. Absent in what an earlier release stored. */
  hasAccount?: boolean;
}

/**
 * An address with an account gets the same response after the same work: a password hash, a sealed row, a mail. Anybody can make an account for any
 * address in a tenant of their own, so it keeps nobody from signing up.
 */
export async function signUp(ctx: Context, body: Body<typeof contract.signUp>) {
  const email = begin(ctx, body.email);
  requireUncommon(body.password, email);
  const isMailed = await countSignup(ctx, email);
  const hasAccount = await hasAccountAnywhere(ctx.database.read, email);
  const password_hash = await hashPassword(body.password, QUEUE_KEY);
  const tenant_id = newId('tenant', ctx.now);
  const token = VERIFICATION_TOKEN.create();
  const given = { email, organization: body.organization, password_hash, tenant_id };
  const signup = { ...given, isDecoy: false, hasAccount, ...lifeOf(ctx, token) };
  return replaceSignup(ctx, { signup, token }, { isSent: true, isMailed }, { tenant_id, status: PENDING });
}

function requireUncommon(password: string, email: string): void {
  if (!isCommonPassword(password) && password.toLowerCase() !== email) return;
  throw invalidField('/body/password', 'is one of the first that anybody would guess: choose another one');
}

/**
 * The same work for an address that has no sign-up to verify: it gets a row too, which nobody can verify, and its mail is discarded. Otherwise the
 * time would tell who has signed up.
 */
export async function resend(ctx: Context, body: Body<typeof contract.resendVerification>) {
  const email = begin(ctx, body.email);
  const isMailed = await countSignup(ctx, email);
  const { kernel } = ctx;
  const key = keyOf(kernel, email);
  const token = VERIFICATION_TOKEN.create();
  const tenant_id = newId('tenant', ctx.now);
  const nobody = { email, organization: '', password_hash: '', tenant_id, isDecoy: true, ...lifeOf(ctx, token) };
  const none = { ...key, sealed_signup: await sealed(kernel, nobody) };
  const row = await store.findSignup(ctx.database.read, key);
  const pending = await opened(kernel, row ?? none);
  const how = { isSent: !pending.isDecoy, isMailed, replaces: row ?? null };
  return replaceSignup(ctx, { signup: { ...pending, ...lifeOf(ctx, token) }, token }, how, { status: PENDING });
}

function begin(ctx: Context, address: string): string {
  requireSignup(ctx);
  const email = canonicalEmail(address);
  ctx.record.setResource('signup');
  ctx.caller.identify(ctx.kernel.operatorTenantId, { kind: 'anonymous', id: '', name: email, key: '' });
  return email;
}

function lifeOf(ctx: Context, token: string): Pick<Signup, 'token_hash' | 'expires_at'> {
  return { token_hash: sha256(token).toString('base64url'), expires_at: ctx.now + VERIFICATION_TTL_MS };
}

interface Replacement {
  /** Whether a mail leaves, or only the work of one is done. */
  isSent: boolean;
  /** Whether the mailbox may get mail today. If not, nothing changes. */
  isMailed: boolean;
  /** For a resend: the row that it renews, or null if there is none. */
  replaces?: store.SignupRow | null;
}

/** Changes what is stored, if anything is to change, and responds in any case. */
async function replaceSignup<T>(
  ctx: Context,
  { signup, token }: { signup: Signup; token: string },
  how: Replacement,
  response: T,
): Promise<T> {
  const { kernel } = ctx;
  const key = keyOf(kernel, signup.email);
  const sealed_signup = await sealed(kernel, signup);
  const { baseUrl } = kernel.addresses;
  const message = verificationMail(signup.email, { baseUrl, token, hasAccount: signup.hasAccount === true });
  const mail = await prepareMail(kernel, kernel.operatorTenantId, { kind: 'signup', message }, { isSent: how.isSent });
  return ctx.change(async (tx) => {
    const before = await store.lockSignup(tx, key);
    if (how.replaces !== undefined && !isSame(before, how.replaces)) return response;
    if (!how.isMailed) return response;
    await queueMail(tx, mail);
    await store.putSignup(tx, {
      ...key,
      token_hash: Buffer.from(signup.token_hash, 'base64url'),
      sealed_signup,
      created_at: how.replaces?.created_at ?? ctx.now,
    });
    return response;
  });
}

/** A sign-up that was verified or replaced meanwhile is not brought back by a resend. */
function isSame(before: store.SignupRow | undefined, known: store.SignupRow | null): boolean {
  if (before === undefined || known === null) return before === undefined && known === null;
  return Buffer.compare(before.token_hash, known.token_hash) === 0;
}

/**
 * Creates the tenant. The token has 256 random bits, so response time reveals nothing useful. Anyone who signs up need not own the address, so the
 * password that they chose opens nothing until the owner of the address, who has the token, gives it too.
 */
export async function verify(ctx: Context, ports: CreationPorts, body: Body<typeof contract.verifySignup>) {
  requireSignup(ctx);
  const { kernel } = ctx;
  ctx.record.setResource('signup');
  ctx.caller.identify(kernel.operatorTenantId, { kind: 'anonymous', id: '', name: '', key: '' });
  const hash = sha256(body.token);
  const row = VERIFICATION_TOKEN.matches(body.token)
    ? await store.findSignupByToken(ctx.database.read, hash)
    : undefined;
  const signup = row === undefined ? null : await opened(kernel, row);
  if (row === undefined || signup === null || signup.isDecoy || signup.token_hash !== hash.toString('base64url')) {
    throw denied('no such sign-up');
  }
  ctx.caller.identify(kernel.operatorTenantId, { kind: 'anonymous', id: '', name: signup.email, key: '' });
  if (signup.expires_at <= ctx.now || signup.expires_at > ctx.now + VERIFICATION_TTL_MS)
    throw denied('the token has expired');
  const password_hash = await confirmedPassword(ctx, signup, body);
  const made = await prepareTenant(kernel, {
    name: await freeName(ctx.database.read, signup.organization),
    plan: 'starter',
    rates: {},
    isOperator: false,
    ownerEmail: signup.email,
    tenantId: signup.tenant_id,
    password_hash,
  });
  const isReplaced = body.replace_password === true;
  ctx.record.describe({ tenant: made.row.tenant_id, name: made.row.name, password_replaced: isReplaced });
  return ctx.change(async (tx) => {
    const current = await store.lockSignup(tx, row);
    if (current === undefined || !hash.equals(current.token_hash))
      throw denied('the token was used or replaced meanwhile');
    await insertPrepared(ctx, tx, ports, made);
    await store.deleteSignup(tx, row);
    return { tenant_id: made.row.tenant_id, tenant: made.row.name, status: 'active' as const };
  });
}

/** The hash of the password that the owner will log in with. */
async function confirmedPassword(
  ctx: Context,
  signup: Signup,
  { token, password, replace_password }: Body<typeof contract.verifySignup>,
): Promise<string> {
  await beginTry(ctx.database, verificationSubjects(sha256(token)), ctx.now, 'attempts to verify');
  if (replace_password === true) {
    requireUncommon(password, signup.email);
    return hashPassword(password, QUEUE_KEY);
  }
  if (await verifyPassword(password, signup.password_hash, QUEUE_KEY)) return signup.password_hash;
  throw new CofferError(
    'LOGIN_DENIED',
    'This is not the password of the newest sign-up with this address. The token is still valid: send that password, or one of your choice with "replace_password": true.',
    { auditReason: 'wrong password of a sign-up' },
  );
}

function requireSignup({ kernel }: Context): void {
  if (kernel.config.of(mailSettings).isSignupOn) return;
  throw new CofferError('NOT_FOUND', 'This installation offers no sign-up: ask its operator for an account.');
}

function denied(auditReason: string): CofferError {
  return new CofferError(
    'LOGIN_DENIED',
    'The token is invalid: it was used or replaced, or has expired. Request a new one with POST /saas/resend.',
    { auditReason },
  );
}

function keyOf({ operatorTenantId }: Pick<Kernel, 'operatorTenantId'>, email: string) {
  return { tenant_id: operatorTenantId, address_hash: sha256(JSON.stringify(['sign-up', email])) };
}

function sealedFor({ tenant_id, address_hash }: Pick<store.SignupRow, 'tenant_id' | 'address_hash'>) {
  return { tenantId: tenant_id, table: 'signups', row: Buffer.from(address_hash).toString('base64url') };
}

function sealed(kernel: Pick<Kernel, 'keyring' | 'operatorTenantId'>, signup: Signup): Promise<Buffer> {
  const bytes = Buffer.from(JSON.stringify(signup), 'utf8');
  return kernel.keyring.seal(PURPOSE, sealedFor(keyOf(kernel, signup.email)), bytes);
}

type SealedSignup = Pick<store.SignupRow, 'tenant_id' | 'address_hash' | 'sealed_signup'>;

async function opened(kernel: Pick<Kernel, 'keyring'>, row: SealedSignup): Promise<Signup> {
  const bytes = await kernel.keyring.unseal(PURPOSE, sealedFor(row), row.sealed_signup);
  return JSON.parse(bytes.toString('utf8')) as Signup;
}

const NAME_LENGTH_MAX = 48;
const SUFFIX_BYTES = 4;

/** The name of the tenant, which a login gives. Another tenant may have the name, which the sign-up must not reveal. */
async function freeName(db: Reader, organization: string): Promise<string> {
  const name = tenantNameOf(organization);
  const isFree = !isReservedName(name) && (await findTenantByName(db, name)) === undefined;
  return isFree ? name : `${name}-${randomBytes(SUFFIX_BYTES).toString('hex')}`;
}

export function tenantNameOf(organization: string): string {
  const plain = organization.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const name = plain
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, NAME_LENGTH_MAX)
    .replace(/-$/, '');
  return name === '' ? 'organization' : name;
}
