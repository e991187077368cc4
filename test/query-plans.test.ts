import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { DECLARATIONS } from '../server/src/tools/declarations.ts';
import { INPUTS, nameOf, pathOf } from './support/endpoint-inputs.ts';
import { addCluster, sync } from './support/fleet.ts';
import { addConnection, callAs } from './support/machines.ts';
import { addPerson, addTenant, ok } from './support/people.ts';
import { newMigratedDatabase, query } from './support/postgres.ts';
import { type Statement, statementsDuring } from './support/queries.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';
import { addSecret, addVault } from './support/vaults.ts';

/**
 * What a statement costs must not depend on the statistics that the database happens to have, nor on how much a tenant stores. Every endpoint is
 * called once; then each row is multiplied, and the plan of every statement that was sent is checked again.
 */
const ROWS = 2000;
/** An index of small keys has fewer levels than one of large keys now, and so looks cheaper. */
const MANY_ROWS = 12_000;
const MULTIPLIED_MORE = ['secrets', 'vaults', 'secret_versions'];

onBothDatabases('the plan of every statement', (kind) => {
  let service: Service;
  let databaseUrl: string | undefined;
  let statements: Statement[];
  before(async () => {
    databaseUrl = kind === 'postgres' ? await newMigratedDatabase() : undefined;
    if (databaseUrl !== undefined) await turnOffStatistics(databaseUrl);
    service = await startService(kind, {
      env: { CV_OUTBOUND_ALLOW: '127.0.0.1' },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    const all = await statementsDuring(() => useEverything(service));
    statements = [...new Map(all.filter(isPlanned).map((one) => [one.sql, one])).values()];
  });
  after(() => service.close());

  if (kind === 'sqlite') {
    test('searches an index by more than the tenant', () => {
      const database = new DatabaseSync(join(service.dataDir, 'coffer.db'), { readOnly: true });
      const partial = partialIndexes(database);
      const problems = statements.flatMap(({ sql, parameters }) => {
        const rows = database.prepare(`explain query plan ${sql}`).all(...(parameters as SQLInputValue[]));
        return rows
          .map(({ detail }) => String(detail))
          .filter((detail) => isWideScan(detail, sql) && !partial.has(/ INDEX (\w+)/.exec(detail)?.[1] ?? ''))
          .map((detail) => `${detail}: ${sql}`);
      });
      database.close();
      assert.deepEqual(problems, []);
    });
    return;
  }

  describe('searches an index by more than the tenant, and a secret by its whole key', () => {
    const problems = async () => {
      assert.ok(databaseUrl !== undefined);
      const plans = await plansOf(databaseUrl, statements);
      const lookups = await plansOf(databaseUrl, statements.filter(isLookup), 'generic_plan');
      assert.ok(lookups.length >= 3, 'one secret, many secrets, one to be changed');
      return { wide: plans.filter(isWide), lookups: [...plans, ...lookups].filter(isWrongLookup) };
    };

    test('before there are statistics', async () => {
      // The limits of plans are read again while it runs, and the copies are not the service's own.
      service.expectErrorLogs(/"table":"plan_limits"/);
      await multiplyRows(String(databaseUrl), ROWS);
      assert.deepEqual(await problems(), { wide: [], lookups: [] });
    });

    test('with many more rows, and still no statistics', async () => {
      await multiplyRows(String(databaseUrl), MANY_ROWS, MULTIPLIED_MORE);
      assert.deepEqual(await problems(), { wide: [], lookups: [] });
    });

    test('a secret also with statistics', async () => {
      await query(String(databaseUrl), 'analyze');
      assert.deepEqual((await problems()).lookups, []);
    });
  });
});

/** On a slow machine the database's own job would collect them before the test ends. */
async function turnOffStatistics(databaseUrl: string): Promise<void> {
  const tables = await query(
    databaseUrl,
    `select format('%I', relname) as name from pg_class where relkind = 'r'
    and relnamespace = 'public'::regnamespace`,
  );
  for (const { name } of tables) await query(databaseUrl, `alter table ${name} set (autovacuum_enabled = off)`);
}

interface Plan {
  sql: string;
  scans: { index: string; detail: string }[];
}

/** What PostgreSQL would do now. A statement that is prepared may get a generic plan, which is made without its parameters. */
async function plansOf(
  databaseUrl: string,
  statements: readonly Statement[],
  kind: 'custom_plan' | 'generic_plan' = 'custom_plan',
): Promise<Plan[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const partial = await client.query(
      `select indexrelid::regclass::text as name from pg_index where indpred is not null`,
    );
    const names = new Set(partial.rows.map(({ name }) => name));
    const plans: Plan[] = [];
    for (const { sql, parameters } of statements) {
      const { rows } =
        kind === 'custom_plan'
          ? await client.query(`explain (format json) ${sql}`, parameters)
          : await client.query(`explain (generic_plan, format json) ${sql}`);
      const scans = scansIn(rows[0]['QUERY PLAN'][0].Plan).filter(({ index }) => !names.has(index));
      plans.push({ sql, scans });
    }
    return plans;
  } finally {
    await client.end();
  }
}

function isWide({ sql, scans }: Plan): boolean {
  return scans.some(({ detail }) => isWideScan(detail, sql));
}

function isLookup({ sql }: Pick<Plan, 'sql'>): boolean {
  return LOOKUP.test(sql);
}

const LOOKUP = /from "secrets" .*where .*"vault_id" = .*"path" = |from unnest.* "secrets" /s;

/** Looks for a secret in another way than by its vault and path, or by its id. */
function isWrongLookup(plan: Plan): boolean {
  const isRight = ({ index, detail }: Plan['scans'][number]) =>
    (index === 'secrets_key' && detail.includes('path=?')) ||
    (index === 'secrets_id' && detail.includes('secret_id=?'));
  return isLookup(plan) && !plan.scans.filter(({ detail }) => / secrets\b/.test(detail)).every(isRight);
}

/** Each scan in a plan, as SQLite prints it. */
function scansIn(plan: PlanNode): { index: string; detail: string }[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '', 'Index Cond': condition } = plan;
  const inner = (plan.Plans ?? []).flatMap(scansIn);
  if (type === 'Seq Scan') return [{ index, detail: `SCAN ${table}` }, ...inner];
  if (!/Index.* Scan/.test(type)) return inner;
  const columns = [...(condition ?? '').matchAll(/(?:\(|ROW\()"?(\w+)"?(?: (?:[<>=]+|IS)|,)/g)].map(
    ([, column]) => `${column}=?`,
  );
  const isByTenant = columns.every((column) => column === 'tenant_id=?');
  const detail =
    condition === undefined
      ? `SCAN ${table || index}`
      : `SEARCH ${table || index} (${isByTenant ? 'tenant_id=?' : columns.join(' AND ')})`;
  return [{ index, detail }, ...inner];
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: PlanNode[];
}

function isPlanned({ sql }: Statement): boolean {
  return /^\s*(?:select|update|delete|with)\b/i.test(sql);
}

/** Searches by something that is not the tenant's, such as a time that is null for most rows. */
function isOfAllTenants(detail: string): boolean {
  return /^SEARCH .*\(\w+[=<>]/.test(detail) && !detail.includes('tenant_id');
}

/** A partial index has the few rows that a statement may read all of. */
function partialIndexes(database: DatabaseSync): Set<unknown> {
  const found = database.prepare(
    'select i.name from pragma_table_list as t, pragma_index_list(t.name) as i where i.partial = 1',
  );
  return new Set(found.all().map(({ name }) => name));
}

/** Reads a table whole, or all of a tenant's rows in it, although the statement wants only some of them. */
function isWideScan(detail: string, sql: string): boolean {
  if (EXCEPTIONS.some((exception) => exception.test(sql))) return false;
  if (/^SCAN (?:CONSTANT ROW|json_each|\d+-ROW VALUES|line|below|unused)/.test(detail)) return false;
  if (detail.startsWith('SCAN ')) return true;
  if (/^\S+ .* where \(*"(?:\w+"\.")?tenant_id" =/.test(sql) && isOfAllTenants(detail)) return true;
  return /\(tenant_id=\?\)$/.test(detail) && !WANTS_ALL.test(sql) && !OF_ONE_ROW.test(detail);
}

const VALUE = String.raw`(?:\?|\$\d+)`;
/** Nothing but the tenant is a condition, all of it or a page. */
const WANTS_ALL = new RegExp(
  `where \\(?"(?:\\w+"\\.")?tenant_id" = ${VALUE}\\)?(?: (?:order by|limit|group by|returning)\\b.*)? *$`,
);
/** Tables with one row for each tenant. */
const OF_ONE_ROW = /^SEARCH (?:tenants|audit_heads|rollup_progress|risk_runs|anomaly_scans|drift_notices)\b/;
const EXCEPTIONS = [
  // The work of the service itself, over all tenants.
  /^select .* from "(?:tenants|installation|risk_runs|exporter_progress|anomaly_scans|audit_heads|break_glass_uses|nodes)"/,
  /^select .* from "(?:webhook_deliveries" inner join "webhooks"|audit_segments" inner join "tenants"|certificates")/,
  /^update audit_journal |^delete from "nodes" where "seen_at" </,
  // The tokens of the operator's own tenant, which are few, when the metrics are read.
  /^select "expires_at" from "tokens" where "tenant_id" = /,
  // Tables in which a tenant has few rows, by a quota or by a constant.
  /"(?:webhooks|attack_paths|policies|clusters|environments|attestation_nonces|certificate_authorities)"/,
  // Loads everything of a tenant, in the background.
  /from "vault_members" .* group by "vault_id"|from "vault_members" as "m" inner join "vaults"|from "anomaly_model_votes"/,
  // Rare: a person or a machine is removed.
  /^delete from "secret_reads"|from "invitations" where \("tenant_id" = \S+ and "invited_by" =|update "anomalies" set "status"/,
  // The newest entries, whatever they are.
  /from "audit_segments" .* order by "id" desc limit/,
  // The newest range that was pruned, by an index of those.
  /from "audit_archives" .* order by "last_seq" desc limit/,
  // The zero-knowledge vaults of a tenant, once for each search for equal values.
  /"vaults"."is_zero_knowledge" =/,
  // PostgreSQL takes a tenant of a new table for small, and looks for many values by reading all its rows. That ends with the first autoanalyze.
  / in \((?:\$\d+, ){3,}/,
  // Counts of what is open, of which there is a maximum, and what a scan compares its findings with.
  /from "anomalies" where "tenant_id" = \S+ and "open_key" is not null|from "anomalies" as "same"/,
  // Its numbers are unique over all tenants.
  /"workload_methods"/,
  // Queried by the tests themselves.
  /^update "device_codes" set "created_at" = \S+$/,
  /from "(?:users|user_totp|user_recovery_codes)" where "user_id" =/,
];

async function useEverything(service: Service): Promise<void> {
  const tenant = await addTenant(service);
  const owner = await addPerson(service, { role: 'owner' });
  const sender = { isKnown: true, person: owner };
  for (const declaration of DECLARATIONS) {
    const input = (await INPUTS[nameOf(declaration)]?.({ service, owner, tenant }, sender)) ?? {};
    const { body } = input;
    const { method } = declaration;
    await service.call(method, pathOf(declaration, input), { token: owner.token, ...(body !== undefined && { body }) });
  }
  const vault = await addVault(service);
  await addSecret(service, vault, 'key');
  const machine = await addConnection(service, vault);
  await ok(callAs(service, machine, 'GET', `/app-connections/fetch/${machine.client_id}/${vault}/key`));
  await ok(sync(service, await addCluster(service)));
  await service.app.jobs.runDue();
}

interface TableShape {
  table_name: string;
  columns: string[];
  types: string[];
  unique: boolean[];
}

/** Copies each row with other values in the columns that a unique index has, so that everything else is the same many times. */
async function multiplyRows(databaseUrl: string, rows: number, only?: readonly string[]): Promise<void> {
  const tables = await query(
    databaseUrl,
    `select c.table_name, array_agg(c.column_name::text) as columns, array_agg(c.data_type::text) as types,
       array_agg(exists (
         select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
         where i.indisunique and i.indrelid = c.table_name::regclass and a.attname = c.column_name
       )) as unique
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' group by c.table_name`,
  );
  for (const { table_name, columns, types, unique } of tables as unknown as TableShape[]) {
    if (only?.includes(table_name) === false) continue;
    const values = columns.map((column, i) =>
      unique[i] && column !== 'tenant_id' ? copied(`"${column}"`, String(types[i])) : `"${column}"`,
    );
    await query(
      databaseUrl,
      `insert into "${table_name}" (${columns.map((column) => `"${column}"`).join(', ')})
       select ${values.join(', ')} from (select * from "${table_name}" limit 20) as own,
         generate_series(1, (select ${rows} / greatest(1, least(20, count(*))) from "${table_name}")) as copy
       on conflict do nothing`,
    );
  }
}

function copied(column: string, type: string): string {
  if (type === 'text') return `${column} || '~' || copy`;
  if (type === 'bytea') return `${column} || int8send(copy)`;
  return `${column} + copy * 100000`;
}
