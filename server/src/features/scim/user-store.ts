import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { canonicalEmail } from '../../kernel/wire/wire.ts';
import { badRequest } from './errors.ts';
import type { Filter, FilterValue } from './filter.ts';
import {
  type Comparison,
  type Condition,
  conditionOf,
  type Expressions,
  listPage,
  textCondition,
  type Window,
} from './listing.ts';

export interface ScimUserTables {
  scim_users: Authenticated<UserState>;
}

/** A user as their provider knows them. The address, the role and whether they are disabled are in the row of the user. */
export interface UserState {
  tenant_id: string;
  user_id: string;
  issuer_hash: Uint8Array;
  user_name: string;
  /** In lower case, because userName is unique in any case. */
  user_name_key: string;
  external_id: string | null;
  display_name: string;
  formatted_name: string;
  given_name: string;
  family_name: string;
  /** 1 if the provider disabled the user. Only then it can enable them again: what an admin disabled, an admin enables. */
  is_suspended: number;
  created_at: number;
  updated_at: number;
}

export const SCIM_USERS = new AuthenticatedTable<'scim_users', UserState>('scim_users', {
  key: ['user_id'],
  covered: [
    'issuer_hash',
    'user_name',
    'user_name_key',
    'external_id',
    'display_name',
    'formatted_name',
    'given_name',
    'family_name',
    'is_suspended',
    'created_at',
    'updated_at',
  ],
});

/** Whose people and groups: a tenant, and the issuer of the provider. */
export interface Owner {
  tenant_id: string;
  issuer_hash: Uint8Array;
}

function isIt({ tenant_id, issuer_hash }: Owner, userId: string): RowFilter<'scim_users'> {
  return (eb) => eb.and({ tenant_id, issuer_hash, user_id: userId });
}

export async function insertState(tx: Tx, row: UserState): Promise<void> {
  await SCIM_USERS.insert(tx, row);
}

export async function findState(db: Reader, owner: Owner, userId: string): Promise<UserState | undefined> {
  const query = db.selectFrom('scim_users').selectAll().where(isIt(owner, userId));
  return SCIM_USERS.checked(db, await query.executeTakeFirst());
}

export async function findStateByName(db: Reader, owner: Owner, key: string): Promise<UserState | undefined> {
  const { tenant_id, issuer_hash } = owner;
  const query = db
    .selectFrom('scim_users')
    .selectAll()
    .where((eb) => eb.and({ tenant_id, issuer_hash, user_name_key: key }));
  return SCIM_USERS.checked(db, await query.executeTakeFirst());
}

/** Whether the user belongs to any issuer. */
export async function isProvisioned(db: Reader, tenantId: string, userId: string): Promise<boolean> {
  const query = db.selectFrom('scim_users').select('user_id').where('tenant_id', '=', tenantId);
  return (await query.where('user_id', '=', userId).executeTakeFirst()) !== undefined;
}

export async function lockState(tx: Tx, owner: Owner, userId: string): Promise<UserState | undefined> {
  const [row] = await SCIM_USERS.lockedWhere(tx, isIt(owner, userId));
  return row;
}

export function updateState(tx: Tx, row: UserState, change: Partial<UserState>): Promise<UserState> {
  return SCIM_USERS.update(tx, row, change);
}

/** Called when an admin disables the user, of whichever issuer. */
export async function takeOverSuspension(tx: Tx, tenantId: string, userId: string): Promise<void> {
  const isSuspended: RowFilter<'scim_users'> = (eb) =>
    eb.and({ tenant_id: tenantId, user_id: userId, is_suspended: 1 });
  await SCIM_USERS.updateWhere(tx, isSuspended, { is_suspended: 0 });
}

export async function deleteStateOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await SCIM_USERS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}

/** Those of the given users who belong to the issuer, with their names. */
export async function provisionedAmong(
  db: Reader,
  { tenant_id, issuer_hash }: Owner,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let at = 0; at < userIds.length; at += IDS_AT_ONCE) {
    const rows = await db
      .selectFrom('scim_users')
      .selectAll()
      .where('tenant_id', '=', tenant_id)
      .where('user_id', 'in', userIds.slice(at, at + IDS_AT_ONCE))
      .execute();
    const own = rows.filter((row) => Buffer.from(row.issuer_hash).equals(issuer_hash));
    for (const { user_id, user_name } of await SCIM_USERS.authenticOf(db, own)) found.set(user_id, user_name);
  }
  return found;
}
const IDS_AT_ONCE = 500;

