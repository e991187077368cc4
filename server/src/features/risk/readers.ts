import { possibleRanges } from '../../kernel/authz/allowed-ranges.ts';
import { type Ceiling, placesInVault, withinCeiling } from '../../kernel/authz/ceiling.ts';
import { couldShow } from '../../kernel/authz/disclosure.ts';
import { intersection, type PathRange } from '../../kernel/authz/path-ranges.ts';
import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import { type Role, rolePolicies } from '../../kernel/authz/roles.ts';
import { membershipPolicy } from '../../kernel/authz/vault-roles.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { actingConnection } from '../app-connections/index.ts';
import {
  authenticConnectionsAfter,
  type ConnectionRow,
  connectionResources,
} from '../app-connections/storage/index.ts';
import { groupNames, groupsOfUsers } from '../groups/storage/index.ts';
import { policiesAttachedTo, type RightsOfSome } from '../policies/index.ts';
import { attributesOf, secretResource } from '../secrets/index.ts';
import type { TemplatePart } from '../secrets/references/index.ts';
import type { AssessedRow } from '../secrets/storage/index.ts';
import { activeUsersAfter, type UserRow } from '../users/storage/index.ts';
import { type DatedMembership, membershipsOf } from '../vaults/index.ts';

/** Every action that reveals a value by itself. */
const SHOWING = ['secrets:read', 'eso:read'];
const USERS_PER_PAGE = 500;
const CONNECTIONS_PER_PAGE = 100;
/** Each adds a term to the condition of a query, and SQLite limits how many there may be. */
const PRINCIPALS_PER_QUERY = 100;

/** One source of rights. */
export interface Grant {
  kind: 'membership' | 'role' | 'policy' | 'group' | 'connection';
  /** A role, the name of a policy, the id of a group, a client id; empty for the memberships of the users themselves. */
  id: string;
  name: string;
  policies: readonly CompiledPolicy[];
  memberships: readonly DatedMembership[];
  /** Only of a connection: whether it is limited to no paths. */
  reachesAllPaths: boolean;
}

/** Principals with the same rights, so that each right is evaluated once for all of them. */
export interface SameRights {
  ceilings: readonly Ceiling[];
  policies: readonly CompiledPolicy[];
  /** The nearest first. */
  grants: readonly Grant[];
  users: readonly UserRow[];
  connections: readonly ConnectionRow[];
}

/** Every active user and connection of a tenant, by their rights. Memory grows with the number of principals, never with that of secrets. */
export async function loadReaders(db: Reader, tenantId: string, now: number): Promise<SameRights[]> {
  return [...(await usersByRights(db, tenantId, now)), ...(await connectionsByRights(db, tenantId, now))];
}

/** The same with the names under which principals are known elsewhere. */
export async function rightsOfEverybody(db: Reader, tenantId: string, now: number): Promise<RightsOfSome[]> {
  return (await loadReaders(db, tenantId, now)).map(({ users, connections, ...rights }) => ({
    ...rights,
    principals: [
      ...users.map(({ user_id: id, email }) => ({
        kind: 'user' as const,
        id,
        name: email,
        resources: [`user/${id}`],
      })),
      ...connections.map((row) => ({
        kind: 'app_connection' as const,
        id: row.client_id,
        name: row.name,
        resources: connectionResources(row),
      })),
    ],
  }));
}

/** Users who could read something in the vault, each with the ranges of paths in which that lies. */
export async function readersInVault(
  tenantId: string,
  readers: readonly SameRights[],
  vault: string,
): Promise<{ rights: SameRights; ranges: PathRange[] }[]> {
  const found: { rights: SameRights; ranges: PathRange[] }[] = [];
  for (const [index, rights] of readers.entries()) {
    if (index % PRINCIPALS_PER_QUERY === 0) await nextTurn(tenantId);
    const ranges = readableRanges(rights, vault);
    if (ranges.length > 0) found.push({ rights, ranges });
  }
  return found;
}

/** Where in a vault they could read something. */
export function readableRanges(
  { ceilings, policies }: Pick<SameRights, 'ceilings' | 'policies'>,
  vault: string,
): PathRange[] {
  return intersection(
    SHOWING.flatMap((action) => possibleRanges(policies, action, vault)),
    placesInVault(ceilings, vault),
  );
}

/** Whether they could read the secret by some request: from an allowed address, at an allowed time, with a second factor if one is required. */
export function couldRead(
  { ceilings, policies }: Pick<SameRights, 'ceilings' | 'policies'>,
  vault: string,
  row: Pick<AssessedRow, 'path' | 'environment' | 'tags'>,
): boolean {
  const described = { resource: secretResource(vault, row.path), attributes: attributesOf(row) };
  const context = { ...described.attributes, time: Number.NaN };
  return SHOWING.some(
    (action) =>
      withinCeiling(ceilings, { action, resource: described.resource, context }) === 'ok' &&
      couldShow(policies, [action], described),
  );
}

/** Whether they could read everything that a template is made of. Nobody can while a part does not exist. */
export function couldReadParts(
  rights: Pick<SameRights, 'ceilings' | 'policies'>,
  parts: readonly TemplatePart[],
): boolean {
  return parts.every(({ vault, row }) => row !== undefined && couldRead(rights, vault, row));
}

/** The nearest grant by which they could read the secret. */
export function grantOf(
  { grants }: SameRights,
  vault: string,
  row: Pick<AssessedRow, 'path' | 'environment' | 'tags'>,
): Grant | undefined {
  return grants.find(({ policies }) => couldRead({ ceilings: [], policies }, vault, row));
}

