import { sql } from 'kysely';
import type { Reader } from '../../../kernel/storage/database.ts';
import type { SecretRow } from '../storage/tables.ts';

/** A secret that needs somebody, with what policies decide on. */
const DUE = ['secret_id', 'vault_id', 'path', 'type', 'environment', 'tags'] as const;
export type DueRow = Pick<SecretRow, (typeof DUE)[number]> & { at: number; failure: string | null };

/** A page of what is due after a row, or after a time, up to and including another time. */
export interface DuePage {
  after: { at: number; secretId: string };
  until: number;
  limit: number;
}

/** Secrets that will be rotated, or whose value ends, in a period; ordered by that time. The index of the column has only those. */
function dueWithin(
  db: Reader,
  tenantId: string,
  column: 'next_rotation_at' | 'expires_at',
  { after, until, limit }: DuePage,
): Promise<DueRow[]> {
  return db
    .selectFrom('secrets')
    .select(DUE)
    .select([sql<number>`${sql.ref(column)}`.as('at'), sql<null>`null`.as('failure')])
    .where('tenant_id', '=', tenantId)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple(column, 'secret_id'), '>', tuple<number | null, string>(after.at, after.secretId)),
    )
    .where(column, '<=', until)
    .where('deleted_no', '=', 0)
    .orderBy(column)
    .orderBy('secret_id')
    .limit(limit)
    .execute();
}

export type FailedRotationRow = DueRow & { rotation_id: string; deleted_no: number; is_latest: number };

/** Sorts after every id of a rotation. */
const AFTER_ALL = 'rotation_~';

/**
 * Rotations that failed before another one, newest first; ids sort by time. Those that a later rotation of the secret replaced, and those of deleted
 * secrets, are marked and not left out, so that the limit bounds the work.
 */
function failedRotations(
  db: Reader,
  tenantId: string,
  before: string | null,
  limit: number,
): Promise<FailedRotationRow[]> {
  return db
    .selectFrom('rotations as r')
    .innerJoin('secrets as s', (join) =>
      join.onRef('s.tenant_id', '=', 'r.tenant_id').onRef('s.secret_id', '=', 'r.secret_id'),
    )
    .select(DUE.map((column) => `s.${column}` as const))
    .select(['s.deleted_no', 'r.rotation_id', 'r.failure'])
    .select(sql<number>`coalesce(r.finished_at, r.started_at)`.as('at'))
    .select(
      sql<number>`case when r.rotation_id = (select l.rotation_id from rotations l where l.tenant_id = r.tenant_id
        and l.secret_id = r.secret_id order by l.rotation_id desc limit 1) then 1 else 0 end`.as('is_latest'),
    )
    .where('r.tenant_id', '=', tenantId)
    .where(sql<boolean>`r.status = 'failed'`)
    .where('r.rotation_id', '<', before ?? AFTER_ALL)
    .orderBy('r.rotation_id', 'desc')
    .limit(limit)
    .execute() as Promise<FailedRotationRow[]>;
}

/** What needs somebody in all vaults of a tenant. */
export const dueSecretsOf = { within: dueWithin, failedRotations };
