import { vaultResource } from '../../kernel/authz/pattern.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { findConnection } from '../app-connections/index.ts';
import { connectionResources } from '../app-connections/storage/index.ts';
import { findGroupByIdOrName } from '../groups/storage/index.ts';
import { findUser } from '../users/storage/index.ts';
import { vaultAttributes } from '../vaults/index.ts';
import { findVaultById } from '../vaults/storage/index.ts';

/** Nobody compares more ids than this with their names, and each takes a query. */
const NAMES_MAX = 100;

/** Ids that people cannot tell apart by looking at them; the last alternative matches client ids of AppConnections. */
const IDS = /\b(?:user|group|vault)_[0-9a-z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
/** A connection is also identified by its number, which is recognizable only after this word: in a path, a policy or a body. */
const CONNECTION_NUMBERS = /\bapp[-_]connections?(?:\/|":"?)(\d{1,15})\b/g;

/** The object that an id refers to. */
interface Named {
  name: string;
  maySee(ctx: Context): boolean;
}

/** Returns the name of every object that a request refers to by id. Unknown ids and those of other tenants have none. */
export async function namesIn(db: Reader, tenantId: string, shown: unknown): Promise<Record<string, string>> {
  const text = JSON.stringify(shown);
  const numbers = [...text.matchAll(CONNECTION_NUMBERS)].map(([, number = '']) => number);
  // Ids are taken in the order of the request, in which its subject comes before anything that a document mentions.
  const ids = [...new Set([...(text.match(IDS) ?? []), ...numbers])].slice(0, NAMES_MAX);
  const found = await Promise.all(ids.map(async (id) => [id, (await findNamed(db, tenantId, id))?.name] as const));
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/**
 * Returns the names that the caller may see. A requester can put any id into a request, and numbers are easily guessed, so the response must not
 * reveal a name that they could not read themselves.
 */
export async function visibleNames(
  ctx: Context,
  db: Reader,
  names: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const { role } = ctx.principal;
  // Permissions on a deleted object can no longer be evaluated.
  const seesDeleted = isAdminRole(role) || role === 'auditor';
  const visible: Record<string, string> = {};
  // The queries run one after the other, because `db` may be a transaction, whose connection takes one query at a time.
  for (const [id, name] of Object.entries(names)) {
    const found = await findNamed(db, ctx.tenantId, id);
    if (found?.maySee(ctx) ?? seesDeleted) visible[id] = name;
  }
  return visible;
}

async function findNamed(db: Reader, tenantId: string, id: string): Promise<Named | undefined> {
  if (id.startsWith('user_')) {
    const user = await findUser(db, tenantId, id);
    return user && { name: user.email, maySee: (ctx) => ctx.access.may('users:read', `user/${id}`) };
  }
  if (id.startsWith('group_')) {
    const group = await findGroupByIdOrName(db, tenantId, id);
    return group && { name: group.name, maySee: (ctx) => ctx.access.may('groups:read', `group/${id}`) };
  }
  if (id.startsWith('vault_')) {
    const vault = await findVaultById(db, tenantId, id);
    return (
      vault && {
        name: vault.name,
        maySee: (ctx) => ctx.access.may('vaults:read', vaultResource(vault.name), vaultAttributes(vault)),
      }
    );
  }
  const connection = await findConnection(db, tenantId, id);
  return (
    connection && {
      name: connection.name,
      maySee: (ctx) => ctx.access.mayByAny(['app_connections:read'], connectionResources(connection)),
    }
  );
}
