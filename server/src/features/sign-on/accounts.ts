import { isAdminRole } from '../../kernel/authz/roles.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota } from '../../kernel/request/quotas.ts';
import { problemsIn } from '../../kernel/request/validation.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { canonicalEmail, emailText, isMisleading } from '../../kernel/wire/wire.ts';
import {
  deleteMember,
  findGroupByIdOrName,
  groupsOfUser,
  insertMember,
  membershipOf,
} from '../groups/storage/index.ts';
import { insertNew, isMarked, newProvidedUser } from '../users/index.ts';
import { settleInvitations } from '../users/invitations/index.ts';
import { countUsers, findUser, lockUser, type UserRow, updateUser } from '../users/storage/index.ts';
import type { Claims } from './openid.ts';
import { isPublicIssuer } from './public-issuers.ts';
import { MAPPED_ROLES, type MappedRole } from './schemas.ts';
import * as store from './storage/identity-store.ts';

export const SUBJECT = /^[\x20-\x7e]{1,255}$/;
const NAME_LENGTH_MAX = 128;
const GROUPS_READ_MAX = 1000;

/** A person as their provider describes them. */
export interface Described {
  issuer: string;
  subject: string;
  identityHash: Uint8Array;
  email: string | null;
  name: string;
  role: MappedRole | null;
  /** Names of our groups that the provider decides about: those of the mapping, and whether they belong to each. */
  groups: ReadonlyMap<string, boolean>;
}

/** Who it is that signs in: the value of the claim that the provider is configured with. */
export function subjectOf(provider: store.ProviderRow, claims: Claims): string {
  const subject = claims[provider.subject_claim ?? 'sub'];
  if (typeof subject !== 'string' || !SUBJECT.test(subject)) throw denied('the subject has no usable form');
  return subject;
}

/** `provisioned` are the groups that the person has by SCIM. */
export function describePerson(provider: store.ProviderRow, claims: Claims, provisioned: readonly string[]): Described {
  const subject = subjectOf(provider, claims);
  const theirs = new Set([...groupsIn(claims[provider.groups_claim]), ...provisioned]);
  const groups = new Map<string, boolean>();
  for (const [group, ours] of entries<string>(provider.group_mapping)) {
    groups.set(ours, theirs.has(group) || groups.get(ours) === true);
  }
  return {
    issuer: provider.issuer,
    subject,
    identityHash: store.identityHash(provider, subject),
    email: emailIn(claims),
    name: nameIn(claims),
    role: roleOf(provider, theirs),
    groups,
  };
}

/** The highest role that the groups of a person give, or the default role, which would let in everybody whom the issuer of everybody knows. */
export function roleOf(provider: store.ProviderRow, groups: ReadonlySet<string>): MappedRole | null {
  const roles = entries<MappedRole>(provider.role_mapping).filter(([group]) => groups.has(group));
  const given = new Set(roles.map(([, role]) => role));
  const otherwise = isPublicIssuer(provider.issuer) ? null : provider.default_role;
  return MAPPED_ROLES.find((role) => given.has(role)) ?? otherwise;
}

/** Whether membership in the group decides a role. */
export function givesRole(provider: store.ProviderRow, group: string): boolean {
  return entries<MappedRole>(provider.role_mapping).some(([name]) => name === group);
}

function entries<T>(json: string): [string, T][] {
  return Object.entries(JSON.parse(json) as Record<string, T>);
}

function groupsIn(claim: unknown): string[] {
  const all = Array.isArray(claim) ? claim.slice(0, GROUPS_READ_MAX) : [claim];
  return all.filter((one) => typeof one === 'string');
}

/** An address that the provider says is not verified could be anybody's. */
function emailIn({ email, email_verified }: Claims): string | null {
  // Some providers leave it out for addresses that they give themselves, and some send it as a text.
  const isVerified = email_verified === undefined || email_verified === true || email_verified === 'true';
  if (typeof email !== 'string' || !isVerified || problemsIn(emailText, email, '').length > 0) return null;
  return canonicalEmail(email);
}

