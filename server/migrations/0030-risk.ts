import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** How risky each secret is, day by day, who read it last, the runs that compute it, and the attack paths found by them. */
export async function up(schema: SchemaBuilder, columns: Columns): Promise<void> {
  await risks(schema, columns);
  await runs(schema, columns);
  await attackPaths(schema, columns);
}

async function risks(schema: SchemaBuilder, { text, integer, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('secret_risks')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('score', integer, (c) => c.notNull())
    .addColumn('score_without_value', integer, (c) => c.notNull())
    .addColumn('factors', text, (c) => c.notNull())
    .addColumn('computed_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_risks_key', ['tenant_id', 'secret_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('secret_risks_worst')
    .on('secret_risks')
    .columns(['tenant_id', 'vault_id', 'score_without_value'])
    .execute();
  await schema
    .createTable('secret_risk_days')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('day_start', bigint, (c) => c.notNull())
    .addColumn('score', integer, (c) => c.notNull())
    .addColumn('score_without_value', integer, (c) => c.notNull())
    .addColumn('computed_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_risk_days_key', ['tenant_id', 'secret_id', 'day_start'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('secret_risk_days_start').on('secret_risk_days').column('day_start').execute();
  await schema
    .createTable('secret_risk_changes')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('hour_start', bigint, (c) => c.notNull())
    .addColumn('score_before', integer, (c) => c.notNull())
    .addColumn('score_after', integer, (c) => c.notNull())
    .addColumn('changed_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_risk_changes_key', ['tenant_id', 'secret_id', 'hour_start'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('secret_risk_changes_hour').on('secret_risk_changes').column('hour_start').execute();
  await schema
    .createTable('secret_reads')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('actor_kind', text, (c) => c.notNull())
    .addColumn('actor_id', text, (c) => c.notNull())
    .addColumn('last_read_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_reads_key', ['tenant_id', 'secret_id', 'actor_kind', 'actor_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('secret_reads_last').on('secret_reads').column('last_read_at').execute();
}

async function runs(schema: SchemaBuilder, { text, integer, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('risk_runs')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('next_run_at', bigint, (c) => c.notNull())
    .addColumn('position', text, (c) => c.notNull())
    .addColumn('requests', integer, (c) => c.notNull())
    .addColumn('reads_known_since', bigint)
    .addColumn('reads_counted_until', bigint, (c) => c.notNull())
    .addColumn('lease_owner', text)
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addColumn('finished_at', bigint)
    .addPrimaryKeyConstraint('risk_runs_key', ['tenant_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('risk_runs_due').on('risk_runs').column('next_run_at').execute();
}

async function attackPaths(schema: SchemaBuilder, { text, integer, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('attack_paths')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('path_id', text, (c) => c.notNull())
    .addColumn('score', integer, (c) => c.notNull())
    .addColumn('weakness', integer, (c) => c.notNull())
    .addColumn('principal_id', text, (c) => c.notNull())
    .addColumn('grant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('steps', text, (c) => c.notNull())
    .addColumn('first_seen_at', bigint, (c) => c.notNull())
    .addColumn('computed_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('attack_paths_key', ['tenant_id', 'path_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
