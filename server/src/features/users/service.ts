import { isAdminRole, type Role } from '../../kernel/authz/roles.ts';
import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import { hashPassword } from '../../kernel/crypto/passwords.ts';
import type { Difference } from '../../kernel/endpoint/approval.ts';
import type { Body, Output, Query } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import { requireRoom } from '../../kernel/request/quotas.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { canonicalEmail, DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { accountState } from './account-state.ts';
import { isMarked, protectedOwner, refuseUnlessUsable } from './break-glass.ts';
import type * as contract from './contract.ts';
import { type Invitation, readUser, type SecondFactorOfUser, type User, type VaultGrant } from './contract.ts';
import { takesAway } from './eviction.ts';
import {
  invitationMail,
  issueInvitation,
  refuseOtherWayIn,
  requireInviter,
  settleInvitations,
} from './invitations/invitation.ts';
import { deleteInvitation, deleteInvitationsBy, putInvitation } from './invitations/invitation-store.ts';
import type { UserParts, userRemoved } from './links.ts';
import type { UserRow } from './storage/user-store.ts';
import * as store from './storage/user-store.ts';

export type UserPorts = Pick<
  UserParts,
  | 'revokeTokensOf'
  | 'secondFactorSince'
  | 'secondFactorsOf'
  | 'takeOverSuspension'
  | 'addToVaults'
  | 'lastSeenOf'
  | 'signOnLinks'
  | 'hasSignOnIdentity'
  | 'isProvisioned'
>;

const USERS: Items<UserRow> = {
  permissions: [readUser.permission],
  resources: ({ user_id }) => [`user/${user_id}`],
};

export class Users {
  readonly #ports: UserPorts;
  readonly #removed: Announcer<typeof userRemoved>;

  constructor(ports: UserPorts, removed: Announcer<typeof userRemoved>) {
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
    const grants = body.vaults ?? [];
    refuseRepeated(grants);
    const role = body.role ?? 'member';
    if (role !== 'member') ctx.access.requireUnrestricted();
    requireOwnerFor(ctx, role);
    if (isAdminRole(role)) await ctx.access.requireProofToGrant(EVERY_VAULT);
    const password_hash = body.password === undefined ? '' : await hashPassword(body.password, ctx.tenantId);
    const facts = { email: body.email, name: body.name ?? '', role, password_hash };
    const row = { ...newUser(ctx.tenantId, facts, ctx.now), ...(isInvited && INVITED) };
    const invitation = isInvited ? issueInvitation(ctx, row.user_id) : null;
    const mail = invitation === null ? null : await invitationMail(ctx, row.email, invitation.shown.token);
    ctx.record.describe({
      email: row.email,
      role,
      ...setsPassword(body),
      ...(isInvited && { invites: true }),
      ...(grants.length > 0 && { vaults: grants }),
    });
    return ctx.change(async (tx) => {
      await requireRoom(ctx, tx, 'users', { used: () => store.countUsers(tx, ctx.tenantId) });
      await insertNew(tx, row);
      if (invitation !== null) {
        await putInvitation(tx, invitation.row);
        await mail?.queue(tx);
      }
      // Admins see warnings that depend on their number, and these are cached by epoch.
      if (isAdminRole(role)) await raiseEpoch(tx, ctx.tenantId);
      const memberships = await this.#ports.addToVaults(ctx, tx, row, grants);
      if (role !== 'member' || memberships !== null) await ctx.needsApproval(tx, memberships ?? {});
      ctx.record.describe({ user: row.user_id });
      return {
        ...toWire(row, null, []),
        ...(invitation !== null && { invitation: { ...invitation.shown, mailed: mail?.isSent === true } }),
      };
    });
  }