function nameIn({ name }: Claims): string {
  if (typeof name !== 'string' || /\p{Cc}/u.test(name) || isMisleading(name)) return '';
  return name.slice(0, NAME_LENGTH_MAX);
}

/** The account of a person: the one of their issuer and subject, or a new one that is not stored yet. */
export interface Account {
  user: UserRow;
  isNew: boolean;
}

export async function accountOf(ctx: Context, tenant: TenantRow, person: Described): Promise<Account> {
  const { read } = ctx.database;
  const { role } = person;
  if (role === null) throw denied('the groups of the person give no role, and the provider has no default role');
  const identity = await store.findIdentity(read, tenant.tenant_id, person.identityHash);
  if (identity !== undefined) {
    const user = await findUser(read, tenant.tenant_id, identity.user_id);
    if (user === undefined) throw denied('the user was deleted');
    return { user, isNew: false };
  }
  if (person.email === null) throw denied('the provider gave no verified e-mail address');
  const facts = { email: person.email, name: person.name, role, password_hash: '' };
  return { user: newProvidedUser(tenant.tenant_id, facts, ctx.now), isNew: true };
}

/**
 * Takes away what a person had by groups that give no role any more. Their sign-in is refused after that, so it is a change of its own, with
 * its own audit entry. An owner stays an owner, and a disabled user as they are.
 */
export async function takeAwayRole(ctx: Context, tenant: TenantRow, userId: string, person: Described): Promise<void> {
  const { audit, regionGate } = ctx.kernel;
  const { tenant_id } = tenant;
  if (!(await regionGate.isServedHere(tenant_id))) return;
  const headKey = await audit.headKey(tenant_id);
  const leaving = new Map([...person.groups].filter(([, isMember]) => !isMember));
  await ctx.database.transaction(async (tx) => {
    const user = await lockUser(tx, tenant_id, userId);
    if (user === undefined || user.role === 'owner' || user.status === 'disabled') return;
    const { left } = await settleGroups(ctx, tx, tenant, { userId, wanted: leaving });
    if (user.role === 'member' && left.length === 0) return;
    await updateUser(tx, tenant_id, userId, { role: 'member' });
    await settleInvitations(ctx, tx, user, { ...user, role: 'member' });
    await raiseEpoch(tx, tenant_id);
    const details = { former_role: user.role, role: 'member', left };
    const entry = ctx.record.separateEntry('auth:sso_role_removed', `user/${userId}`, details);
    await audit.recordIn(tx, [entry], headKey);
  });
}

/** Stores a new account, or brings a known one up to date. Role and groups follow the provider, except those of an owner, and so of a break-glass one: a policy may deny something to a group, and no provider can lock out an owner. */
export async function settleAccount(
  ctx: Context,
  tx: Tx,
  tenant: TenantRow,
  { account: { user, isNew }, person }: { account: Account; person: Described },
): Promise<void> {
  const before = isNew ? null : await lockUser(tx, tenant.tenant_id, user.user_id);
  if (isNew) await addAccount(ctx, tx, user, person);
  else if (before?.status !== 'active') throw denied('the user is disabled');
  else await requireIdentity(tx, before, person.identityHash);
  const role = before?.role === 'owner' ? 'owner' : person.role;
  if (role === null) throw denied('the person has no role');
  const isRoleNew = before !== null && before !== undefined && before.role !== role;
  if (isRoleNew) {
    await updateUser(tx, tenant.tenant_id, user.user_id, { role });
    await settleInvitations(ctx, tx, before, { ...before, role });
  }
  const wanted = role === 'owner' ? new Map<string, boolean>() : person.groups;
  const groups = await settleGroups(ctx, tx, tenant, { userId: user.user_id, wanted });
  ctx.record.describe({ created: isNew, role, ...(isRoleNew && { former_role: before.role }), ...groups });
  const isChanged = isRoleNew || groups.joined.length > 0 || groups.left.length > 0;
  // Admins see warnings that depend on their number, and these are cached by epoch.
  if (isChanged || (isNew && isAdminRole(role))) await raiseEpoch(tx, tenant.tenant_id);
}

