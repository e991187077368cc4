import { sha256 } from '../../../kernel/crypto/digest.ts';
import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';

export interface MfaPasskeyTables {
  user_passkeys: Authenticated<PasskeyRow>;
}

export interface PasskeyRow {
  tenant_id: string;
  passkey_id: string;
  user_id: string;
  name: string;
  /** A credential id has up to 1,023 bytes, so its hash is what rows are found by. It is unique in the installation. */
  credential_hash: Uint8Array;
  credential_id: Uint8Array;
  /** A COSE key. */
  public_key: Uint8Array;
  /** The host name that browsers use it for. */
  rp_id: string;
  /** As the authenticator counts its signatures; 0 if it does not. */
  sign_count: number;
  /** JSON, as the browser reported them. */
  transports: string;
  is_synced: number;
  created_at: number;
  last_used_at: number | null;
  /** When an approval allowed it to open fortress secrets before its first day was over. */
  trusted_at: number | null;
}

export const PASSKEYS = new AuthenticatedTable<'user_passkeys', PasskeyRow>('user_passkeys', {
  key: ['passkey_id'],
  covered: [
    'user_id',
    'name',
    'credential_hash',
    'credential_id',
    'public_key',
    'rp_id',
    'sign_count',
    'transports',
    'is_synced',
    'created_at',
    'last_used_at',
    'trusted_at',
  ],
});

export function credentialHash(credentialId: Uint8Array): Buffer {
  return sha256(credentialId);
}

/** Oldest first. A person has few. */
export async function passkeysOf(db: Reader, tenantId: string, userId: string): Promise<PasskeyRow[]> {
  const rows = await db
    .selectFrom('user_passkeys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .orderBy('passkey_id')
    .execute();
  return PASSKEYS.checkedAll(db, rows);
}

export async function findPasskey(db: Reader, tenantId: string, passkeyId: string): Promise<PasskeyRow | undefined> {
  const query = db
    .selectFrom('user_passkeys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('passkey_id', '=', passkeyId);
  return PASSKEYS.checked(db, await query.executeTakeFirst());
}

/** In any tenant: anyone who signs in says only which credential they have. */
export async function findByCredential(db: Reader, credentialId: Uint8Array): Promise<PasskeyRow | undefined> {
  const query = db.selectFrom('user_passkeys').selectAll().where('credential_hash', '=', credentialHash(credentialId));
  return PASSKEYS.checked(db, await query.executeTakeFirst());
}

export async function lockPasskeysOf(tx: Tx, tenantId: string, userId: string): Promise<PasskeyRow[]> {
  const rows = await PASSKEYS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
  return rows.sort((a, b) => (a.passkey_id < b.passkey_id ? -1 : 1));
}

export async function lockPasskey(tx: Tx, tenantId: string, passkeyId: string): Promise<PasskeyRow | undefined> {
  const [row] = await PASSKEYS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, passkey_id: passkeyId }));
  return row;
}

export async function insertPasskey(tx: Tx, row: PasskeyRow): Promise<void> {
  await PASSKEYS.insert(tx, row);
}

export async function updatePasskey(tx: Tx, row: PasskeyRow, change: Partial<PasskeyRow>): Promise<PasskeyRow> {
  return PASSKEYS.update(tx, row, change);
}

export async function deletePasskey(tx: Tx, { tenant_id, passkey_id }: PasskeyRow): Promise<void> {
  await PASSKEYS.deleteWhere(tx, (eb) => eb.and({ tenant_id, passkey_id }));
}

export async function deletePasskeysOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await PASSKEYS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}

/** The passkeys of some users. */
export async function passkeysOfUsers(db: Reader, tenantId: string, userIds: readonly string[]): Promise<PasskeyRow[]> {
  if (userIds.length === 0) return [];
  const rows = await db
    .selectFrom('user_passkeys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .execute();
  return PASSKEYS.authenticOf(db, rows);
}
