import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { isId, newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import { NotModified } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, quotaOf, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import type { groupRemoved } from '../groups/index.ts';
import {
  countGroups,
  deleteGroup,
  deleteMember,
  findGroupByIdOrName,
  groupsOfUsers,
  insertGroup,
  insertMembers,
  lockGroup,
  memberIdsOf,
  membershipOf,
} from '../groups/storage/index.ts';
import { findUsers } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { isOwner } from './errors.ts';
import { applied, type GroupAttributes, groupName, unknownMember } from './group-attributes.ts';
import * as store from './group-store.ts';
import { patchOperations, replacements } from './operations.ts';
import type { Provisioner } from './provisioning.ts';
import * as shared from './provisioning.ts';
import { anyGivesRole, settleRoles } from './roles.ts';
import { GROUP_SCHEMA, type ListQuery, type ReadQuery, type ScimGroup } from './schemas.ts';
import { type Owner, provisionedAmong } from './user-store.ts';

const NEW_GROUP: GroupAttributes = { displayName: '', externalId: null, members: new Set() };
/** In one response. A page of groups ends before it has more, unless its first group alone does. */
const MEMBERS_SHOWN_MAX = 10_000;

export async function list(ctx: Context, query: ListQuery) {
  const { read } = ctx.database;
  const { owner } = await shared.provisioner(ctx, read);
  const window = shared.windowOf(query);
  const projection = shared.projectionOf(query);
  const { total, rows } = await store.listStates(read, owner, shared.filterOf(query), window);
  const shown: ScimGroup[] = [];
  let members = 0;
  for (const state of rows) {
    const names = shared.isWanted(projection, 'members') ? await membersOf(read, owner, state.group_id) : null;
    members += names?.size ?? 0;
    if (shown.length > 0 && members > MEMBERS_SHOWN_MAX) break;
    shown.push(shared.projected(await toWire(ctx, read, state, names), projection));
  }
  return shared.pageOf(shown, total, window);
}

export async function read(ctx: Context, groupId: string, query: ReadQuery): Promise<ScimGroup | NotModified> {
  const { read: db } = ctx.database;
  const { owner } = await shared.provisioner(ctx, db);
  const state = await store.findState(db, owner, groupId);
  if (state === undefined) throw notFound('group');
  const projection = shared.projectionOf(query);
  const names = shared.isWanted(projection, 'members') ? await membersOf(db, owner, groupId) : null;
  const shown = await toWire(ctx, db, state, names);
  shared.setResourceHeaders(ctx, shown.meta);
  if (ctx.ifNoneMatch !== undefined && shared.isVersionIn(ctx.ifNoneMatch, shown.meta.version)) {
    return new NotModified();
  }
  return shared.projected(shown, projection);
}

export async function create(ctx: Context, body: Body<typeof contract.createScimGroup>): Promise<ScimGroup> {
  const wanted = applied(NEW_GROUP, replacements(body));
  const name = groupName(wanted.displayName);
  const group_id = newId('group', ctx.now);
  ctx.record.describe({ group: group_id, name, display_name: wanted.displayName });
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'groups');
    refuseBeyondQuota(ctx, 'groups', await countGroups(tx, ctx.tenantId));
    const by = await shared.lockedProvisioner(ctx, tx);
    await refuseTakenName(tx, by, wanted.displayName);
    await refuseTakenGroup(ctx, tx, name);
    const description = `Provisioned by ${by.provider.name}: ${wanted.displayName}`;
    await insertGroup(tx, { tenant_id: ctx.tenantId, group_id, name, description, created_at: ctx.now });
    const state: store.GroupState = {
      ...by.owner,
      group_id,
      ...namesOf(wanted),
      revision: 1,
      created_at: ctx.now,
      updated_at: ctx.now,
    };
    await store.insertState(tx, state);
    ctx.record.setResource(`group/${group_id}`);
    await settleMembers(ctx, tx, by, { groupId: group_id, before: NEW_GROUP, wanted });
    return shownGroup(ctx, tx, by, state);
  });
}

