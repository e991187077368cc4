import { type AliasedRawBuilder, sql } from 'kysely';
import type { Database } from '../../../kernel/storage/database.ts';
import { PreparedQuery } from '../../../kernel/storage/prepared-query.ts';
import type { VaultRow } from '../../vaults/index.ts';
import { SECRETS, type SecretRow, type SummaryRow } from '../storage/tables.ts';

/** The prepared queries of the hot path. */

/** The columns of a secret that a read response needs. */
export type ReadRow = SummaryRow &
  Pick<SecretRow, 'rotation' | 'rotation_id' | 'data_key' | 'sealed_version' | 'sealed'> & {
    row_mac: Uint8Array | null;
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
  's.created_at',
  's.updated_at',
  's.data_key',
  's.sealed_version',
  's.sealed',
  's.row_mac',
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
      .innerJoin('tenants as t', (join) => join.onRef('t.tenant_id', '=', 'requested.tenant_id'))
      .leftJoin('vaults as v', (join) =>
        join.onRef('v.tenant_id', '=', 'requested.tenant_id').onRef('v.name', '=', 'requested.vault'),
      )
      .leftJoin('secrets as s', (join) =>
        join
          .onRef('s.tenant_id', '=', 'v.tenant_id')
          .onRef('s.vault_id', '=', 'v.vault_id')
          .on('s.deleted_no', '=', 0)
          .onRef('s.path', '=', 'requested.path'),
      )
      .select([...columns, 't.epoch', 'requested.position'])
      .$castTo<RequestedSecret>(),
  );
}

/** Secrets that one statement of a bulk read loads. */
export const WHOLE_AT_ONCE = 16;
const ID_PARAMETERS = Array.from({ length: WHOLE_AT_ONCE }, (_, i) => `secretId${i}`);

/** Loads all columns of some secrets, for bulk reads. It has one shape for any number of them, so that it is prepared once. */
const READ_WHOLE = new PreparedQuery<Record<string, string>, SecretRow & { row_mac: Uint8Array | null }>(
  (db, parameter) =>
    db
      .selectFrom('secrets')
      .select([...SECRETS.columns, 'row_mac'])
      .where('tenant_id', '=', parameter('tenantId'))
      .where('secret_id', 'in', ID_PARAMETERS.map(parameter))
      .where('deleted_no', '=', 0),
);

/** Rows by the ids of their secrets, of at most `WHOLE_AT_ONCE`. Their MACs are not checked yet. */
export async function readWhole(database: Database, tenantId: string, secretIds: readonly string[]) {
  const [first = ''] = secretIds;
  const ids = ID_PARAMETERS.map((name, i) => [name, secretIds[i] ?? first] as const);
  const rows = await database.query(READ_WHOLE, { tenantId, ...Object.fromEntries(ids) });
  return new Map(rows.map((row) => [row.secret_id, row]));
}
