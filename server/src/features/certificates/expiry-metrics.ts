import { DAY_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { authorityExpiry, countExpiring } from './expiry-store.ts';

/** How long before its end a client certificate counts as expiring. */
const AHEAD_MS = 7 * DAY_MS;

/** Shows when authorities expire, and how many clients will be left without a certificate. */
export function showExpiry({ metrics, database, clock }: Pick<Kernel, 'clock' | 'database' | 'metrics'>): void {
  const help =
    'When the newest authority expires: `root`, of the installation; `tenant`, the first of the tenants’. Each is renewed at its next use, long before.';
  metrics.collectBy({ name: 'cv_authority_expiry_timestamp_seconds', help, labels: ['authority'] }, async () => {
    const found = await authorityExpiry(database.read);
    return found.map(({ authority, not_after }) => ({ authority, value: not_after / SECOND_MS }));
  });
  metrics.collect(
    'cv_client_certificates_expiring',
    'Client certificates of all tenants that expire within 7 days, and that no later one replaces.',
    () => {
      const now = clock.now();
      return countExpiring(database.read, { now, until: now + AHEAD_MS });
    },
  );
}
