import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';
import type { KeepingJob } from '../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { emit } from '../webhooks/index.ts';
import { expiringOf, lockAnnouncements, storeAnnounced, tenantsWithExpiring } from './expiry-store.ts';
import type { CertificateRow } from './store.ts';

/** How long before its end a certificate is announced. */
const AHEAD_MS = 7 * DAY_MS;
const TENANTS_AT_ONCE = 100;
/** The rest of a tenant with more is announced in the next turn. */
const CERTIFICATES_AT_ONCE = 1000;

/** Emits `certificate.expiring` once for each certificate. */
export function announceExpiringJob(kernel: Pick<Kernel, 'clock' | 'database' | 'regionGate'>): KeepingJob {
  return {
    name: 'announce-expiring-certificates',
    intervalMs: DAY_MS,
    removes: 'nothing',
    async run(signal) {
      const now = kernel.clock.now();
      const window = { now, until: now + AHEAD_MS };
      // Tenants of other regions, which announce them.
      const elsewhere: string[] = [];
      for (;;) {
        const tenants = await tenantsWithExpiring(kernel.database.read, window, TENANTS_AT_ONCE, elsewhere);
        for (const tenantId of tenants) {
          if (signal.aborted) return;
          if (!(await kernel.regionGate.isServedHere(tenantId))) elsewhere.push(tenantId);
          else await announce(kernel, tenantId, window);
        }
        if (tenants.length === 0) return;
      }
    },
  };
}

async function announce(
  { database }: Pick<Kernel, 'database'>,
  tenantId: string,
  window: { now: number; until: number },
): Promise<void> {
  await database.forTenant(tenantId).transaction(async (tx) => {
    await lockAnnouncements(tx, tenantId);
    const rows = await expiringOf(tx, tenantId, window, CERTIFICATES_AT_ONCE);
    for (const row of rows) await emit(tx, tenantId, eventOf(row), window.now);
    const last = rows.at(-1);
    const isAll = last === undefined || rows.length < CERTIFICATES_AT_ONCE;
    await storeAnnounced(tx, tenantId, isAll ? window.until : last.not_after);
  });
}

function eventOf({ serial, client_id, connection_no, not_after }: CertificateRow) {
  const expires_at = timestamp(not_after);
  return {
    event: 'certificate.expiring' as const,
    object: { serial, client_id, app_connection_id: connection_no, expires_at },
    summary: `The certificate ${serial} of the AppConnection ${connection_no} expires at ${expires_at}.`,
    dedupKey: serial,
  };
}