async function usersByRights(db: Reader, tenantId: string, now: number): Promise<SameRights[]> {
  const groups = new Map<string, Grant>();
  const found = new Map<string, SameRights & { users: UserRow[] }>();
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof activeUsersAfter>> = await activeUsersAfter(
      db,
      tenantId,
      after,
      USERS_PER_PAGE,
    );
    const { users } = page;
    const ids = users.map(({ user_id }) => user_id);
    const groupIds = await groupsOfUsers(db, tenantId, ids);
    await addGroups(db, tenantId, groups, new Set([...groupIds.values()].flat()));
    const attached = await policiesAttachedTo(db, tenantId, 'user', ids);
    const memberships = await membershipsBy(db, tenantId, 'user', ids);
    for (const user of users) {
      const own = (memberships.get(user.user_id) ?? []).filter(({ until = Infinity }) => until > now);
      const policies = attached.get(user.user_id) ?? [];
      const joined = (groupIds.get(user.user_id) ?? []).toSorted();
      const key = JSON.stringify([user.role, joined, policies.map(({ name }) => name).toSorted(), own.map(textOf)]);
      const same = found.get(key);
      if (same !== undefined) same.users.push(user);
      else {
        const ofGroups = joined.map((id) => groups.get(id)).filter((grant) => grant !== undefined);
        found.set(key, rightsOf(user, own, policies, ofGroups));
      }
    }
    after = page.next;
    await nextTurn(tenantId);
  }
  return [...found.values()];
}

/** Members of several vaults are compared with all their dates, because these say how strong the membership is. */
function textOf({ vault, role, added_at, reviewed_at, path = null, until }: DatedMembership): string {
  return `${vault} ${role} ${reviewed_at ?? added_at} ${path ?? ''} ${until ?? ''}`;
}

function rightsOf(
  user: UserRow,
  own: readonly DatedMembership[],
  attached: readonly CompiledPolicy[],
  groups: readonly Grant[],
): SameRights & { users: UserRow[] } {
  const role = user.role as Role;
  const grants: Grant[] = [
    ...(own.length === 0 ? [] : [membershipGrant(own)]),
    ...attached.map((policy) => ({ ...NO_GRANT, kind: 'policy' as const, ...named(policy.name), policies: [policy] })),
    ...groups,
    { ...NO_GRANT, kind: 'role', ...named(role), policies: rolePolicies(role) },
  ];
  return { ceilings: [], policies: grants.flatMap(({ policies }) => policies), grants, users: [user], connections: [] };
}

const NO_GRANT = { policies: [], memberships: [], reachesAllPaths: false };

function named(name: string): Pick<Grant, 'id' | 'name'> {
  return { id: name, name };
}

function membershipGrant(memberships: readonly DatedMembership[]): Grant {
  return { ...NO_GRANT, kind: 'membership', ...named(''), policies: [membershipPolicy(memberships)], memberships };
}

async function addGroups(
  db: Reader,
  tenantId: string,
  groups: Map<string, Grant>,
  wanted: ReadonlySet<string>,
): Promise<void> {
  const ids = [...wanted].filter((id) => !groups.has(id));
  const names = await groupNames(db, tenantId, ids);
  const attached = await policiesAttachedTo(db, tenantId, 'group', ids);
  const joined = await membershipsBy(db, tenantId, 'group', ids);
  for (const id of ids) {
    const memberships = joined.get(id) ?? [];
    const policies = [
      ...(memberships.length === 0 ? [] : [membershipPolicy(memberships)]),
      ...(attached.get(id) ?? []),
    ];
    groups.set(id, { ...NO_GRANT, kind: 'group', id, name: names.get(id) ?? id, policies, memberships });
  }
}

async function membershipsBy(
  db: Reader,
  tenantId: string,
  kind: 'user' | 'group',
  ids: readonly string[],
): Promise<Map<string, DatedMembership[]>> {
  const found: DatedMembership[] = [];
  for (let from = 0; from < ids.length; from += PRINCIPALS_PER_QUERY) {
    const principals = ids.slice(from, from + PRINCIPALS_PER_QUERY).map((id) => ({ kind, id }));
    found.push(...(await membershipsOf(db, tenantId, principals)));
  }
  return Map.groupBy(
    found.toSorted((a, b) => (a.vault < b.vault ? -1 : 1)),
    ({ principal_id }) => principal_id,
  );
}

async function connectionsByRights(db: Reader, tenantId: string, now: number): Promise<SameRights[]> {
  const found: SameRights[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<typeof authenticConnectionsAfter>> = await authenticConnectionsAfter(
      db,
      tenantId,
      after,
      CONNECTIONS_PER_PAGE,
    );
    for (const row of page.connections) {
      const rights = await rightsOfConnection(db, row, now);
      if (rights !== null) found.push(rights);
    }
    after = page.next;
    await nextTurn(tenantId);
  }
  return found;
}

async function rightsOfConnection(db: Reader, row: ConnectionRow, now: number): Promise<SameRights | null> {
  const credential = { credential: 'connection', credentialId: row.client_id, expiresAt: now } as const;
  const { principal } = await actingConnection(db, row, credential);
  if (principal === null) return null;
  const { policies } = principal;
  // Anyone who may use the connection at all can use it from one of its addresses.
  const ceilings = principal.ceilings.map((ceiling) => ({ ...ceiling, cidrs: null }));
  const paths = JSON.parse(row.allowed_paths) as string[];
  const reachesAllPaths = paths.some((path) => path === '*' || path === '**');
  const grant: Grant = {
    ...NO_GRANT,
    kind: 'connection',
    id: row.client_id,
    name: row.name,
    policies,
    reachesAllPaths,
  };
  return { ceilings, policies, grants: [grant], users: [], connections: [row] };
}
