import { vaultResource } from '../../kernel/authz/pattern.ts';
import { VAULT_ROLES, type VaultRole } from '../../kernel/authz/vault-roles.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import type { Difference, Proposal } from '../../kernel/endpoint/approval.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { findGroupByIdOrName, lockGroup, shownGroup } from '../groups/storage/index.ts';
import { accountState, type VaultGrant } from '../users/index.ts';
import { findUserByIdOrEmail, lockUser } from '../users/storage/index.ts';
import { authorizedVault, isLive, vaultAttributes, vaultNotFound } from './access.ts';
import type * as contract from './contract.ts';
import { addMember, type Member } from './contract.ts';
import type { VaultParts } from './links.ts';
import { lockedVault } from './service.ts';
import * as store from './storage/vault-store.ts';

type MemberPorts = Pick<VaultParts, 'secondFactorSince'>;

const KIND_FORM = /^(?:user|group)$/;
const ID_FORM = /^(?:user|group)_[0-9a-z]{26}$/;

export async function list(ctx: Context, vault: string, query: Query<typeof contract.listMembers>) {
  const { read: db } = ctx.database;
  const row = await authorizedVault(ctx, db, vault);
  const [kind = '', id = ''] = decodeCursor(query.cursor, KIND_FORM, ID_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await store.listMembers(db, ctx.tenantId, row.vault_id, { after: [kind, id], limit });
  return { members: page.rows.map(toWire), next_cursor: page.next_cursor };
}

/** A membership outlives the credential that granted it, so a restricted credential cannot grant one: it would escape its restrictions. */
export async function add(
  ctx: Context,
  vault: string,
  body: Body<typeof contract.addMember>,
  ports: MemberPorts,
): Promise<Member> {
  return ctx.change(async (tx) => {
    const locked = await lockedVault(ctx, tx, vault);
    const { vault_id } = locked;
    ctx.access.requireUnrestricted();
    await ctx.access.requireProofToGrant((name) => name === vault);
    const principal = await principalOf(tx, ctx.tenantId, body);
    ctx.record.describe({ member: principal.id, role: body.role });
    const row = await insert(ctx, tx, { vault_id, principal, role: body.role });
    const proposal = takesTwo(locked, body.role) ? await roleOf(tx, ports, { member: row, vault }, null) : null;
    await raiseEpoch(tx, ctx.tenantId);
    if (proposal !== null) await ctx.needsApproval(tx, proposal);
    return toWire(row);
  });
}

/**
 * Makes somebody who is just being created a member of some vaults, by the same rules as `add`. Resolves to what has to be approved, or null. The
 * vaults are locked in the order of their names, so that two such requests do not wait for each other.
 */
export async function addToVaults(
  ctx: Context,
  tx: Tx,
  user: { user_id: string; email: string },
  grants: readonly VaultGrant[],
): Promise<Proposal | null> {
  const proposals: [vaultId: string, difference: Difference][] = [];
  for (const { vault, role } of grants.toSorted((a, b) => (a.vault < b.vault ? -1 : 1))) {
    const locked = await lockedToAdd(ctx, tx, vault);
    const { vault_id } = locked;
    ctx.access.requireUnrestricted();
    await ctx.access.requireProofToGrant((name) => name === vault);
    await insert(ctx, tx, { vault_id, principal: { kind: 'user', id: user.user_id }, role });
    ctx.record.addEntry(addMember.audit, vaultResource(vault), { member: user.user_id, role });
    if (!takesTwo(locked, role)) continue;
    proposals.push([vault_id, { what: `role of ${user.email} in vault ${vault}`, before: null, after: role }]);
  }
  if (grants.length > 0) await raiseEpoch(tx, ctx.tenantId);
  if (proposals.length === 0) return null;
  return {
    basis: { vaults: proposals.map(([vaultId]) => vaultId).join() },
    differences: proposals.map(([, difference]) => difference),
  };
}

/** A caller without the permission learns nothing about whether the vault exists. */
async function lockedToAdd(ctx: Context, tx: Tx, vault: string): Promise<store.VaultRow> {
  const { permission } = addMember;
  const resource = vaultResource(vault);
  if (!ctx.access.couldEver(permission, resource)) ctx.access.authorizeAlso(permission, resource);
  const row = await store.lockVault(tx, ctx.tenantId, vault);
  const known = isLive(row) ? row : undefined;
  ctx.access.authorizeAlso(permission, resource, vaultAttributes(known));
  if (known === undefined) throw vaultNotFound();
  return known;
}

async function insert(
  ctx: Context,
  tx: Tx,
  {
    vault_id,
    principal,
    role,
  }: { vault_id: string; principal: { kind: store.MemberKind; id: string }; role: VaultRole },
): Promise<store.VaultMemberRow> {
  const row: store.VaultMemberRow = {
    tenant_id: ctx.tenantId,
    vault_id,
    principal_kind: principal.kind,
    principal_id: principal.id,
    role,
    added_at: ctx.now,
    reviewed_at: null,
    reviewed_by: null,
  };
  refuseBeyondQuota(ctx, 'members_per_vault', await store.countMembers(tx, ctx.tenantId, vault_id));
  try {
    await store.insertMember(tx, row);
  } catch (error) {
    throw error instanceof UniqueViolation
      ? new CofferError('ALREADY_EXISTS', 'This user or group is already a member: change the role with PATCH.')
      : error;
  }
  return row;
}

export async function change(
  ctx: Context,
  { vault, memberId }: { vault: string; memberId: string },
  role: VaultRole,
  ports: MemberPorts,
): Promise<Member> {
  ctx.record.describe({ member: memberId, role });
  return ctx.change(async (tx) => {
    const { locked, member } = await lockedMember(ctx, tx, vault, memberId);
    const isMore = VAULT_ROLES.indexOf(role) > VAULT_ROLES.indexOf(member.role);
    if (isMore) await ctx.access.requireProofToGrant((name) => name === vault);
    if (locked.status === 'pending_deletion' && (role === 'manager') !== (member.role === 'manager'))
      throw wouldDecide();
    const row = { ...member, role };
    await store.setMemberRole(tx, row);
    const proposal =
      isMore && takesTwo(locked, role) ? await roleOf(tx, ports, { member: row, vault }, member.role) : null;
    await raiseEpoch(tx, ctx.tenantId);
    if (proposal !== null) await ctx.needsApproval(tx, proposal);
    return toWire(row);
  });
}

export async function remove(ctx: Context, vault: string, memberId: string): Promise<Deleted> {
  ctx.record.describe({ member: memberId });
  return ctx.change(async (tx) => {
    const { locked, member } = await lockedMember(ctx, tx, vault, memberId);
    if (locked.status === 'pending_deletion' && member.role === 'manager') throw wouldDecide();
    await store.deleteMember(tx, member);
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

export async function review(ctx: Context, vault: string) {
  return ctx.change(async (tx) => {
    const { vault_id } = await lockedVault(ctx, tx, vault);
    const reviewed = await store.markReviewed(
      tx,
      { tenantId: ctx.tenantId, vaultId: vault_id },
      ctx.now,
      ctx.principal.id,
    );
    ctx.record.describe({ reviewed });
    return { vault, reviewed, reviewed_at: timestamp(ctx.now) };
  });
}

/**
 * What the approver relies on. For a user this includes who controls the account, and for a group its members: adding members to a group that grants
 * nothing needs no approval, so one person could fill it while the request is pending.
 */
async function roleOf(
  tx: Tx,
  ports: MemberPorts,
  {
    member: { tenant_id, vault_id, principal_kind, principal_id, role },
    vault,
  }: { member: store.VaultMemberRow; vault: string },
  before: VaultRole | null,
): Promise<Proposal> {
  const basis = { vault: vault_id, member: principal_id };
  const changed = { what: `role of ${principal_id} in vault ${vault}`, before, after: role };
  if (principal_kind === 'user') {
    const user = await lockUser(tx, tenant_id, principal_id);
    if (user === undefined) throw notFound('user');
    return { basis: { ...basis, ...(await accountState(tx, user, ports)) }, differences: [changed] };
  }
  const { members, last_added_at, shown } = await shownGroup(tx, tenant_id, principal_id);
  const who = { what: `members of ${principal_id}`, before: shown, after: shown };
  return { basis: { ...basis, members, last_added_at }, differences: [changed, who] };
}

/** A manager reviews changes, so one person must not make another one where changes are reviewed. */
function takesTwo({ environment, change_control }: store.VaultRow, role: VaultRole): boolean {
  return environment === 'production' || (change_control === 'review' && role === 'manager');
}

/** The deletion is decided by users who were managers when it was requested. */
function wouldDecide(): CofferError {
  return new CofferError(
    'IN_USE',
    'The deletion of the vault is pending approval: its managers cannot be changed until that is decided.',
  );
}

async function lockedMember(ctx: Context, tx: Tx, vault: string, memberId: string) {
  const locked = await lockedVault(ctx, tx, vault);
  ctx.access.requireUnrestricted();
  const member = await store.lockMember(tx, ctx.tenantId, locked.vault_id, memberId);
  if (member === undefined) throw notFound('member');
  return { locked, member };
}

async function principalOf(tx: Tx, tenantId: string, { user, group }: Body<typeof contract.addMember>) {
  if ((group === undefined) === (user === undefined))
    throw invalidField('/body', 'must have exactly one of user and group');
  if (group !== undefined) {
    const found = await findGroupByIdOrName(tx, tenantId, group);
    // The row stays locked, so that the group is not deleted meanwhile: its deletion would not remove this membership.
    if (found === undefined || (await lockGroup(tx, tenantId, found.group_id)) === undefined) throw notFound('group');
    return { kind: 'group' as const, id: found.group_id };
  }
  const found = await findUserByIdOrEmail(tx, tenantId, user ?? '');
  if (found === undefined || (await lockUser(tx, tenantId, found.user_id)) === undefined) throw notFound('user');
  return { kind: 'user' as const, id: found.user_id };
}

function toWire(row: store.VaultMemberRow): Member {
  return {
    id: row.principal_id,
    kind: row.principal_kind,
    role: row.role,
    added_at: timestamp(row.added_at),
    reviewed_at: row.reviewed_at === null ? null : timestamp(row.reviewed_at),
    reviewed_by: row.reviewed_by,
  };
}