  async invite(ctx: Context, userId: string): Promise<Invitation> {
    ctx.access.requireUnrestricted();
    const { row, shown } = issueInvitation(ctx, userId);
    const known = await store.findUser(ctx.database.read, ctx.tenantId, userId);
    const mail = known && (await invitationMail(ctx, known.email, shown.token));
    return ctx.change(async (tx) => {
      const user = await lockChangeable(ctx, tx, userId);
      ctx.record.describe({ email: user.email, role: user.role });
      if (isMarked(user)) throw protectedOwner();
      if (!isInvitable(user)) {
        throw new CofferError(
          'IN_USE',
          'Only a user without a password can be invited: set a new password for this one with PATCH /v1/users/{user_id}.',
        );
      }
      await refuseOtherWayIn(tx, user, this.#ports);
      // The user may have been granted rights since, and anyone who holds the token can act as them.
      await ctx.access.requireProofToGrant(EVERY_VAULT);
      await requireInviter(ctx, tx, user);
      await putInvitation(tx, row);
      // An address that changed meanwhile gets no mail.
      const isMailed = mail?.isSent === true && user.email === known?.email;
      if (isMailed) await mail.queue(tx);
      if (user.status !== 'invited') {
        await store.updateUser(tx, ctx.tenantId, userId, INVITED);
        ctx.record.describe(await this.#ports.revokeTokensOf(tx, ctx.tenantId, userId, ctx.now));
        await raiseEpoch(tx, ctx.tenantId);
      }
      return { ...shown, mailed: isMailed };
    });
  }

  async list(ctx: Context, query: Query<typeof contract.listUsers>) {
    const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('user')) ?? [];
    const limit = query.limit ?? LIST_LIMIT_DEFAULT;
    const page = await visiblePage(ctx, await store.listUsers(ctx.database.read, ctx.tenantId, after, limit), USERS);
    return { users: await this.#shown(ctx.database.read, ctx.tenantId, page.rows), next_cursor: page.next_cursor };
  }

  async read(ctx: Context, userId: string): Promise<User> {
    const row = await store.findUser(ctx.database.read, ctx.tenantId, userId);
    if (row === undefined) throw notFound('user');
    return this.#shownOne(ctx.database.read, row);
  }

  /** The name decides nothing, so nobody else has to agree to it. */
  async rename(ctx: Context, name: string): Promise<User> {
    ctx.access.requireUnrestricted();
    return ctx.change(async (tx) => {
      const row = await store.lockUser(tx, ctx.tenantId, ctx.principal.id);
      if (row === undefined) throw notFound('user');
      await store.updateUser(tx, ctx.tenantId, row.user_id, { name });
      await raiseEpoch(tx, ctx.tenantId);
      return this.#shownOne(tx, { ...row, name });
    });
  }

  async update(ctx: Context, userId: string, body: Body<typeof contract.updateUser>): Promise<User> {
    const grants = [body.role, body.password, body.break_glass];
    if (grants.some((field) => field !== undefined)) ctx.access.requireUnrestricted();
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
      // Anyone who sets a user's password can act as them.
      const isGiven = body.password !== undefined || (isAdminRole(body.role ?? null) && !isAdminRole(row.role));
      if (isGiven) await ctx.access.requireProofToGrant(EVERY_VAULT);
      const { password: _, break_glass, ...plain } = body;
      if (break_glass !== undefined) requireOwnerFor(ctx, 'owner');
      // A user who is given a password no longer needs an invitation.
      const isLetIn = row.status === 'invited' && password_hash !== undefined;
      const changed: UserRow = {
        ...row,
        ...(isLetIn && ACTIVE),
        ...plain,
        ...(password_hash !== undefined && { password_hash }),
        ...(break_glass !== undefined && { break_glass: Number(break_glass) }),
      };
      refuseUnlessUsable(row, changed);
      if (break_glass === true) await this.#requireOwnWayIn(ctx, tx, changed);
      if (isActiveOwner(row) && !isActiveOwner(changed)) await keepAnOwner(ctx, tx, userId);
      const basis = await accountState(tx, row, this.#ports);
      await store.updateUser(tx, ctx.tenantId, userId, changed);
      await settleInvitations(ctx, tx, row, changed);
      // Also if they are disabled already: otherwise the provider that did so could enable them again.
      if (body.status === 'disabled') await this.#ports.takeOverSuspension(tx, ctx.tenantId, userId);
      const isCutOff = password_hash !== undefined || changed.status === 'disabled';
      const ended = isCutOff ? await this.#ports.revokeTokensOf(tx, ctx.tenantId, userId, ctx.now) : {};
      await raiseEpoch(tx, ctx.tenantId);
      if (changesRights(row, changed)) {
        const onlyTakes = await takesAway(ctx, tx, { before: row, after: changed }, this.#ports);
        await ctx.needsApproval(tx, { basis, differences: between(row, changed), ...onlyTakes });
      }
      ctx.record.describe(ended);
      return this.#shownOne(tx, changed);
    });
  }

  async #shownOne(db: Reader, row: UserRow): Promise<User> {
    const [user] = await this.#shown(db, row.tenant_id, [row]);
    if (user === undefined) throw notFound('user');
    return user;
  }

  async #shown(db: Reader, tenantId: string, rows: readonly UserRow[]): Promise<User[]> {
    const ids = rows.map(({ user_id }) => user_id);
    const seen = await this.#ports.lastSeenOf(db, tenantId, ids);
    const factors = await this.#ports.secondFactorsOf(db, tenantId, ids);
    return rows.map((row) => toWire(row, seen.get(row.user_id) ?? null, factors.get(row.user_id) ?? []));
  }

