import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Nonces that were given out for attestations and not used yet. */
export async function createAttestation(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('attestation_nonces')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('nonce_hash', text, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('attestation_nonces_key', ['tenant_id', 'nonce_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('attestation_nonces_expiry').on('attestation_nonces').columns(['expires_at']).execute();
}
