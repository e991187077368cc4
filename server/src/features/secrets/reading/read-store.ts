import { type AliasedRawBuilder, sql } from 'kysely';
import type { Database } from '../../../kernel/storage/database.ts';
import { kindOf } from '../../../kernel/storage/dialect.ts';
import { PreparedQuery } from '../../../kernel/storage/prepared-query.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { SECRETS, type SecretRow, type SummaryRow } from '../storage/tables.ts';

/** The prepared queries of the hot path. */

/** The columns of a secret that a read response needs. */
export type ReadRow = SummaryRow &
  Pick<SecretRow, 'rotation_id' | 'data_key' | 'sealed_version' | 'sealed'> & {
    row_mac: Uint8Array | null;
    /** The risk that was last computed; null until then. */
    risk_score: number | null;
  };

/** A vault and a secret in it. If the vault has no such secret, all columns of the secret are null. */
export type FoundSecret = Pick<VaultRow, 'vault_id' | 'status' | 'log_reads'> & {
  vault_environment: string;
  vault_mac: Uint8Array | null;
} & ({ [K in keyof ReadRow]: ReadRow[K] } | { [K in keyof ReadRow]: null });

const FOUND = [
  'v.vault_id',
  'v.status',
  'v.environment as vault_environment',
  'v.log_reads',
  'v.row_mac as vault_mac',
  's.path',
  's.secret_id',
  's.secret_no',
  's.type',
  's.environment',
  's.protection',
  's.version',
  's.metadata',
  's.tags',
  's.rotation',
  's.rotation_id',
  's.rotated_at',
  's.next_rotation_at',
  's.expires_at',
  's.created_at',
  's.updated_at',
  's.data_key',
  's.sealed_version',
  's.sealed',
  's.row_mac',
  'r.score as risk_score',
] as const;

/** Loads vault and secret in one query. */
export const READ_SECRET = new PreparedQuery<{ tenantId: string; vault: string; path: string }, FoundSecret>(
  (db, parameter) =>
    db
      .selectFrom('vaults as v')
      .leftJoin('secrets as s', (join) =>
        join
          .onRef('s.tenant_id', '=', 'v.tenant_id')
          .onRef('s.vault_id', '=', 'v.vault_id')
          .on('s.deleted_no', '=', 0)
          .on('s.path', '=', parameter('path')),
      )
      .leftJoin('secret_risks as r', (join) =>
        join.onRef('r.tenant_id', '=', 's.tenant_id').onRef('r.secret_id', '=', 's.secret_id'),
      )
      .select(FOUND)
      .where('v.tenant_id', '=', parameter('tenantId'))
      .where('v.name', '=', parameter('vault'))
      .$castTo<FoundSecret>(),
);

/** If there is no such vault, all its columns are null. */
export type RequestedSecret = { position: number; epoch: number } & (FoundSecret | { [K in keyof FoundSecret]: null });

type Requested = { tenants: string[]; vaults: string[]; paths: string[] };

/** A larger value is loaded by its own query, so that the other requests of a batch do not wait for all its bytes. */
const SHARED_BYTES_MAX = 64 * 1024;

/** A subquery with a limit stays a look-up for each requested secret, whatever the statistics say: the database cannot turn it into another join. */
const ONE = sql.lit(1);

/** Loads many secrets in one query, on PostgreSQL, each with its tenant's epoch. `position` is that of the requested secret, counted from 1. */
export const READ_SECRETS = batchQuery(FOUND);

/** The same, but `sealed` is null if the value is large. */
export const READ_SMALL_SECRETS = batchQuery([
  ...FOUND.filter((column) => column !== 's.sealed'),
  sql<Uint8Array | null>`case when length(s.sealed) <= ${sql.lit(SHARED_BYTES_MAX)} then s.sealed end`.as('sealed'),
]);

function batchQuery(columns: readonly ((typeof FOUND)[number] | AliasedRawBuilder<Uint8Array | null, 'sealed'>)[]) {
  return new PreparedQuery<Requested, RequestedSecret>((db, parameter) =>
    db
      .selectFrom(
        sql<{ tenant_id: string; vault: string; path: string; position: number }>`unnest(
        ${parameter('tenants')}::text[], ${parameter('vaults')}::text[], ${parameter('paths')}::text[]
      ) with ordinality`.as<'requested'>(sql`requested(tenant_id, vault, path, position)`),
      )
      .innerJoinLateral(
        (eb) =>
          eb.selectFrom('tenants').select('epoch').whereRef('tenant_id', '=', 'requested.tenant_id').limit(ONE).as('t'),
        (join) => join.onTrue(),
      )
      .leftJoinLateral(
        (eb) =>
          eb
            .selectFrom('vaults')
            .selectAll()
            .whereRef('tenant_id', '=', 'requested.tenant_id')
            .whereRef('name', '=', 'requested.vault')
            .limit(ONE)
            .as('v'),
        (join) => join.onTrue(),
      )
      .leftJoinLateral(
        (eb) =>
          eb
            .selectFrom('secrets')
            .selectAll()
            .whereRef('tenant_id', '=', 'requested.tenant_id')
            .whereRef('vault_id', '=', 'v.vault_id')
            .where('deleted_no', '=', 0)
            .whereRef('path', '=', 'requested.path')
            .limit(ONE)
            .as('s'),
        (join) => join.onTrue(),
      )
      .leftJoinLateral(
        (eb) =>
          eb
            .selectFrom('secret_risks')
            .select('score')
            .whereRef('tenant_id', '=', 'requested.tenant_id')
            .whereRef('secret_id', '=', 's.secret_id')
            .limit(ONE)
            .as('r'),
        (join) => join.onTrue(),
      )
      .select([...columns, 't.epoch', 'requested.position'])
      .$castTo<RequestedSecret>(),
  );
}

type WholeRow = SecretRow & { row_mac: Uint8Array | null };
/** An array for PostgreSQL, and its JSON for SQLite, so that the statement is the same for any number of secrets. */
type ById = { tenantId: string; ids: readonly string[] | string };

/** Loads all columns of some secrets, for bulk reads. */
const READ_WHOLE = new PreparedQuery<ById, WholeRow>((db, parameter) => {
  const ids = parameter('ids');
  const rows = db
    .selectFrom('secrets')
    .select([...SECRETS.columns, 'row_mac'])
    .where('tenant_id', '=', parameter('tenantId'))
    .where('deleted_no', '=', 0);
  if (kindOf(db) === 'sqlite') return rows.where(sql<boolean>`secret_id in (select value from json_each(${ids}))`);
  return db
    .selectFrom(sql<{ id: string }>`unnest(${ids}::text[])`.as<'requested'>(sql`requested(id)`))
    .innerJoinLateral(rows.where('secret_id', '=', sql<string>`requested.id`).limit(ONE).as('s'), (join) =>
      join.onTrue(),
    )
    .select([...SECRETS.columns.map((column) => `s.${column}` as const), 's.row_mac'])
    .$castTo<WholeRow>();
});

/** Rows by the ids of their secrets. Their MACs are not checked yet. */
export async function readWhole(database: Database, tenantId: string, secretIds: readonly string[]) {
  const ids = database.kind === 'sqlite' ? JSON.stringify(secretIds) : secretIds;
  const rows = await database.query(READ_WHOLE, { tenantId, ids });
  return new Map(rows.map((row) => [row.secret_id, row]));
}
