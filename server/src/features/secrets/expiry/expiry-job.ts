import { vaultResource } from '../../../kernel/authz/pattern.ts';
import { DAY_MS, HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { everyTenant } from '../../../kernel/integrity/tenant-rows.ts';
import type { KeepingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { ForgedRowError } from '../../../kernel/storage/row-keys.ts';
import { SECOND_CHECK_MS } from '../../../kernel/time/clock-guard.ts';
import { expiryNotice, noticesOf, queueMail } from '../../mail/index.ts';
import { findActiveUsers } from '../../users/index.ts';
import { managersOf } from '../../vaults/index.ts';
import { emitAll } from '../../webhooks/index.ts';
import type { SecretKernel } from '../links.ts';
import { secretResource } from '../location.ts';
import * as store from './expiry-store.ts';
import { readStoredEnds } from './stored-ends.ts';

/** How long before its end a certificate is announced. */
const AHEAD_MS = 30 * DAY_MS;
const AT_ONCE = 100;

/** Emits `secret.expiring` once for each secret and end. */
export function announceExpiringSecretsJob(kernel: SecretKernel): KeepingJob {
  return {
    name: 'announce-expiring-secrets',
    intervalMs: HOUR_MS,
    removes: 'nothing',
    async run(signal) {
      const window = await nearEnds(kernel);
      for (const { tenant_id } of await kernel.regionGate.servedHere(await everyTenant(kernel.database.read))) {
        if (signal.aborted) return;
        await readStoredEnds(kernel, tenant_id, signal);
        if (window !== null) await announceAll(kernel, tenant_id, window, signal);
      }
    },
  };
}

/** An end is announced once, so it must be near at two checks of the clock: one that is ahead would announce it too early. */
async function nearEnds({ clock, clockGuard }: Pick<Kernel, 'clock' | 'clockGuard'>): Promise<store.Window | null> {
  const checked = await clockGuard.cutoff(SECOND_CHECK_MS);
  if (checked === null) return null;
  return { after: { expires_at: clock.now(), secret_id: '' }, until: checked + AHEAD_MS };
}

async function announceAll(
  kernel: SecretKernel,
  tenantId: string,
  { after, until }: store.Window,
  signal: AbortSignal,
): Promise<void> {
  const { read } = kernel.database.forTenant(tenantId, 'bulk');
  try {
    for (let last = after; !signal.aborted; await nextTurn(tenantId)) {
      const window = { after: last, until };
      if (!(await store.hasExpiring(read, tenantId, window))) return;
      last = (await announcePage(kernel, tenantId, window)).at(-1) ?? last;
    }
  } catch (error) {
    // It is reported where it is found. Other tenants must not wait until this one is repaired.
    if (!(error instanceof ForgedRowError)) throw error;
  }
}

/** The note of an announcement commits with its event, so a kill neither loses nor repeats one. */
async function announcePage(
  kernel: SecretKernel,
  tenantId: string,
  window: store.Window,
): Promise<store.ExpiringRow[]> {
  const { database, clock } = kernel;
  const notices = await noticesOf(kernel, tenantId, 'expiry');
  return database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
    const now = clock.now();
    const rows = await store.lockExpiring(tx, tenantId, window, AT_ONCE);
    const notes = rows.map(({ secret_id, expires_at }) => ({
      tenant_id: tenantId,
      secret_id,
      expires_at,
      announced_at: now,
    }));
    const isNew = await store.storeAnnounced(tx, notes);
    const announced = rows.filter(({ secret_id }) => isNew.has(secret_id));
    await emitAll(tx, tenantId, announced.map(eventOf), now);
    if (notices !== null) await queueMail(tx, ...notices(await mailFor(tx, tenantId, announced, now)));
    return rows;
  });
}

/** One mail to each manager, about the vaults that they manage. */
async function mailFor(tx: Tx, tenantId: string, rows: readonly store.ExpiringRow[], now: number) {
  const lines = new Map<string, string[]>();
  const byVault = [...Map.groupBy(rows, (row) => row.vault)];
  const requests = byVault.map(([vault]) => ({ resource: vaultResource(vault), at: now }));
  const managers = await managersOf(tx, tenantId, requests);
  for (const [i, [vault, ofVault]] of byVault.entries()) {
    for (const manager of managers[i] ?? []) {
      const own = ofVault.map(({ path, expires_at }) => `${timestamp(expires_at)}  ${secretResource(vault, path)}`);
      lines.set(manager, [...(lines.get(manager) ?? []), ...own]);
    }
  }
  const people = await findActiveUsers(tx, tenantId, [...lines.keys()]);
  return people.map(({ user_id, email }) => expiryNotice(email, lines.get(user_id) ?? []));
}

function eventOf({ secret_id: id, vault, path, version, expires_at: end }: store.ExpiringRow) {
  const expires_at = timestamp(end);
  return {
    event: 'secret.expiring' as const,
    object: { id, resource: secretResource(vault, path), vault, path, version, expires_at },
    summary: `The certificate in the secret ${path} in the vault ${vault} expires at ${expires_at}.`,
    dedupKey: `${id}/${expires_at}`,
  };
}
