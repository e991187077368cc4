import { isAdminRole } from '../../kernel/authz/roles.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import { NotModified } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { requireRoom } from '../../kernel/request/quotas.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { groupsOfUsers } from '../groups/storage/index.ts';
import { endSessionsWith } from '../sign-on/index.ts';
import { deleteIdentity, findIdentity, identityHash, insertIdentity } from '../sign-on/storage/index.ts';
import type { userRemoved } from '../users/index.ts';
import { endAccount, insertNew, newProvidedUser } from '../users/index.ts';
import { settleInvitations } from '../users/invitations/index.ts';
import {
  countUsers,
  findUser,
  findUserByEmail,
  findUsers,
  lockUser,
  type UserRow,
  updateUser,
} from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { isOwner } from './errors.ts';
import { namesAmong } from './group-store.ts';
import type { ScimParts } from './links.ts';
import { patchOperations, replacements } from './operations.ts';
import type { Provisioner } from './provisioning.ts';
import * as shared from './provisioning.ts';
import { type ListQuery, type ReadQuery, type ScimUser, USER_SCHEMA } from './schemas.ts';
import { accountAddress, accountName, applied, NEW_USER, type UserAttributes } from './user-attributes.ts';
import * as store from './user-store.ts';

export type UserPorts = Pick<ScimParts, 'revokeTokensOf'>;

/** A person: the account, and what their provider says about it. */
interface Person {
  user: UserRow;
  state: store.UserState;
}

export class ScimUsers {
  readonly #ports: UserPorts;
  readonly #removed: Announcer<typeof userRemoved>;

  constructor(ports: UserPorts, removed: Announcer<typeof userRemoved>) {
    this.#ports = ports;
    this.#removed = removed;
  }

  async list(ctx: Context, query: ListQuery) {
    const { read } = ctx.database;
    const { owner } = await shared.provisioner(ctx, read);
    const window = shared.windowOf(query);
    const projection = shared.projectionOf(query);
    const { total, rows } = await store.listStates(read, owner, shared.filterOf(query), window);
    const ids = rows.map(({ user_id }) => user_id);
    const users = new Map((await findUsers(read, ctx.tenantId, ids)).map((user) => [user.user_id, user]));
    const groups = await groupsOf(read, owner, ids);
    const people = rows.flatMap((state) => {
      const user = users.get(state.user_id);
      if (user === undefined) return [];
      return [shared.projected(toWire(ctx, { user, state }, groups.get(state.user_id)), projection)];
    });
    return shared.pageOf(people, total, window);
  }

  async read(ctx: Context, userId: string, query: ReadQuery): Promise<ScimUser | NotModified> {
    const { read } = ctx.database;
    const { owner } = await shared.provisioner(ctx, read);
    const state = await store.findState(read, owner, userId);
    const user = state && (await findUser(read, ctx.tenantId, userId));
    if (state === undefined || user === undefined) throw notFound('user');
    const groups = await groupsOf(read, owner, [userId]);
    const shown = toWire(ctx, { user, state }, groups.get(userId));
    shared.setResourceHeaders(ctx, shown.meta);
    if (ctx.ifNoneMatch !== undefined && shared.isVersionIn(ctx.ifNoneMatch, shown.meta.version)) {
      return new NotModified();
    }
    return shared.projected(shown, shared.projectionOf(query));
  }

