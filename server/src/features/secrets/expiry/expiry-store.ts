import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { SecretRow } from '../storage/tables.ts';

export interface SecretsExpiryTables {
  secret_expiry_announcements: AnnouncementRow;
}

/** An end of a secret that was announced, once for each of some times before it. The row stays as long as the secret, so that a rollback to an older value announces nothing again. */
export interface AnnouncementRow {
  tenant_id: string;
  secret_id: string;
  expires_at: number;
  announced_at: number;
  /** The last of these times, in days; null stands for 30 in rows of release 0.5 and before. */
  announced_days: number | null;
}

export type ExpiringRow = Pick<SecretRow, 'secret_id' | 'path' | 'version'> & { vault: string; expires_at: number };

/** The ends after a row, or after a time, up to and including another time, that are announced as being within so many days. */
export interface Window {
  days: number;
  after: Pick<ExpiringRow, 'expires_at' | 'secret_id'>;
  until: number;
}

/** The time before an end, in days, that announcements without one were made at. */
const FIRST_DAYS = 30;

/** Secrets that end within the window and were not announced for it. */
function expiring(db: Reader, tenantId: string, { days, after, until }: Window) {
  return db
    .selectFrom('secrets as s')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .where('s.tenant_id', '=', tenantId)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('s.expires_at', 's.secret_id'), '>', tuple<number | null, string>(after.expires_at, after.secret_id)),
    )
    .where('s.expires_at', '<=', until)
    .where('s.deleted_no', '=', 0)
    .where('v.status', '<>', 'deleted')
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('secret_expiry_announcements as a')
            .select('a.secret_id')
            .whereRef('a.tenant_id', '=', 's.tenant_id')
            .whereRef('a.secret_id', '=', 's.secret_id')
            .whereRef('a.expires_at', '=', 's.expires_at')
            .where((eb) => eb(eb.fn.coalesce('a.announced_days', eb.lit(FIRST_DAYS)), '<=', days)),
        ),
      ),
    );
}

/** Most tenants have none at most times, and need no transaction then. */
export async function hasExpiring(db: Reader, tenantId: string, window: Window): Promise<boolean> {
  return (await expiring(db, tenantId, window).select('s.secret_id').limit(1).executeTakeFirst()) !== undefined;
}

/** Ordered by their end, and locked, so that none is destroyed before its announcement is stored. */
export function lockExpiring(tx: Tx, tenantId: string, window: Window, limit: number): Promise<ExpiringRow[]> {
  return expiring(tx, tenantId, window)
    .select(['s.secret_id', 's.path', 's.version', 's.expires_at', 'v.name as vault'])
    .orderBy('s.expires_at')
    .orderBy('s.secret_id')
    .limit(limit)
    .forUpdate('s')
    .$narrowType<{ expires_at: number }>()
    .execute();
}

/** Returns the ids of the secrets whose end was not announced for this time before: another node may have been first. */
export async function storeAnnounced(tx: Tx, rows: readonly AnnouncementRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const stored = await tx
    .insertInto('secret_expiry_announcements')
    .values(rows)
    .onConflict((c) =>
      c
        .columns(['tenant_id', 'secret_id', 'expires_at'])
        .doUpdateSet((eb) => ({
          announced_at: eb.ref('excluded.announced_at'),
          announced_days: eb.ref('excluded.announced_days'),
        }))
        .whereRef(
          (eb) => eb.fn.coalesce('secret_expiry_announcements.announced_days', eb.lit(FIRST_DAYS)),
          '>',
          'excluded.announced_days',
        ),
    )
    .returning('secret_id')
    .execute();
  return new Set(stored.map(({ secret_id }) => secret_id));
}

/** Marks a certificate whose end was not read yet (migration 0032). Real ends are whole seconds. */
const UNREAD = -1;

const OPENED = ['tenant_id', 'vault_id', 'secret_id', 'type', 'sealed_version', 'sealed', 'data_key'] as const;
export type UnreadRow = Pick<SecretRow, (typeof OPENED)[number]> & { is_zero_knowledge: number };

/** Includes deleted secrets, which may be restored. */
export function unreadEnds(db: Reader, tenantId: string, limit: number): Promise<UnreadRow[]> {
  return db
    .selectFrom('secrets as s')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .select(OPENED.map((column) => `s.${column}` as const))
    .select('v.is_zero_knowledge')
    .where('s.tenant_id', '=', tenantId)
    .where('s.expires_at', '=', UNREAD)
    .limit(limit)
    .execute() as Promise<UnreadRow[]>;
}

/** Stores the end only of the value that was decrypted for it: a value that was changed since has its own. */
export async function storeEnd(
  tx: Tx,
  { tenant_id, secret_id, sealed_version }: UnreadRow,
  expires_at: number | null,
): Promise<void> {
  await tx
    .updateTable('secrets')
    .set({ expires_at })
    .where('tenant_id', '=', tenant_id)
    .where('secret_id', '=', secret_id)
    .where('sealed_version', '=', sealed_version)
    .where('expires_at', '=', UNREAD)
    .execute();
}
