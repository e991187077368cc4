import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** The certificate authorities (the root's rows belong to the installation), and the client certificates they issued. */
export async function createCertificates(
  schema: SchemaBuilder,
  { text, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('certificate_authorities')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('ca_no', bigint, (c) => c.notNull())
    .addColumn('root_no', bigint)
    .addColumn('certificate', blob, (c) => c.notNull())
    .addColumn('sealed_key', blob, (c) => c.notNull())
    .addColumn('not_after', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('revocations', bigint, (c) => c.notNull())
    .addColumn('crl', blob)
    .addColumn('crl_number', bigint, (c) => c.notNull())
    .addColumn('crl_revocations', bigint, (c) => c.notNull())
    .addColumn('crl_made_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('certificate_authorities_key', ['tenant_id', 'ca_no'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('certificates')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('serial', text, (c) => c.notNull())
    .addColumn('ca_no', bigint, (c) => c.notNull())
    .addColumn('client_id', text, (c) => c.notNull())
    .addColumn('connection_no', bigint, (c) => c.notNull())
    .addColumn('thumbprint', text, (c) => c.notNull())
    .addColumn('not_before', bigint, (c) => c.notNull())
    .addColumn('not_after', bigint, (c) => c.notNull())
    .addColumn('revoked_at', bigint)
    .addColumn('reason', text, (c) => c.notNull())
    // What it was issued for, if not for the connection itself: it ends with that, and renews nothing.
    .addColumn('source', text)
    .addPrimaryKeyConstraint('certificates_key', ['tenant_id', 'serial'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('certificates_client').on('certificates').columns(['tenant_id', 'client_id']).execute();
  await schema
    .createIndex('certificates_revoked')
    .on('certificates')
    .columns(['tenant_id', 'ca_no', 'revoked_at'])
    .execute();
  await schema.createIndex('certificates_end').on('certificates').columns(['not_after']).execute();
}
