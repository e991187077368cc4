import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, isId, newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Proposal } from '../../kernel/endpoint/approval.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { accountState } from '../users/index.ts';
import { findUserByIdOrEmail, lockUser } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { type Group, type GroupMember, readGroup } from './contract.ts';
import type { GroupParts, groupRemoved } from './links.ts';
import * as store from './storage/group-store.ts';

export async function create(ctx: Context, body: Body<typeof contract.createGroup>): Promise<Group> {
  // A name in the form of an id could be mistaken for another group's id wherever both are accepted.
  if (isReservedName(body.name) || isId('group', body.name)) {
    throw invalidField('/body/name', 'is reserved: choose another name');
  }
  const group_id = newId('group', ctx.now);
  ctx.record.describe({ group: group_id, name: body.name });
  return ctx.change(async (tx) => {
    const row = {
      tenant_id: ctx.tenantId,
      group_id,
      name: body.name,
      description: body.description ?? '',
      created_at: ctx.now,
    };
    await lockQuota(tx, ctx.tenantId, 'groups');
    refuseBeyondQuota(ctx, 'groups', await store.countGroups(tx, ctx.tenantId));
    await unlessExists(store.insertGroup(tx, row), 'A group with this name already exists: choose another name.');
    return toWire({ ...row, members_count: 0 });
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listGroups>) {
  const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('group')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(ctx, await store.listGroups(ctx.database.read, ctx.tenantId, after, limit), GROUPS);
  return { groups: page.rows.map(toWire), next_cursor: page.next_cursor };
}

const GROUPS: Items<store.CountedGroup> = {
  permissions: [readGroup.permission],
  resources: namesOf,
};

export async function read(ctx: Context, idOrName: string): Promise<Group> {
  const { group_id } = await groupNamed(ctx, ctx.database.read, idOrName);
  const row = await store.findGroup(ctx.database.read, ctx.tenantId, group_id);
  if (row === undefined) throw notFound('group');
  return toWire(row);
}

export async function update(
  ctx: Context,
  idOrName: string,
  body: Body<typeof contract.updateGroup>,
  parts: GroupParts,
): Promise<Group> {
  return ctx.change(async (tx) => {
    const { group_id: groupId } = await lockedGroup(ctx, tx, idOrName);
    await refuseProvisioned(tx, { tenantId: ctx.tenantId, groupId }, parts);
    await store.updateGroup(tx, ctx.tenantId, groupId, body.description);
    const row = await store.findGroup(tx, ctx.tenantId, groupId);
    if (row === undefined) throw notFound('group');
    return toWire(row);
  });
}

/**
 * What a group grants or denies outlives the credential that changed it, so a restricted credential may not change it: it could lift its own limits.
 */
export async function remove(
  ctx: Context,
  idOrName: string,
  parts: GroupParts & { groupRemoved: Announcer<typeof groupRemoved> },
): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  return ctx.change(async (tx) => {
    const row = await lockedGroup(ctx, tx, idOrName);
    const { group_id: groupId } = row;
    ctx.record.describe({ name: row.name });
    await refuseProvisioned(tx, { tenantId: ctx.tenantId, groupId }, parts);
    const rights = await parts.rightsOfGroup(tx, ctx.tenantId, groupId);
    await parts.groupRemoved(tx, ctx.tenantId, groupId);
    await store.deleteGroup(tx, ctx.tenantId, groupId);
    await raiseEpoch(tx, ctx.tenantId);
    if (rights.length > 0) {
      const differences = [{ what: `group ${row.name}`, before: { rights }, after: null }];
      // The basis is the id, because the name could refer to another group by the time of the approval.
      await ctx.needsApproval(tx, { basis: { group: groupId }, differences });
    }
    return DELETED;
  });
}

export async function addMember(
  ctx: Context,
  idOrName: string,
  idOrEmail: string,
  parts: GroupParts,
): Promise<GroupMember> {
  ctx.access.requireUnrestricted();
  return ctx.change(async (tx) => {
    const { group_id: groupId } = await lockedGroup(ctx, tx, idOrName);
    const userId = (await findUserByIdOrEmail(tx, ctx.tenantId, idOrEmail))?.user_id ?? idOrEmail;
    ctx.record.describe({ user: userId });
    await refuseProvisioned(tx, { tenantId: ctx.tenantId, groupId }, parts, { isJoining: true });
    const user = await lockUser(tx, ctx.tenantId, userId);
    if (user === undefined) throw notFound('user');
    const row = { tenant_id: ctx.tenantId, group_id: groupId, user_id: userId, added_at: ctx.now };
    const groups = await store.groupsOfUser(tx, ctx.tenantId, userId);
    refuseBeyondQuota(ctx, 'groups_per_user', groups.length);
    const { members } = await store.membershipOf(tx, ctx.tenantId, groupId);
    refuseBeyondQuota(ctx, 'members_per_group', members);
    const basis = await accountState(tx, user, parts);
    await unlessExists(store.insertMember(tx, row), 'The user is already a member.');
    await raiseEpoch(tx, ctx.tenantId);
    await parts.refuseCostlyPolicies(tx, ctx.tenantId, userId);
    const rights = await parts.rightsOfGroup(tx, ctx.tenantId, groupId);
    if (rights.length > 0) {
      await ctx.access.requireProofToGrant(await parts.vaultsOfGroup(tx, ctx.tenantId, groupId));
      await ctx.needsApproval(tx, { ...joining(userId, groupId, null, rights), basis });
    }
    return { group_id: groupId, user_id: userId, added_at: timestamp(ctx.now) };
  });
}

export async function listMembers(ctx: Context, idOrName: string, query: Query<typeof contract.listGroupMembers>) {
  const { group_id: groupId } = await groupNamed(ctx, ctx.database.read, idOrName);
  const [after = ''] = decodeCursor(query.cursor, idForm('user')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await store.listMembers(ctx.database.read, ctx.tenantId, groupId, { after, limit });
  const members = page.rows.map((r) => ({ group_id: groupId, user_id: r.user_id, added_at: timestamp(r.added_at) }));
  return { members, next_cursor: page.next_cursor };
}

export async function removeMember(
  ctx: Context,
  idOrName: string,
  idOrEmail: string,
  parts: GroupParts,
): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  return ctx.change(async (tx) => {
    const { group_id: groupId } = await lockedGroup(ctx, tx, idOrName);
    const userId = (await findUserByIdOrEmail(tx, ctx.tenantId, idOrEmail))?.user_id ?? idOrEmail;
    ctx.record.describe({ user: userId });
    await refuseProvisioned(tx, { tenantId: ctx.tenantId, groupId }, parts);
    if (!(await store.deleteMember(tx, ctx.tenantId, groupId, userId))) throw notFound('member');
    await raiseEpoch(tx, ctx.tenantId);
    const rights = await parts.rightsOfGroup(tx, ctx.tenantId, groupId);
    if (rights.length > 0) await ctx.needsApproval(tx, joining(userId, groupId, rights, null));
    return DELETED;
  });
}

/** What a person gains or loses by the membership, for the approval. */
function joining(userId: string, groupId: string, before: string[] | null, after: string[] | null): Proposal {
  return { differences: [{ what: `what ${userId} may do as a member of ${groupId}`, before, after }] };
}

/** A policy or a request may name a group by its id or its name. A deny on either one wins. */
function namesOf({ group_id, name }: Pick<store.GroupRow, 'group_id' | 'name'>): string[] {
  return [`group/${group_id}`, `group/${name}`];
}

async function groupNamed(ctx: Context, db: Reader | Tx, idOrName: string): Promise<store.GroupRow> {
  const row = await store.findGroupByIdOrName(db, ctx.tenantId, idOrName);
  if (row === undefined) throw notFound('group');
  for (const name of namesOf(row)) ctx.access.refuseDenied(ctx.declaration.permission, name);
  ctx.record.setResource(`group/${row.group_id}`);
  return row;
}

async function lockedGroup(ctx: Context, tx: Tx, idOrName: string): Promise<store.GroupRow> {
  const { group_id } = await groupNamed(ctx, tx, idOrName);
  const row = await store.lockGroup(tx, ctx.tenantId, group_id);
  if (row === undefined) throw notFound('group');
  return row;
}

/**
 * The groups of an identity provider may give a role, so anyone who could change their members by hand could make an admin without approval. Those
 * of a provider that was deleted can be emptied and deleted; nobody joins them, because they count again if the provider is added again.
 */
async function refuseProvisioned(
  tx: Tx,
  { tenantId, groupId }: { tenantId: string; groupId: string },
  { provisionerOfGroup }: GroupParts,
  { isJoining = false } = {},
): Promise<void> {
  const provider = await provisionerOfGroup(tx, tenantId, groupId);
  if (provider === undefined || (provider.name === null && !isJoining)) return;
  const auditReason = 'the group belongs to an identity provider';
  if (provider.name !== null) {
    const message = `This group belongs to the identity provider ${provider.name}: change it there.`;
    throw new CofferError('IN_USE', message, { auditReason });
  }
  const message = 'This group belongs to an identity provider that was deleted: add the user to a group that you made.';
  throw new CofferError('IN_USE', message, { auditReason });
}

async function unlessExists(insert: Promise<void>, message: string): Promise<void> {
  try {
    await insert;
  } catch (error) {
    throw error instanceof UniqueViolation ? new CofferError('ALREADY_EXISTS', message) : error;
  }
}

function toWire(row: store.CountedGroup): Group {
  return {
    id: row.group_id,
    name: row.name,
    description: row.description,
    members_count: row.members_count,
    created_at: timestamp(row.created_at),
  };
}
