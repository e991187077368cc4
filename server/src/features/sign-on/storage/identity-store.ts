import { sha256 } from '../../../kernel/crypto/digest.ts';
import { AuthenticatedTable, type RowFilter } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';

export interface SignOnTables {
  sso_providers: Authenticated<ProviderRow>;
  sso_identities: Authenticated<IdentityRow>;
}

export interface ProviderRow {
  tenant_id: string;
  name: string;
  issuer: string;
  client_id: string;
  sealed_secret: Uint8Array | null;
  /** JSON. */
  scopes: string;
  groups_claim: string;
  /** JSON. */
  role_mapping: string;
  /** JSON. */
  group_mapping: string;
  default_role: 'admin' | 'auditor' | 'member' | null;
  required: number;
  enabled: number;
  /** Incremented by every change, so that a sign-in that began before a change does not complete after it. */
  revision: number;
  created_by: string;
  created_at: number;
  updated_at: number;
  /** The claim that says who somebody is, and equals externalId in SCIM; null for providers from before it could be chosen, which means sub. */
  subject_claim: SubjectClaim | null;
}

/**
 * Tells a provider from every other state it had, and from another one that was added under its name later: each begins with revision 1, and a clock
 * may have been set back in between.
 */
export function stateOf({ issuer, created_at, revision }: ProviderRow) {
  return { issuer, created_at, revision };
}

export function isSameState(one: ReturnType<typeof stateOf>, other: ReturnType<typeof stateOf>): boolean {
  return one.issuer === other.issuer && one.created_at === other.created_at && one.revision === other.revision;
}

/** `oid` is what Entra calls the id of a person in its directory; its `sub` differs for each application. */
export type SubjectClaim = 'sub' | 'oid';

/** Which account a subject of an issuer has. It outlives the provider, so that a provider that is added again finds its people. */
export interface IdentityRow {
  tenant_id: string;
  identity_hash: Uint8Array;
  issuer: string;
  subject: string;
  user_id: string;
  created_at: number;
}

export const SSO_PROVIDERS = new AuthenticatedTable<'sso_providers', ProviderRow>('sso_providers', {
  key: ['name'],
  covered: [
    'issuer',
    'client_id',
    'sealed_secret',
    'scopes',
    'groups_claim',
    'role_mapping',
    'group_mapping',
    'default_role',
    'required',
    'enabled',
    'revision',
    'created_by',
    'created_at',
    'updated_at',
  ],
  appended: ['subject_claim'],
});

export const SSO_IDENTITIES = new AuthenticatedTable<'sso_identities', IdentityRow>('sso_identities', {
  key: ['identity_hash'],
  covered: ['issuer', 'subject', 'user_id', 'created_at'],
});

export const CURSOR_KIND = 'sso_providers';

export type ProviderKey = Pick<ProviderRow, 'tenant_id' | 'name'>;

function isIt({ tenant_id, name }: ProviderKey): RowFilter<'sso_providers'> {
  return (eb) => eb.and({ tenant_id, name });
}

export async function insertProvider(tx: Tx, row: ProviderRow): Promise<void> {
  await SSO_PROVIDERS.insert(tx, row);
}

export async function findProvider(db: Reader, key: ProviderKey): Promise<ProviderRow | undefined> {
  const query = db.selectFrom('sso_providers').selectAll().where(isIt(key));
  return SSO_PROVIDERS.checked(db, await query.executeTakeFirst());
}

export async function lockProvider(tx: Tx, key: ProviderKey): Promise<ProviderRow | undefined> {
  const [row] = await SSO_PROVIDERS.lockedWhere(tx, isIt(key));
  return row;
}

export async function listProviders(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Page<ProviderRow>> {
  const rows = await db
    .selectFrom('sso_providers')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, row.name]);
}

/** All providers of a tenant, of which there are few. */
export async function providersOf(db: Reader, tenantId: string): Promise<ProviderRow[]> {
  const rows = await db
    .selectFrom('sso_providers')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '>', '')
    .orderBy('name')
    .execute();
  return SSO_PROVIDERS.checkedAll(db, rows);
}

export async function updateProvider(tx: Tx, row: ProviderRow): Promise<void> {
  const { tenant_id, name, ...change } = row;
  await SSO_PROVIDERS.updateWhere(tx, isIt({ tenant_id, name }), change);
}

export async function deleteProvider(tx: Tx, key: ProviderKey): Promise<void> {
  await SSO_PROVIDERS.deleteWhere(tx, isIt(key));
}

/** Issuer and subject have no bound that an index of every database accepts, so their hash is the key. */
export function identityHash({ issuer, subject_claim }: Issuing, subject: string): Buffer {
  // Values of two claims are told apart, even if they are equal.
  const claim = subject_claim ?? 'sub';
  return sha256(JSON.stringify(claim === 'sub' ? [issuer, subject] : [issuer, subject, claim]));
}
type Issuing = Pick<ProviderRow, 'issuer' | 'subject_claim'>;

export async function findIdentity(db: Reader, tenantId: string, hash: Uint8Array): Promise<IdentityRow | undefined> {
  const query = db
    .selectFrom('sso_identities')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('identity_hash', '=', hash);
  return SSO_IDENTITIES.checked(db, await query.executeTakeFirst());
}

/** A forged or damaged row also counts: it refuses and never allows. */
export async function hasIdentity(db: Reader, tenantId: string, userId: string): Promise<boolean> {
  const query = db.selectFrom('sso_identities').select('user_id').where('tenant_id', '=', tenantId);
  return (await query.where('user_id', '=', userId).limit(1).executeTakeFirst()) !== undefined;
}

export async function identitiesOf(db: Reader, tenantId: string, userId: string): Promise<IdentityRow[]> {
  const query = db.selectFrom('sso_identities').selectAll().where('tenant_id', '=', tenantId);
  return SSO_IDENTITIES.checkedAll(db, await query.where('user_id', '=', userId).execute());
}

export async function identitiesOfUsers(
  db: Reader,
  tenantId: string,
  userIds: readonly string[],
): Promise<IdentityRow[]> {
  const query = db.selectFrom('sso_identities').selectAll().where('tenant_id', '=', tenantId);
  return SSO_IDENTITIES.checkedAll(db, await query.where('user_id', 'in', userIds).execute());
}

/** Whether it is the identity that somebody has at this provider, or at another one of the same issuer and claim. */
export function isOfProvider(provider: Issuing, { subject, identity_hash }: IdentityRow): boolean {
  return identityHash(provider, subject).equals(identity_hash);
}

export async function insertIdentity(tx: Tx, row: IdentityRow): Promise<void> {
  await SSO_IDENTITIES.insert(tx, row);
}

export async function deleteIdentity(tx: Tx, tenantId: string, hash: Uint8Array): Promise<void> {
  await SSO_IDENTITIES.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, identity_hash: hash }));
}

export async function deleteIdentitiesOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await SSO_IDENTITIES.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}
