import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface SaasSignupTables {
  signups: SignupRow;
}

/** A sign-up whose address is not verified yet, in the tenant of the operator. What decides is sealed, bound to the address. */
export interface SignupRow {
  tenant_id: string;
  address_hash: Uint8Array;
  /** Only finds the row; the sealed part has it too. */
  token_hash: Uint8Array;
  sealed_signup: Uint8Array;
  created_at: number;
}

type SignupKey = Pick<SignupRow, 'tenant_id' | 'address_hash'>;

export function findSignup(db: Reader, { tenant_id, address_hash }: SignupKey): Promise<SignupRow | undefined> {
  return db
    .selectFrom('signups')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('address_hash', '=', address_hash)
    .executeTakeFirst();
}

export function findSignupByToken(db: Reader, tokenHash: Uint8Array): Promise<SignupRow | undefined> {
  return db.selectFrom('signups').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst();
}

export function lockSignup(tx: Tx, { tenant_id, address_hash }: SignupKey): Promise<SignupRow | undefined> {
  return tx
    .selectFrom('signups')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('address_hash', '=', address_hash)
    .forUpdate()
    .executeTakeFirst();
}

/** Inserts it, or replaces an earlier sign-up of the address. */
export async function putSignup(tx: Tx, row: SignupRow): Promise<void> {
  const { tenant_id: _, address_hash: __, ...change } = row;
  await tx
    .insertInto('signups')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'address_hash']).doUpdateSet(change))
    .execute();
}

export async function deleteSignup(tx: Tx, { tenant_id, address_hash }: SignupKey): Promise<void> {
  await tx.deleteFrom('signups').where('tenant_id', '=', tenant_id).where('address_hash', '=', address_hash).execute();
}

export async function deleteSignupsBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('signups').where('created_at', '<', time).execute();
}
