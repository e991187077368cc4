import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Users, their groups, second factors and tokens, and the memory of failed logins. */
export async function createPeople(
  schema: SchemaBuilder,
  { text, integer, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('users')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('email', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('role', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('password_hash', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('users_key', ['tenant_id', 'user_id'])
    .addUniqueConstraint('users_email', ['tenant_id', 'email'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('user_totp')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('sealed_secret', blob, (c) => c.notNull())
    .addColumn('confirmed_at', bigint)
    .addColumn('last_step', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('user_totp_key', ['tenant_id', 'user_id'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('user_recovery_codes')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('code_hash', blob, (c) => c.notNull())
    .addPrimaryKeyConstraint('user_recovery_codes_key', ['tenant_id', 'user_id', 'code_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('groups')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('group_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('groups_key', ['tenant_id', 'group_id'])
    .addUniqueConstraint('groups_name', ['tenant_id', 'name'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('group_members')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('group_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('added_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('group_members_key', ['tenant_id', 'group_id', 'user_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('group_members_user')
    .on('group_members')
    .columns(['tenant_id', 'user_id', 'group_id'])
    .execute();

  await schema
    .createTable('tokens')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('token_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('parent_id', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('ceilings', text, (c) => c.notNull())
    .addColumn('rate_overrides', text, (c) => c.notNull())
    .addColumn('mfa_at', bigint)
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('revoked_at', bigint)
    .addColumn('dpop_jkt', text)
    .addPrimaryKeyConstraint('tokens_key', ['tenant_id', 'token_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('tokens_user').on('tokens').columns(['tenant_id', 'user_id', 'token_id']).execute();
  await schema.createIndex('tokens_parent').on('tokens').columns(['tenant_id', 'parent_id']).execute();
  await schema.createIndex('tokens_expiry').on('tokens').column('expires_at').execute();

  await schema
    .createTable('login_failures')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('subject_hash', blob, (c) => c.notNull())
    .addColumn('failures', integer, (c) => c.notNull())
    .addColumn('blocked_until', bigint, (c) => c.notNull())
    .addColumn('forget_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('login_failures_key', ['tenant_id', 'subject_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('login_failures_forget').on('login_failures').column('forget_at').execute();
}
