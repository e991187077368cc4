import type { Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface AttestationTables {
  attestation_nonces: AttestationNonceRow;
}

/** A nonce that was issued and not used yet. */
export interface AttestationNonceRow {
  tenant_id: string;
  nonce_hash: string;
  expires_at: number;
}

export async function insertNonce(tx: Tx, row: AttestationNonceRow): Promise<void> {
  await tx.insertInto('attestation_nonces').values(row).execute();
}

/** Counts unused nonces, up to `max`. */
export async function countNonces(tx: Tx, tenantId: string, now: number, max: number): Promise<number> {
  const row = await tx
    .selectFrom((eb) =>
      eb
        .selectFrom('attestation_nonces')
        .select('nonce_hash')
        .where('tenant_id', '=', tenantId)
        .where('expires_at', '>', now)
        .limit(max)
        .as('unused'),
    )
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return Number(row.n);
}

/** Deletes the nonce and returns whether it existed and had not expired. */
export async function consumeNonce(tx: Tx, tenantId: string, nonceHash: string, now: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('attestation_nonces')
    .where('tenant_id', '=', tenantId)
    .where('nonce_hash', '=', nonceHash)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

export async function deleteExpired(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('attestation_nonces').where('expires_at', '<=', time).execute();
}