export function replace(
  ctx: Context,
  groupId: string,
  body: Body<typeof contract.replaceScimGroup>,
): Promise<ScimGroup> {
  const operations = replacements(body).map((one) => {
    // An empty list of members removes all of them; a list that is omitted removes none.
    return one.path.attribute === 'members' && one.value === null ? { ...one, value: [] } : one;
  });
  return change(ctx, groupId, ({ members, externalId }) => {
    return applied({ ...NEW_GROUP, externalId, members }, operations);
  });
}

export function update(ctx: Context, groupId: string, body: Body<typeof contract.updateScimGroup>): Promise<ScimGroup> {
  const operations = patchOperations(body);
  return change(ctx, groupId, (before) => applied(before, operations));
}

function change(
  ctx: Context,
  groupId: string,
  wantedOf: (before: GroupAttributes) => GroupAttributes,
): Promise<ScimGroup> {
  ctx.record.setResource(`group/${groupId}`);
  return ctx.change(async (tx) => {
    const by = await shared.lockedProvisioner(ctx, tx);
    const state = await lockedGroup(ctx, tx, by, groupId);
    const current = await membersOf(tx, by.owner, groupId);
    shared.requireVersion(ctx, (await toWire(ctx, tx, state, null)).meta.version);
    const { display_name: displayName, external_id: externalId } = state;
    const before = { displayName, externalId, members: new Set(current.keys()) };
    const wanted = wantedOf(before);
    const names = namesOf(wanted);
    if (names.display_name_key !== state.display_name_key) await refuseTakenName(tx, by, wanted.displayName);
    const isSame = displayName === wanted.displayName && externalId === wanted.externalId;
    if (isSame && before.members.symmetricDifference(wanted.members).size === 0) return shownGroup(ctx, tx, by, state);
    const revision = state.revision + 1;
    const settled = await store.updateState(tx, state, { ...names, revision, updated_at: ctx.now });
    await settleMembers(ctx, tx, by, { groupId, before, wanted });
    return shownGroup(ctx, tx, by, settled);
  });
}

export async function remove(
  ctx: Context,
  removed: Announcer<typeof groupRemoved>,
  groupId: string,
): Promise<undefined> {
  ctx.record.setResource(`group/${groupId}`);
  return ctx.change(async (tx) => {
    const by = await shared.lockedProvisioner(ctx, tx);
    const state = await lockedGroup(ctx, tx, by, groupId);
    shared.requireVersion(ctx, (await toWire(ctx, tx, state, null)).meta.version);
    const members = await membersOf(tx, by.owner, groupId);
    ctx.record.describe({ display_name: state.display_name, members: members.size });
    await removed(tx, ctx.tenantId, groupId);
    await deleteGroup(tx, ctx.tenantId, groupId);
    if (anyGivesRole(by, [state.display_name])) await settleRoles(ctx, tx, by, [...members.keys()]);
    await raiseEpoch(tx, ctx.tenantId);
    return undefined;
  });
}

/** Adds and removes members until they are as wanted, then gives everybody concerned the role of their groups. */
async function settleMembers(
  ctx: Context,
  tx: Tx,
  by: Provisioner,
  { groupId, before, wanted }: { groupId: string; before: GroupAttributes; wanted: GroupAttributes },
): Promise<void> {
  const added = [...new Set(wanted.members).difference(before.members)];
  const removed = [...new Set(before.members).difference(wanted.members)];
  if ((await provisionedAmong(tx, by.owner, added)).size < added.length) throw unknownMember();
  await refuseOwners(ctx, tx, added);
  for (const userId of removed) await deleteMember(tx, ctx.tenantId, groupId, userId);
  await requireRoomFor(ctx, tx, groupId, added);
  const rows = added.map((user_id) => ({ tenant_id: ctx.tenantId, group_id: groupId, user_id, added_at: ctx.now }));
  await insertMembers(tx, rows);
  ctx.record.describe({ display_name: wanted.displayName, added: added.length, removed: removed.length });
  ctx.record.describe({ added_users: added.slice(0, NAMED_MAX), removed_users: removed.slice(0, NAMED_MAX) });
  const isRenamed = before.displayName !== wanted.displayName;
  if (anyGivesRole(by, [before.displayName, wanted.displayName])) {
    const concerned = isRenamed ? [...before.members, ...added] : [...added, ...removed];
    await settleRoles(ctx, tx, by, concerned);
  }
  await raiseEpoch(tx, ctx.tenantId);
}
/** Named in one audit entry. */
const NAMED_MAX = 100;

