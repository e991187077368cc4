import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

const AUTHENTICATED = [
  'tenants',
  'signing_keys',
  'users',
  'user_totp',
  'user_recovery_codes',
  'groups',
  'group_members',
  'tokens',
  'policies',
  'policy_attachments',
  'vaults',
  'vault_members',
  'secrets',
  'secret_versions',
  'approvals',
  'approval_decisions',
  'environments',
  'environment_secrets',
  'app_connections',
  'connection_tokens',
  'certificates',
  'workload_methods',
  'federations',
  'eaas_keys',
];

/** The MAC of each row that decides access or what a secret is. Null until the first start of this release has authenticated the row. */
export async function up(schema: SchemaBuilder, { blob }: Columns): Promise<void> {
  for (const table of AUTHENTICATED) await schema.alterTable(table).addColumn('row_mac', blob).execute();
}