  async create(ctx: Context, body: Body<typeof contract.createScimUser>): Promise<ScimUser> {
    const wanted = applied(NEW_USER, replacements(body));
    const address = accountAddress(wanted);
    const { provider: known } = await shared.provisioner(ctx, ctx.database.read);
    const hash = wanted.externalId === null ? null : identityHash(known, wanted.externalId);
    const identity = hash === null ? undefined : await findIdentity(ctx.database.read, ctx.tenantId, hash);
    ctx.record.describe({ user_name: wanted.userName });
    return ctx.change(async (tx) => {
      if (identity === undefined) await requireRoom(ctx, tx, 'users', { used: () => countUsers(tx, ctx.tenantId) });
      const by = await shared.lockedProvisioner(ctx, tx);
      await refuseTakenName(tx, by, wanted.userName);
      const adopted = await this.#adoptable(ctx, tx, by, wanted);
      const user = adopted ?? (await this.#added(ctx, tx, by, { wanted, address }));
      const before: store.UserState = {
        ...by.owner,
        user_id: user.user_id,
        ...namesOf(wanted),
        external_id: wanted.externalId,
        is_suspended: Number(adopted === undefined && !wanted.active),
        created_at: ctx.now,
        updated_at: ctx.now,
      };
      await store.insertState(tx, before);
      ctx.record.setResource(`user/${user.user_id}`);
      ctx.record.describe({ user: user.user_id, email: user.email, role: user.role, adopted: adopted !== undefined });
      const person = { user, state: before };
      const settled = adopted === undefined ? person : await this.#settle(ctx, tx, by, { person, wanted });
      if (isAdminRole(user.role)) await raiseEpoch(tx, ctx.tenantId);
      return this.#shown(ctx, settled, await groupsOf(tx, by.owner, [user.user_id]));
    });
  }

  /** The account of somebody who signed in before SCIM knew them: found by their subject, and by nothing else. */
  async #adoptable(ctx: Context, tx: Tx, by: Provisioner, wanted: UserAttributes): Promise<UserRow | undefined> {
    if (wanted.externalId === null) return undefined;
    const identity = await findIdentity(tx, ctx.tenantId, identityHash(by.provider, wanted.externalId));
    if (identity === undefined) return undefined;
    const user = await lockUser(tx, ctx.tenantId, identity.user_id);
    if (user === undefined || (await store.isProvisioned(tx, ctx.tenantId, user.user_id))) throw taken('externalId');
    if (user.role === 'owner') throw isOwner();
    return user;
  }