/** A policy may deny something to the group. Owners can leave it, because that locks out nobody. */
async function refuseOwners(ctx: Context, tx: Tx, added: readonly string[]): Promise<void> {
  for (let at = 0; at < added.length; at += PEOPLE_AT_ONCE) {
    const users = await findUsers(tx, ctx.tenantId, added.slice(at, at + PEOPLE_AT_ONCE));
    const owner = users.find(({ role }) => role === 'owner');
    if (owner !== undefined) throw isOwner(`The member ${owner.user_id}`);
  }
}

async function requireRoomFor(ctx: Context, tx: Tx, groupId: string, added: readonly string[]): Promise<void> {
  if (added.length === 0) return;
  const { members } = await membershipOf(tx, ctx.tenantId, groupId);
  refuseBeyondQuota(ctx, 'members_per_group', members, added.length);
  const most = quotaOf(ctx, 'groups_per_user');
  for (let at = 0; at < added.length; at += PEOPLE_AT_ONCE) {
    const groups = await groupsOfUsers(tx, ctx.tenantId, added.slice(at, at + PEOPLE_AT_ONCE));
    for (const own of groups.values()) if (own.length >= most) refuseBeyondQuota(ctx, 'groups_per_user', own.length);
  }
}
const PEOPLE_AT_ONCE = 500;

/** The members whom the provider provisions, with their names. Others, whom an admin added, are not its own. */
async function membersOf(db: Reader, owner: Owner, groupId: string): Promise<Map<string, string>> {
  return provisionedAmong(db, owner, await memberIdsOf(db, owner.tenant_id, groupId));
}

async function lockedGroup(ctx: Context, tx: Tx, { owner }: Provisioner, groupId: string): Promise<store.GroupState> {
  const state = await store.lockState(tx, owner, groupId);
  if (state === undefined || (await lockGroup(tx, ctx.tenantId, groupId)) === undefined) throw notFound('group');
  return state;
}

async function refuseTakenName(tx: Tx, { owner }: Provisioner, displayName: string): Promise<void> {
  if ((await store.findStateByName(tx, owner, displayName.toLowerCase())) === undefined) return;
  throw new CofferError('ALREADY_EXISTS', 'Another group of this provider has this displayName.', {
    auditReason: 'uniqueness: displayName',
  });
}

/** A group that somebody made here, or that another provider made, is never taken over. */
async function refuseTakenGroup(ctx: Context, tx: Tx, name: string): Promise<void> {
  const isUnusable = isReservedName(name) || isId('group', name);
  if (!isUnusable && (await findGroupByIdOrName(tx, ctx.tenantId, name)) === undefined) return;
  throw new CofferError(
    'ALREADY_EXISTS',
    'A group with this name exists here already, and does not belong to this provider: rename or delete one of them.',
    { auditReason: 'uniqueness: the name of the group' },
  );
}

function namesOf({ displayName, externalId }: GroupAttributes) {
  return { display_name: displayName, display_name_key: displayName.toLowerCase(), external_id: externalId };
}

async function shownGroup(ctx: Context, tx: Tx, { owner }: Provisioner, state: store.GroupState): Promise<ScimGroup> {
  const shown = await toWire(ctx, tx, state, await membersOf(tx, owner, state.group_id));
  shared.setResourceHeaders(ctx, shown.meta);
  return shown;
}

/** `members` is null if they are not wanted; the version covers them anyway. */
async function toWire(ctx: Context, db: Reader, state: store.GroupState, members: Map<string, string> | null) {
  const { group_id: id, display_name: displayName, external_id: externalId } = state;
  const membership = await membershipOf(db, ctx.tenantId, id);
  const version = shared.versionOf(id, displayName, externalId, state.revision, membership);
  const listed = [...(members ?? [])].map(([value, display]) => {
    return { value, $ref: shared.locationOf(ctx.kernel, 'User', value), type: 'User', display };
  });
  return {
    schemas: [GROUP_SCHEMA],
    id,
    ...(externalId !== null && { externalId }),
    displayName,
    ...(members !== null && { members: listed }),
    meta: shared.metaOf(ctx, { resourceType: 'Group', id, version }, state),
  };
}
