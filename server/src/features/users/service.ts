import { isAdminRole, type Role } from '../../kernel/authz/roles.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { hashPassword } from '../../kernel/crypto/passwords.ts';
import { requireRoom } from '../../kernel/limits/quotas.ts';
import { timestamp } from '../../kernel/platform/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/platform/errors.ts';
import { idForm, newId } from '../../kernel/platform/ids.ts';
import type { Ports, Removal } from '../../kernel/platform/wiring.ts';
import type { Basis, Difference } from '../../kernel/request/approval.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Body, Output, Query } from '../../kernel/request/declaration.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { canonicalEmail, DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/request/wire.ts';
import { decodeCursor } from '../../kernel/storage/cursor.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { invitationNotice, noticesOf, queueMail } from '../mail/index.ts';
import type * as contract from './contract.ts';
import { type Invitation, readUser, type User } from './contract.ts';
import { issueInvitation, requireInviter } from './invitation.ts';
import { deleteInvitation, deleteInvitationsBy, lockInvitation, putInvitation } from './invitation-store.ts';
import type { UserRow } from './store.ts';
import * as store from './store.ts';

declare module '../../kernel/platform/wiring.ts' {
  interface Ports {
    /** Revokes all of a user's tokens and sessions; returns counts for the audit log. */
    revokeTokensOf(tx: Tx, tenantId: string, userId: string, now: number): Promise<Record<string, number>>;
    /** The time from which their second factor is trusted; null without one. */
    secondFactorSince(tx: Tx, tenantId: string, userId: string): Promise<number | null>;
  }
  interface Removals {
    user(tx: Tx, tenantId: string, userId: string): Promise<void>;
  }
}

export type UserPorts = Pick<Ports, 'revokeTokensOf' | 'secondFactorSince'>;

const USERS: Items<UserRow> = {
  permissions: [readUser.permission],
  resources: ({ user_id }) => [`user/${user_id}`],
};

export class Users {
  readonly #ports: UserPorts;
  readonly #removed: Removal<'user'>;

  constructor(ports: UserPorts, removed: Removal<'user'>) {
    this.#ports = ports;
    this.#removed = removed;
  }

  async create(ctx: Context, body: Body<typeof contract.createUser>): Promise<Output<typeof contract.createUser>> {
    const isInvited = body.invite === true;
    if (isInvited && body.password !== undefined) {
      throw invalidField(
        '/body/password',
        'cannot be combined with invite, because the invited user chooses the password: omit one of them',
      );
    }
    const role = body.role ?? 'member';
    if (role !== 'member') ctx.access.requireUnrestricted();
    requireOwnerFor(ctx, role);
    if (isAdminRole(role)) await ctx.access.requireProofToGrant(EVERY_VAULT);
    const password_hash = body.password === undefined ? '' : await hashPassword(body.password, ctx.tenantId);
    const facts = { email: body.email, name: body.name ?? '', role, password_hash };
    const row = { ...newUser(ctx.tenantId, facts, ctx.now), ...(isInvited && INVITED) };
    const invitation = isInvited ? issueInvitation(ctx, row.user_id) : null;
    const notices = isInvited ? await noticesOf(ctx.kernel, ctx.tenantId, 'invitations') : null;
    ctx.record.describe({ email: row.email, role, ...setsPassword(body), ...(isInvited && { invites: true }) });
    return ctx.change(async (tx) => {
      await requireRoom(ctx, tx, 'users', { used: () => store.countUsers(tx, ctx.tenantId) });
      await insertNew(tx, row);
      if (invitation !== null) {
        await putInvitation(tx, invitation.row);
        await queueInvitation(ctx, tx, notices, row.email, invitation.shown.token);
      }
      // Admins see warnings that depend on their number, and these are cached by epoch.
      if (isAdminRole(role)) await raiseEpoch(tx, ctx.tenantId);
      if (role !== 'member') await ctx.needsApproval(tx);
      ctx.record.describe({ user: row.user_id });
      return { ...toWire(row), ...(invitation !== null && { invitation: invitation.shown }) };
    });
  }

  async invite(ctx: Context, userId: string): Promise<Invitation> {
    ctx.access.requireUnrestricted();
    const { row, shown } = issueInvitation(ctx, userId);
    const notices = await noticesOf(ctx.kernel, ctx.tenantId, 'invitations');
    return ctx.change(async (tx) => {
      const user = await lockChangeable(ctx, tx, userId);
      ctx.record.describe({ email: user.email, role: user.role });
      if (!isInvitable(user)) {
        throw new CofferError(
          'IN_USE',
          'Only a user without a password can be invited: set a new password for this one with PATCH /v1/users/{user_id}.',
        );
      }
      // The user may have been granted rights since, and whoever holds the token can act as them.
      await ctx.access.requireProofToGrant(EVERY_VAULT);
      await requireInviter(ctx, tx, user);
      await putInvitation(tx, row);
      await queueInvitation(ctx, tx, notices, user.email, shown.token);
      if (user.status !== 'invited') {
        await store.updateUser(tx, ctx.tenantId, userId, INVITED);
        ctx.record.describe(await this.#ports.revokeTokensOf(tx, ctx.tenantId, userId, ctx.now));
        await raiseEpoch(tx, ctx.tenantId);
      }
      return shown;
    });
  }

  async list(ctx: Context, query: Query<typeof contract.listUsers>) {
    const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('user')) ?? [];
    const limit = query.limit ?? LIST_LIMIT_DEFAULT;
    const page = await visiblePage(ctx, await store.listUsers(ctx.database.read, ctx.tenantId, after, limit), USERS);
    return { users: page.rows.map(toWire), next_cursor: page.next_cursor };
  }

  async read(ctx: Context, userId: string): Promise<User> {
    const row = await store.findUser(ctx.database.read, ctx.tenantId, userId);
    if (row === undefined) throw notFound('user');
    return toWire(row);
  }

  async update(ctx: Context, userId: string, body: Body<typeof contract.updateUser>): Promise<User> {
    if (body.role !== undefined || body.password !== undefined) ctx.access.requireUnrestricted();
    if (body.password !== undefined && userId === ctx.principal.id) {
      throw invalidField(
        '/body/password',
        'cannot be set on your own account here: use POST /auth/password, which requires the current password',
      );
    }
    const password_hash = body.password === undefined ? undefined : await hashPassword(body.password, ctx.tenantId);
    const { password: _, name: __, ...shown } = body;
    ctx.record.describe({ changed: Object.keys(body), ...shown, ...setsPassword(body) });
    return ctx.change(async (tx) => {
      const row = await lockChangeable(ctx, tx, userId);
      if (body.role !== undefined && body.role !== row.role) requireOwnerFor(ctx, body.role);
      // Whoever sets a user's password can act as them.
      const isGiven = body.password !== undefined || (isAdminRole(body.role ?? null) && !isAdminRole(row.role));
      if (isGiven) await ctx.access.requireProofToGrant(EVERY_VAULT);
      const { password: _, ...plain } = body;
      // A user who is given a password no longer needs an invitation.
      const isLetIn = row.status === 'invited' && password_hash !== undefined;
      const changed: UserRow = {
        ...row,
        ...(isLetIn && ACTIVE),
        ...plain,
        ...(password_hash !== undefined && { password_hash }),
      };
      if (isActiveOwner(row) && !isActiveOwner(changed)) await keepAnOwner(ctx, tx, userId);
      const basis = await this.#basisOn(ctx, tx, row);
      await store.updateUser(tx, ctx.tenantId, userId, changed);
      await settleInvitations(ctx, tx, row, changed);
      const isCutOff = password_hash !== undefined || changed.status === 'disabled';
      const ended = isCutOff ? await this.#ports.revokeTokensOf(tx, ctx.tenantId, userId, ctx.now) : {};
      await raiseEpoch(tx, ctx.tenantId);
      if (changesRights(row, changed)) {
        await ctx.needsApproval(tx, { basis, differences: between(row, changed) });
      }
      ctx.record.describe(ended);
      return toWire(changed);
    });
  }

  /**
   * An approval is for a person, not an account: if a password, second factor or invitation changed since, somebody else may control it. The basis is
   * stored sealed and never shown; even so it holds a digest of the password hash, not the hash.
   */
  async #basisOn(ctx: Context, tx: Tx, { user_id, role, status, password_hash }: UserRow): Promise<Basis> {
    const password = sha256(password_hash).toString('base64url');
    const second_factor = await this.#ports.secondFactorSince(tx, ctx.tenantId, user_id);
    const invitation = await lockInvitation(tx, ctx.tenantId, user_id);
    const invited = invitation === undefined ? null : Buffer.from(invitation.token_hash).toString('base64url');
    return { role, status, password, second_factor, ...(invited !== null && { invited }) };
  }

  async delete(ctx: Context, userId: string): Promise<Deleted> {
    return ctx.change(async (tx) => {
      const row = await lockChangeable(ctx, tx, userId);
      if (isActiveOwner(row)) await keepAnOwner(ctx, tx, userId);
      ctx.record.describe({ email: row.email, role: row.role });
      const ended = await this.#ports.revokeTokensOf(tx, ctx.tenantId, userId, ctx.now);
      await this.#removed(tx, ctx.tenantId, userId);
      await deleteInvitation(tx, ctx.tenantId, userId);
      await deleteInvitationsBy(tx, ctx.tenantId, userId);
      await store.deleteUser(tx, ctx.tenantId, userId);
      await raiseEpoch(tx, ctx.tenantId);
      if (isAdminRole(row.role)) {
        const differences = [
          { what: `account ${row.email}`, before: { role: row.role, status: row.status }, after: null },
        ];
        await ctx.needsApproval(tx, { basis: { role: row.role }, differences });
      }
      ctx.record.describe(ended);
      return DELETED;
    });
  }
}