  /** No provider has a part in the way in of a break-glass owner. Without one of their own, the other owners would be held to the provider for the sake of one who cannot log in. */
  async #requireOwnWayIn({ tenantId }: Context, tx: Tx, { user_id, password_hash }: UserRow): Promise<void> {
    if ((await this.#ports.signOnLinks(tx, tenantId, user_id)).length > 0) {
      throw new CofferError(
        'IN_USE',
        'This owner signs in with an identity provider, which a break-glass owner must not: they unlink it first, under My account or with DELETE /auth/links/{provider}.',
      );
    }
    // An authenticator app only adds to a password.
    const factors = (await this.#ports.secondFactorsOf(tx, tenantId, [user_id])).get(user_id) ?? [];
    if (password_hash !== '' || factors.some(({ kind }) => kind === 'passkey')) return;
    throw invalidField('/body/break_glass', 'can be set only for an owner who has a password or a passkey');
  }

  async delete(ctx: Context, userId: string): Promise<Deleted> {
    return ctx.change(async (tx) => {
      const row = await lockChangeable(ctx, tx, userId);
      if (isMarked(row)) throw protectedOwner();
      if (isActiveOwner(row)) await keepAnOwner(ctx, tx, userId);
      ctx.record.describe({ email: row.email, role: row.role });
      const ended = await endAccount(tx, row, ctx.now, { ports: this.#ports, removed: this.#removed });
      if (isAdminRole(row.role)) {
        const differences = [
          { what: `account ${row.email}`, before: { role: row.role, status: row.status }, after: null },
        ];
        const onlyTakes = await takesAway(ctx, tx, { before: row, after: null }, this.#ports);
        await ctx.needsApproval(tx, { basis: { role: row.role }, differences, ...onlyTakes });
      }
      ctx.record.describe(ended);
      return DELETED;
    });
  }
}

/** Deletes a user with all they have. Returns what ended, for the audit log. */
export async function endAccount(
  tx: Tx,
  { tenant_id, user_id }: UserRow,
  now: number,
  {
    ports: { revokeTokensOf },
    removed,
  }: { ports: Pick<UserParts, 'revokeTokensOf'>; removed: Announcer<typeof userRemoved> },
): Promise<Record<string, number>> {
  const ended = await revokeTokensOf(tx, tenant_id, user_id, now);
  await removed(tx, tenant_id, user_id);
  await deleteInvitation(tx, tenant_id, user_id);
  await deleteInvitationsBy(tx, tenant_id, user_id);
  await store.deleteUser(tx, tenant_id, user_id);
  await raiseEpoch(tx, tenant_id);
  return ended;
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

/** A role grants rights, and so does being break-glass; anyone who sets an account's password gets them. Disabling another admin removes a possible approver. */
function changesRights(before: UserRow, after: UserRow): boolean {
  if (before.role !== after.role || isMarked(before) !== isMarked(after)) return true;
  if (before.password_hash !== after.password_hash && before.role !== 'member') return true;
  return before.status !== after.status && isAdminRole(before.role);
}

/** The fields that differ. Of a password it only says that it changes. */
function between(before: UserRow, after: UserRow): Difference[] {
  const fields = (['name', 'role', 'status'] as const).filter((field) => before[field] !== after[field]);
  const found: Difference[] = fields.map((what) => ({ what, before: before[what], after: after[what] }));
  if (isMarked(before) !== isMarked(after)) {
    found.push({ what: 'break_glass', before: isMarked(before), after: isMarked(after) });
  }
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
    break_glass: null,
    made_by_provider: null,
  };
}

/** The account of somebody whom an identity provider vouches for. */
export function newProvidedUser(...given: Parameters<typeof newUser>): UserRow {
  return { ...newUser(...given), made_by_provider: 1 };
}

export async function insertNew(tx: Tx, row: UserRow): Promise<void> {
  try {
    await store.insertUser(tx, row);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A user with this e-mail address already exists.');
  }
}

function refuseRepeated(grants: readonly VaultGrant[]): void {
  const repeated = grants.findIndex(({ vault }, index) => grants.findIndex((each) => each.vault === vault) < index);
  if (repeated !== -1) throw invalidField(`/body/vaults/${repeated}/vault`, 'is named twice: give each vault one role');
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

function toWire(row: UserRow, lastSeenAt: number | null, second_factors: SecondFactorOfUser[]): User {
  return {
    id: row.user_id,
    email: row.email,
    name: row.name,
    role: row.role,
    status: row.status,
    has_password: row.password_hash !== '',
    break_glass: isMarked(row),
    created_at: timestamp(row.created_at),
    last_seen_at: timestampOrNull(lastSeenAt),
    second_factors,
  };
}
