import { sha256 } from '../../kernel/crypto/digest.ts';
import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    sso_providers: Authenticated<ProviderRow>;
    sso_identities: Authenticated<IdentityRow>;
  }
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
}

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
export function identityHash(issuer: string, subject: string): Buffer {
  return sha256(JSON.stringify([issuer, subject]));
}

export async function findIdentity(db: Reader, tenantId: string, hash: Uint8Array): Promise<IdentityRow | undefined> {
  const query = db
    .selectFrom('sso_identities')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('identity_hash', '=', hash);
  return SSO_IDENTITIES.checked(db, await query.executeTakeFirst());
}

export async function insertIdentity(tx: Tx, row: IdentityRow): Promise<void> {
  await SSO_IDENTITIES.insert(tx, row);
}

export async function deleteIdentitiesOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await SSO_IDENTITIES.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}