export async function listStates(
  db: Reader,
  { tenant_id, issuer_hash }: Owner,
  filter: Filter | null,
  window: Window,
): Promise<{ total: number; rows: UserState[] }> {
  const owned = db
    .selectFrom('scim_users as s')
    .where('s.tenant_id', '=', tenant_id)
    .where('s.issuer_hash', '=', issuer_hash);
  const { total, rows } = await listPage<'scim_users', UserState>(owned, 'user_id', { filter, compare }, window);
  return { total, rows: await SCIM_USERS.checkedAll(db, rows) };
}

function compare(eb: Expressions<'scim_users'>, comparison: Comparison): Condition<'scim_users'> {
  if (comparison.kind === 'some') {
    if (comparison.attribute !== 'emails' || !comparesAddress(comparison.filter)) throw unsupported();
    return conditionOf(eb, comparison.filter, compareAddress);
  }
  const { attribute } = comparison;
  const text = (column: string, isKey = false) => textCondition(eb, column, comparison, { textOf, isKey });
  switch (attribute) {
    case 'id':
      return text('s.user_id');
    case 'username':
      return text('s.user_name_key', true);
    case 'externalid':
      return text('s.external_id');
    case 'displayname':
      return text('s.display_name');
    case 'name.givenname':
      return text('s.given_name');
    case 'name.familyname':
      return text('s.family_name');
    case 'emails':
    case 'emails.value':
      return hasAddress(eb, comparison);
    case 'active':
      return isActive(eb, comparison);
    default:
      throw unsupported();
  }
}

/** There is one address, of the type work and primary, so a filter on these two selects it. */
function compareAddress(eb: Expressions<'scim_users'>, comparison: Comparison): Condition<'scim_users'> {
  if (comparison.kind === 'some') throw unsupported();
  if (comparison.attribute === 'value') return hasAddress(eb, comparison);
  if (comparison.kind !== 'eq') throw unsupported();
  if (comparison.attribute === 'type') return eb.and([eb.lit(comparison.value === 'work')]);
  if (comparison.attribute === 'primary') return eb.and([eb.lit(flagOf(comparison.value))]);
  throw unsupported();
}

function comparesAddress(filter: Filter): boolean {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.parts.some(comparesAddress);
  if (filter.kind === 'not') return comparesAddress(filter.filter);
  return filter.kind !== 'some' && filter.attribute === 'value';
}

/** Addresses are stored in lower case. */
function hasAddress(
  eb: Expressions<'scim_users'>,
  comparison: Exclude<Comparison, { kind: 'some' }>,
): Condition<'scim_users'> {
  const address = (value: unknown) => canonicalEmail(textOf(value));
  return eb.exists(
    eb
      .selectFrom('users as u')
      .select('u.user_id')
      .whereRef('u.tenant_id', '=', 's.tenant_id')
      .whereRef('u.user_id', '=', 's.user_id')
      .where(() => textCondition(eb, 'u.email', comparison, { textOf: address, isKey: true }) as never),
  );
}

function isActive(
  eb: Expressions<'scim_users'>,
  comparison: Exclude<Comparison, { kind: 'some' }>,
): Condition<'scim_users'> {
  if (comparison.kind === 'pr') return eb.and([eb.lit(true)]);
  if (comparison.kind !== 'eq') throw unsupported();
  const wanted = flagOf(comparison.value);
  return eb.exists(
    eb
      .selectFrom('users as u')
      .select('u.user_id')
      .whereRef('u.tenant_id', '=', 's.tenant_id')
      .whereRef('u.user_id', '=', 's.user_id')
      .where('u.status', wanted ? '!=' : '=', 'disabled'),
  );
}

function textOf(value: unknown): string {
  // PostgreSQL cannot compare with NUL.
  if (typeof value !== 'string' || value.includes('\0')) throw unsupported();
  return value;
}

/** Entra writes booleans as text. */
export function flagOf(value: FilterValue): boolean {
  const text = String(value).toLowerCase();
  if (text !== 'true' && text !== 'false') throw unsupported();
  return text === 'true';
}

function unsupported(): Error {
  return badRequest(
    'invalidFilter',
    'The filter is not supported. What works: id, userName, externalId, displayName, name.givenName, name.familyName, active and emails.value, compared by eq, ne, co, sw, ew and pr, joined by and, or and not.',
  );
}