  async #added(
    ctx: Context,
    tx: Tx,
    by: Provisioner,
    { wanted, address }: { wanted: UserAttributes; address: string },
  ): Promise<UserRow> {
    const role = by.provider.default_role ?? 'member';
    const facts = { email: address, name: accountName(wanted), role, password_hash: '' };
    const added = newProvidedUser(ctx.tenantId, facts, ctx.now);
    const user: UserRow = { ...added, status: wanted.active ? 'active' : 'disabled' };
    await refuseTakenAddress(ctx, tx, address, user.user_id);
    await insertNew(tx, user);
    if (wanted.externalId !== null) await this.#link(ctx, tx, by, { userId: user.user_id, subject: wanted.externalId });
    return user;
  }

  async #link(
    ctx: Context,
    tx: Tx,
    { provider }: Provisioner,
    { userId, subject }: { userId: string; subject: string },
  ): Promise<void> {
    const identity_hash = identityHash(provider, subject);
    if ((await findIdentity(tx, ctx.tenantId, identity_hash)) !== undefined) throw taken('externalId');
    await insertIdentity(tx, {
      tenant_id: ctx.tenantId,
      identity_hash,
      issuer: provider.issuer,
      subject,
      user_id: userId,
      created_at: ctx.now,
    });
  }

  /** The account is not that of this subject any more, so what it opened ends. */
  async #unlink(
    ctx: Context,
    tx: Tx,
    { provider }: Provisioner,
    { user, subject }: { user: UserRow; subject: string },
  ): Promise<void> {
    const identity = await findIdentity(tx, ctx.tenantId, identityHash(provider, subject));
    if (identity?.user_id !== user.user_id) return;
    await deleteIdentity(tx, ctx.tenantId, identity.identity_hash);
    const sessions_ended = await endSessionsWith(tx, user, identity, { now: ctx.now, except: '' });
    ctx.record.describe({ sessions_ended });
  }

  /** Attributes that PUT leaves out are removed, except those whose absence must not end an account or a link. */
  replace(ctx: Context, userId: string, body: Body<typeof contract.replaceScimUser>): Promise<ScimUser> {
    const operations = replacements(body);
    return this.#change(ctx, userId, ({ active, externalId }) => {
      return applied({ ...NEW_USER, active, externalId }, operations);
    });
  }

  update(ctx: Context, userId: string, body: Body<typeof contract.updateScimUser>): Promise<ScimUser> {
    const operations = patchOperations(body);
    return this.#change(ctx, userId, (before) => applied(before, operations));
  }

  #change(ctx: Context, userId: string, wantedOf: (before: UserAttributes) => UserAttributes): Promise<ScimUser> {
    ctx.record.setResource(`user/${userId}`);
    return ctx.change(async (tx) => {
      const by = await shared.lockedProvisioner(ctx, tx);
      const person = await lockedPerson(ctx, tx, by, userId);
      const groups = await groupsOf(tx, by.owner, [userId]);
      shared.requireVersion(ctx, toWire(ctx, person, groups.get(userId)).meta.version);
      return this.#shown(
        ctx,
        await this.#settle(ctx, tx, by, { person, wanted: wantedOf(attributesOf(person)) }),
        groups,
      );
    });
  }

  /** Brings the account to what the provider wants, and ends sessions and tokens if it is deactivated. */
  async #settle(
    ctx: Context,
    tx: Tx,
    by: Provisioner,
    { person: { user, state }, wanted }: { person: Person; wanted: UserAttributes },
  ): Promise<Person> {
    const { tenantId } = ctx;
    const [email, name] = [accountAddress(wanted), accountName(wanted)];
    const names = namesOf(wanted);
    const isEnabled = user.status !== 'disabled';
    const isEnding = isEnabled && !wanted.active;
    // What an admin disabled, only an admin enables.
    const isReviving = !isEnabled && wanted.active && state.is_suspended === 1;
    const status = isEnding ? 'disabled' : isReviving ? 'active' : user.status;
    const is_suspended = isEnding ? 1 : wanted.active ? 0 : state.is_suspended;
    const changedUser: UserRow = { ...user, email, name, status };
    const changedState: store.UserState = { ...state, ...names, external_id: wanted.externalId, is_suspended };
    const changed = [...differing(user, changedUser), ...differing(state, changedState)];
    if (changed.length === 0) return { user, state };
    if (user.role === 'owner') throw isOwner();
    if (names.user_name_key !== state.user_name_key) await refuseTakenName(tx, by, wanted.userName);
    if (email !== user.email) await refuseTakenAddress(ctx, tx, email, user.user_id);
    if (wanted.externalId !== state.external_id) {
      if (state.external_id !== null) await this.#unlink(ctx, tx, by, { user, subject: state.external_id });
      const subject = wanted.externalId;
      if (subject !== null) await this.#link(ctx, tx, by, { userId: user.user_id, subject });
    }
    await updateUser(tx, tenantId, user.user_id, { email, name, status });
    await settleInvitations(ctx, tx, user, changedUser);
    const ended = isEnding ? await this.#ports.revokeTokensOf(tx, tenantId, user.user_id, ctx.now) : {};
    const settled = await store.updateState(tx, state, { ...changedState, updated_at: ctx.now });
    await raiseEpoch(tx, tenantId);
    ctx.record.describe({ changed, ...(isEnding && { deactivated: true }), ...(isReviving && { activated: true }) });
    ctx.record.describe(ended);
    return { user: changedUser, state: settled };
  }

  #shown(ctx: Context, person: Person, groups: Awaited<ReturnType<typeof groupsOf>>): ScimUser {
    const shown = toWire(ctx, person, groups.get(person.user.user_id));
    shared.setResourceHeaders(ctx, shown.meta);
    return shown;
  }

  async delete(ctx: Context, userId: string): Promise<undefined> {
    ctx.record.setResource(`user/${userId}`);
    return ctx.change(async (tx) => {
      const by = await shared.lockedProvisioner(ctx, tx);
      const person = await lockedPerson(ctx, tx, by, userId);
      const groups = await groupsOf(tx, by.owner, [userId]);
      shared.requireVersion(ctx, toWire(ctx, person, groups.get(userId)).meta.version);
      const { user } = person;
      if (user.role === 'owner') throw isOwner();
      ctx.record.describe({ email: user.email, role: user.role });
      if (user.status === 'disabled' && person.state.is_suspended === 0) {
        // An account that an admin disabled stays, with its identity and its address: otherwise the provider could make it anew.
        await store.deleteStateOf(tx, ctx.tenantId, userId);
        ctx.record.describe({ account: 'stays disabled' });
        return undefined;
      }
      ctx.record.describe(await endAccount(tx, user, ctx.now, { ports: this.#ports, removed: this.#removed }));
      return undefined;
    });
  }
}

async function lockedPerson(ctx: Context, tx: Tx, { owner }: Provisioner, userId: string): Promise<Person> {
  const user = await lockUser(tx, ctx.tenantId, userId);
  const state = user && (await store.lockState(tx, owner, userId));
  if (user === undefined || state === undefined) throw notFound('user');
  return { user, state };
}

async function refuseTakenName(tx: Tx, { owner }: Provisioner, userName: string): Promise<void> {
  if ((await store.findStateByName(tx, owner, userName.toLowerCase())) !== undefined) throw taken('userName');
}

/** Anyone who can choose an address at the provider must not get the account that has it. */
async function refuseTakenAddress(ctx: Context, tx: Tx, email: string, userId: string): Promise<void> {
  const other = await findUserByEmail(tx, ctx.tenantId, email);
  if (other === undefined || other.user_id === userId) return;
  throw new CofferError(
    'ALREADY_EXISTS',
    'Another account here has this e-mail address. Accounts are never joined by address: delete the other one first, or send the subject with which its owner signs in as externalId.',
    { auditReason: 'the e-mail address belongs to another account' },
  );
}

function taken(attribute: 'userName' | 'externalId'): CofferError {
  return new CofferError('ALREADY_EXISTS', `Another user has this ${attribute}.`, {
    auditReason: `uniqueness: ${attribute}`,
  });
}

/** The names of columns whose values differ, for the audit log. */
function differing<R extends object>(before: R, after: R): string[] {
  return (Object.keys(after) as (keyof R & string)[]).filter((column) => {
    const [a, b] = [before[column], after[column]];
    return !(a instanceof Uint8Array) && a !== b;
  });
}

function namesOf(wanted: UserAttributes) {
  return {
    user_name: wanted.userName,
    user_name_key: wanted.userName.toLowerCase(),
    display_name: wanted.displayName,
    formatted_name: wanted.formatted,
    given_name: wanted.givenName,
    family_name: wanted.familyName,
  };
}

function attributesOf({ user, state }: Person): UserAttributes {
  return {
    userName: state.user_name,
    externalId: state.external_id,
    active: user.status !== 'disabled',
    displayName: state.display_name,
    formatted: state.formatted_name,
    givenName: state.given_name,
    familyName: state.family_name,
    email: user.email,
  };
}

type GroupRef = { value: string; display: string; type: string };

/** The groups of the provider that each of these users is in, ordered by id. */
async function groupsOf(db: Reader, owner: store.Owner, userIds: readonly string[]): Promise<Map<string, GroupRef[]>> {
  const joined = await groupsOfUsers(db, owner.tenant_id, userIds);
  const names = await namesAmong(db, owner, [...new Set([...joined.values()].flat())]);
  const refs = (ids: readonly string[]) =>
    ids.toSorted().flatMap((value) => {
      const display = names.get(value);
      return display === undefined ? [] : [{ value, display, type: 'direct' }];
    });
  return new Map([...joined].map(([userId, ids]) => [userId, refs(ids)]));
}

function toWire(ctx: Context, person: Person, groups: readonly GroupRef[] = []) {
  const { userName, externalId, active, displayName, formatted, givenName, familyName, email } = attributesOf(person);
  const parts = Object.entries({ formatted, givenName, familyName }).filter(([, text]) => text !== '');
  const shown = {
    ...(externalId !== null && { externalId }),
    userName,
    ...(parts.length > 0 && { name: Object.fromEntries(parts) }),
    ...(displayName !== '' && { displayName }),
    emails: [{ value: String(email), type: 'work', primary: true }],
    active,
    ...(groups.length > 0 && { groups: [...groups] }),
  };
  const { state } = person;
  const meta = shared.metaOf(
    ctx,
    { resourceType: 'User', id: state.user_id, version: shared.versionOf(state.user_id, shown) },
    state,
  );
  // Not part of the version, which would change with the address of the service.
  const linked = groups.map((group) => ({ ...group, $ref: shared.locationOf(ctx.kernel, 'Group', group.value) }));
  return { schemas: [USER_SCHEMA], id: state.user_id, ...shown, ...(linked.length > 0 && { groups: linked }), meta };
}