/** Mails the token to whom it is for, where the tenant wants that. */
async function queueInvitation(
  { kernel }: Context,
  tx: Tx,
  notices: Awaited<ReturnType<typeof noticesOf>>,
  email: string,
  token: string,
): Promise<void> {
  if (notices === null) return;
  await queueMail(tx, ...notices([invitationNotice(email, kernel.addresses.baseUrl, token)]));
}

/** A user added without a password can log in only after an invitation. */
function isInvitable({ status, password_hash }: UserRow): boolean {
  return status === 'invited' || (status === 'active' && password_hash === '');
}

const INVITED = { status: 'invited' } as const;
const ACTIVE = { status: 'active' } as const;

/** Admins may read the contents of every vault. */
const EVERY_VAULT = () => true;

/** Tells the approver that the requester will know the password of the account. */
function setsPassword({ password }: { password?: string | undefined }): { sets_password?: true } {
  return password === undefined ? {} : { sets_password: true };
}

/** An admin who could change an owner could become one: by setting their password, or by removing all others. */
export async function lockChangeable(ctx: Context, tx: Tx, userId: string): Promise<UserRow> {
  const row = await store.lockUser(tx, ctx.tenantId, userId);
  if (row === undefined) throw notFound('user');
  if (row.role === 'owner') requireOwnerFor(ctx, 'owner');
  return row;
}