/** Checked under the lock of the person: they may have unlinked the identity meanwhile, or have become a break-glass owner, whom no provider lets in. */
export async function requireIdentity(tx: Tx, user: UserRow, identityHash: Uint8Array): Promise<void> {
  const identity = await store.findIdentity(tx, user.tenant_id, identityHash);
  if (identity?.user_id !== user.user_id) throw denied('the identity was unlinked meanwhile');
  if (isMarked(user)) throw denied('no provider lets in a break-glass owner');
}

async function addAccount(ctx: Context, tx: Tx, user: UserRow, person: Described): Promise<void> {
  try {
    await insertNew(tx, user);
    await store.insertIdentity(tx, {
      tenant_id: user.tenant_id,
      identity_hash: person.identityHash,
      issuer: person.issuer,
      subject: person.subject,
      user_id: user.user_id,
      created_at: ctx.now,
    });
  } catch (error) {
    if (error instanceof UniqueViolation) throw denied('the account was created concurrently');
    if (!(error instanceof CofferError && error.code === 'ALREADY_EXISTS')) throw error;
    throw new CofferError(
      'LOGIN_DENIED',
      'There is already an account with your e-mail address that does not belong to this provider. Log in to it as before, or ask an admin to delete it.',
      { auditReason: 'the e-mail address belongs to another account' },
    );
  }
}

/** Call it before any other lock of the change. */
export async function requireRoomFor(ctx: Context, tx: Tx, tenant: TenantRow): Promise<void> {
  const limit = ctx.kernel.plans.of(tenant.plan).quotas.users;
  if (limit === Infinity) return;
  await lockQuota(tx, tenant.tenant_id, 'users');
  if ((await countUsers(tx, tenant.tenant_id)) < limit) return;
  throw new CofferError('QUOTA_EXCEEDED', 'The plan of your organization allows no further user: ask an admin.', {
    auditReason: 'quota: users',
  });
}

async function settleGroups(
  ctx: Context,
  tx: Tx,
  tenant: TenantRow,
  { userId, wanted }: { userId: string; wanted: ReadonlyMap<string, boolean> },
): Promise<{ joined: string[]; left: string[]; missing_groups?: string[] }> {
  const current = new Set(wanted.size === 0 ? [] : await groupsOfUser(tx, tenant.tenant_id, userId));
  const { members_per_group, groups_per_user } = ctx.kernel.plans.of(tenant.plan).quotas;
  const [joined, left, missing]: [string[], string[], string[]] = [[], [], []];
  for (const [name, isMember] of wanted) {
    const group = await findGroupByIdOrName(tx, tenant.tenant_id, name);
    if (group === undefined) {
      missing.push(name);
      continue;
    }
    const { group_id } = group;
    if (isMember && !current.has(group_id)) {
      const { members } = await membershipOf(tx, tenant.tenant_id, group_id);
      if (members >= members_per_group || current.size >= groups_per_user) throw denied(`quota: the group ${name}`);
      await insertMember(tx, { tenant_id: tenant.tenant_id, group_id, user_id: userId, added_at: ctx.now });
      current.add(group_id);
      joined.push(name);
    } else if (!isMember && current.delete(group_id)) {
      await deleteMember(tx, tenant.tenant_id, group_id, userId);
      left.push(name);
    }
  }
  return { joined, left, ...(missing.length > 0 && { missing_groups: missing }) };
}

/** One answer for every reason; the audit log of the tenant has the reason. */
export function denied(auditReason: string): CofferError {
  return new CofferError(
    'LOGIN_DENIED',
    'The sign-in was refused: start it again from your command line. If it is refused again, an admin finds the reason in the audit log.',
    { auditReason },
  );
}
