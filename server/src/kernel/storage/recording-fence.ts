import { type Kysely, sql } from 'kysely';

/**
 * A change of rows that decide access commits only with its audit entry, and a read is answered only once its entry is stored. So a node that cannot
 * insert into `audit_segments` can neither commit such a change nor answer. Each node writes the schema it knows into the rows that it inserts or
 * links, and this constraint refuses a schema that a migration has ended. Releases up to 0.4 write none.
 */
export const RECORDING_FENCE = 'audit_segments_schema';

/** The migration that adds `audit_segments.schema_version`. */
export const FENCED_SINCE = 53;

/** PostgreSQL only: on SQLite the lock of the data folder keeps other processes out. */
export async function refuseToRecord<T>(
  db: Kysely<T>,
  { below, version }: { below: number; version: number },
): Promise<void> {
  const table = db.schema.alterTable('audit_segments');
  const isRecordedByAllowed =
    version < FENCED_SINCE
      ? sql`first_seq is not null`
      : sql`coalesce(schema_version >= ${sql.lit(below)}, first_seq is not null)`;
  // Waits for the transactions that have recorded something, and lets none record in between.
  await table.dropConstraint(RECORDING_FENCE).ifExists().execute();
  // Rows that are there stay as they are: NOT VALID.
  await sql`alter table audit_segments add constraint ${sql.ref(RECORDING_FENCE)} check (${isRecordedByAllowed}) not valid`.execute(
    db,
  );
}
