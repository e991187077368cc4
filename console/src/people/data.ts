import type { RouteOutput } from '@coffer/client';
import { all, call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { type Loaded, useLoaded } from '../app/loading.ts';

export type User = RouteOutput<'GET /v1/users'>['users'][number];
export type Group = RouteOutput<'GET /v1/groups'>['groups'][number];
export type Connection = RouteOutput<'GET /v1/app-connections'>['app_connections'][number];
export type PrincipalKind = 'user' | 'group' | 'app_connection';

const PAGE = 200;
/** Names beyond this are shown as ids. */
const NAMES_MAX = 2000;

export function loadUsers(signal: AbortSignal, max?: number): Promise<User[]> {
  return all(async (cursor) => {
    const page = await call('GET /v1/users', { query: { limit: PAGE, ...(cursor && { cursor }) } }, { signal });
    return { items: page.users, next_cursor: page.next_cursor };
  }, max);
}

export function loadGroups(signal: AbortSignal, max?: number): Promise<Group[]> {
  return all(async (cursor) => {
    const page = await call('GET /v1/groups', { query: { limit: PAGE, ...(cursor && { cursor }) } }, { signal });
    return { items: page.groups, next_cursor: page.next_cursor };
  }, max);
}

export function loadConnections(signal: AbortSignal, max?: number): Promise<Connection[]> {
  return all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/app-connections', { query }, { signal });
    return { items: page.app_connections, next_cursor: page.next_cursor };
  }, max);
}

/** Everybody whom rights can be given to, as far as this person may see them. */
export interface Directory {
  readonly users: readonly User[];
  readonly groups: readonly Group[];
  readonly connections: readonly Connection[];
  /** The name that people know it by, or its id. */
  nameOf(kind: PrincipalKind, id: string): string;
}

export function useDirectory(withConnections = false): Loaded<Directory> {
  return useLoaded((signal) => loadDirectory(signal, withConnections), [withConnections]);
}

/** The names of people and connections under which the audit log has them. */
export async function loadActorNames(signal: AbortSignal): Promise<string[]> {
  const [maySeeUsers, maySeeConnections] = await Promise.all([
    mayOne(['users:list', 'user']),
    mayOne(['app_connections:list', 'app-connection']),
  ]);
  const [users, connections] = await Promise.all([
    maySeeUsers ? loadUsers(signal, NAMES_MAX) : [],
    maySeeConnections ? loadConnections(signal, NAMES_MAX) : [],
  ]);
  return [...users.map(({ email }) => email), ...connections.map(({ name }) => name)];
}

async function loadDirectory(signal: AbortSignal, withConnections: boolean): Promise<Directory> {
  const [maySeeUsers, maySeeGroups, maySeeConnections] = await Promise.all([
    mayOne(['users:list', 'user']),
    mayOne(['groups:list', 'group']),
    withConnections ? mayOne(['app_connections:list', 'app-connection']) : false,
  ]);
  const [users, groups, connections] = await Promise.all([
    maySeeUsers ? loadUsers(signal, NAMES_MAX) : [],
    maySeeGroups ? loadGroups(signal, NAMES_MAX) : [],
    maySeeConnections ? loadConnections(signal, NAMES_MAX) : [],
  ]);
  const names = new Map([
    ...users.map(({ id, email }) => [`user ${id}`, email] as const),
    ...groups.map(({ id, name }) => [`group ${id}`, name] as const),
    ...connections.map(({ client_id, name }) => [`app_connection ${client_id}`, name] as const),
  ]);
  return { users, groups, connections, nameOf: (kind, id) => names.get(`${kind} ${id}`) ?? id };
}
