import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { CERTIFICATES, type CertificateRow } from './store.ts';

export interface CertificatesExpiryTables {
  certificate_announcements: AnnouncementRow;
}

/** Up to which end the certificates of a tenant were announced as expiring. */
export interface AnnouncementRow {
  tenant_id: string;
  announced_until: number;
}

/** From now on, up to this end; only certificates that are valid for longer than the warning comes before their end. */
export interface Window {
  now: number;
  until: number;
}

/** Certificates that end within the window, that were not announced, and that no later one of the same client replaces. */
function unannounced(db: Reader, window: Window) {
  return expiring(db, window).where((eb) =>
    eb.or([eb('announced_until', 'is', null), eb('not_after', '>', eb.ref('announced_until'))]),
  );
}

/** Those that end within the window, and that no later one of the same client replaces. */
function expiring(db: Reader, { now, until }: Window) {
  return db
    .selectFrom('certificates')
    .leftJoin('certificate_announcements as announced', 'announced.tenant_id', 'certificates.tenant_id')
    .where('not_after', '>', now)
    .where('not_after', '<=', until)
    .where('revoked_at', 'is', null)
    .where('source', 'is', null)
    .where((eb) => eb(eb('not_after', '-', eb.ref('not_before')), '>', until - now))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('certificates as later')
            .select('later.serial')
            .whereRef('later.tenant_id', '=', 'certificates.tenant_id')
            .whereRef('later.client_id', '=', 'certificates.client_id')
            .whereRef('later.not_after', '>', 'certificates.not_after')
            .where('later.revoked_at', 'is', null)
            .where('later.source', 'is', null),
        ),
      ),
    );
}

export async function tenantsWithExpiring(
  db: Reader,
  window: Window,
  limit: number,
  except: readonly string[],
): Promise<string[]> {
  const all = unannounced(db, window);
  const rows = await (except.length === 0 ? all : all.where('certificates.tenant_id', 'not in', [...except]))
    .select('certificates.tenant_id')
    .distinct()
    .orderBy('certificates.tenant_id')
    .limit(limit)
    .execute();
  return rows.map(({ tenant_id }) => tenant_id);
}

/** Those that end first. */
export async function expiringOf(
  tx: Tx,
  tenantId: string,
  window: Window,
  limit: number,
): Promise<readonly CertificateRow[]> {
  const rows = await unannounced(tx, window)
    .selectAll('certificates')
    .where('certificates.tenant_id', '=', tenantId)
    .orderBy('not_after')
    .limit(limit)
    .execute();
  return CERTIFICATES.checkedAll(tx, rows);
}

export async function countExpiring(db: Reader, window: Window): Promise<number> {
  const row = await expiring(db, window)
    .select((eb) => eb.fn.countAll().as('n'))
    .executeTakeFirst();
  return Number(row?.n ?? 0);
}

/** When the newest authority of the installation, and the first of the newest ones of the tenants, expires. */
export async function authorityExpiry(db: Reader): Promise<{ authority: 'root' | 'tenant'; not_after: number }[]> {
  const newest = db
    .selectFrom('certificate_authorities')
    .select((eb) => ['tenant_id', eb.fn.max('not_after').as('not_after')])
    .groupBy('tenant_id');
  const rows = await db
    .selectFrom(newest.as('newest'))
    .select((eb) => [
      eb.case().when('tenant_id', '=', SYSTEM_TENANT).then('root').else('tenant').end().as('authority'),
      eb.fn.min('not_after').as('not_after'),
    ])
    .groupBy('authority')
    .execute();
  return rows.map(({ authority, not_after }) => ({
    authority: authority === 'root' ? 'root' : 'tenant',
    not_after: Number(not_after),
  }));
}

/** Two nodes cannot announce the same: the second waits here, and then finds nothing. */
export async function lockAnnouncements(tx: Tx, tenant_id: string): Promise<void> {
  await tx
    .insertInto('certificate_announcements')
    .values({ tenant_id, announced_until: 0 })
    .onConflict((c) =>
      c
        .column('tenant_id')
        .doUpdateSet((eb) => ({ announced_until: eb.ref('certificate_announcements.announced_until') })),
    )
    .execute();
}

export async function storeAnnounced(tx: Tx, tenantId: string, announced_until: number): Promise<void> {
  await tx
    .updateTable('certificate_announcements')
    .set({ announced_until })
    .where('tenant_id', '=', tenantId)
    .execute();
}
