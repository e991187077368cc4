import { vaultResource } from '../../kernel/authz/pattern.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import type { Context } from '../../kernel/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { connectionResources, findConnection } from '../app-connections/index.ts';
import { findGroupByIdOrName } from '../groups/index.ts';
import { findUser } from '../users/index.ts';
import { findVaultById, vaultAttributes } from '../vaults/index.ts';

/** More ids than that nobody compares with their names, and each takes a query. */
const NAMES_MAX = 100;

/** What people cannot tell apart by looking at it; the last are client ids of AppConnections. */
const IDS = /\b(?:user|group|vault)_[0-9a-z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
/** A connection is also known by its number, which is one only behind that word: in a path, a policy or a body. */
const CONNECTION_NUMBERS = /\bapp[-_]connections?(?:\/|":"?)(\d{1,15})\b/g;

/** What an id stands for. */
interface Named {
  name: string;
  maySee(ctx: Context): boolean;
}

/** Names of everything that a request names by id; of another tenant, or of nothing, there is none. */
export async function namesIn(db: Reader, tenantId: string, shown: unknown): Promise<Record<string, string>> {
  const text = JSON.stringify(shown);
  const numbers = [...text.matchAll(CONNECTION_NUMBERS)].map(([, number = '']) => number);
  // In the order of the request: whom it is about stands before what a document names.
  const ids = [...new Set([...(text.match(IDS) ?? []), ...numbers])].slice(0, NAMES_MAX);
  const found = await Promise.all(ids.map(async (id) => [id, (await findNamed(db, tenantId, id))?.name] as const));
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/**
 * Those of the names that the caller may see. Who asks can put any id into a request, and a number is easily guessed: it must tell them no
 * name that they could not read themselves.
 */
export async function visibleNames(
  ctx: Context,
  db: Reader,
  names: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const { role } = ctx.principal;
  // Of what was deleted since, rights can no longer be decided.
  const seesDeleted = isAdminRole(role) || role === 'auditor';
  const visible: Record<string, string> = {};
  // One after the other: it may be inside a transaction, whose connection takes one query at a time.
  for (const [id, name] of Object.entries(names)) {
    const found = await findNamed(db, ctx.tenantId, id);
    if (found?.maySee(ctx) ?? seesDeleted) visible[id] = name;
  }
  return visible;
}

async function findNamed(db: Reader, tenantId: string, id: string): Promise<Named | undefined> {
  if (id.startsWith('user_')) {
    const user = await findUser(db, tenantId, id);
    return user && { name: user.email, maySee: (ctx) => ctx.may('users:read', `user/${id}`) };
  }
  if (id.startsWith('group_')) {
    const group = await findGroupByIdOrName(db, tenantId, id);
    return group && { name: group.name, maySee: (ctx) => ctx.may('groups:read', `group/${id}`) };
  }
  if (id.startsWith('vault_')) {
    const vault = await findVaultById(db, tenantId, id);
    return (
      vault && {
        name: vault.name,
        maySee: (ctx) => ctx.may('vaults:read', vaultResource(vault.name), vaultAttributes(vault)),
      }
    );
  }
  const connection = await findConnection(db, tenantId, id);
  return (
    connection && {
      name: connection.name,
      maySee: (ctx) => ctx.mayByAny(['app_connections:read'], connectionResources(connection)),
    }
  );
}