/** An invitation ends when it is no longer needed, when a new role would benefit its holder, and when its issuer loses access or changes role. */
async function settleInvitations(ctx: Context, tx: Tx, before: UserRow, after: UserRow): Promise<void> {
  const { tenant_id, user_id } = before;
  const isRoleNew = before.role !== after.role;
  if (after.status !== 'invited') await deleteInvitation(tx, tenant_id, user_id);
  // The new invitation's token is never shown. It records who requested the role, and that user can invite again.
  else if (isRoleNew) await putInvitation(tx, issueInvitation(ctx, user_id).row);
  const isCutOff = before.password_hash !== after.password_hash || after.status === 'disabled';
  if (isCutOff || isRoleNew) await deleteInvitationsBy(tx, tenant_id, user_id);
}

/** A role grants rights, and whoever sets an account's password gets them. Disabling another admin removes a possible approver. */
function changesRights(before: UserRow, after: UserRow): boolean {
  if (before.role !== after.role) return true;
  if (before.password_hash !== after.password_hash && before.role !== 'member') return true;
  return before.status !== after.status && isAdminRole(before.role);
}

/** The fields that differ. Of a password it only says that it changes. */
function between(before: UserRow, after: UserRow): Difference[] {
  const fields = (['name', 'role', 'status'] as const).filter((field) => before[field] !== after[field]);
  const found = fields.map((what) => ({ what, before: before[what], after: after[what] }));
  if (before.password_hash === after.password_hash) return found;
  const set = before.password_hash === '' ? 'none' : 'theirs';
  return [...found, { what: 'password', before: set, after: 'chosen by who asks' }];
}

export function newUser(
  tenantId: string,
  facts: { email: string; name: string; role: Role; password_hash: string },
  now: number,
): UserRow {
  const email = canonicalEmail(facts.email);
  return {
    tenant_id: tenantId,
    user_id: newId('user', now),
    ...facts,
    email,
    status: 'active',
    created_at: now,
    session_generation: null,
    pat_generation: null,
  };
}

export async function insertNew(tx: Tx, row: UserRow): Promise<void> {
  try {
    await store.insertUser(tx, row);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A user with this e-mail address already exists.');
  }
}

function requireOwnerFor(ctx: Context, role: Role): void {
  if (role !== 'owner' || ctx.access.may('users:grant_owner', 'user')) return;
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Only an owner can create or change an owner.', {
    auditReason: 'users:grant_owner: not an owner',
  });
}

async function keepAnOwner(ctx: Context, tx: Tx, userId: string): Promise<void> {
  const owners = await store.lockActiveOwners(tx, ctx.tenantId);
  if (owners.some((owner) => owner !== userId)) return;
  throw new CofferError('IN_USE', 'This is the last active owner: make another user an owner first.');
}

function isActiveOwner(row: UserRow): boolean {
  return row.role === 'owner' && row.status === 'active';
}

function toWire(row: UserRow): User {
  return {
    id: row.user_id,
    email: row.email,
    name: row.name,
    role: row.role,
    status: row.status,
    has_password: row.password_hash !== '',
    created_at: timestamp(row.created_at),
  };
}
