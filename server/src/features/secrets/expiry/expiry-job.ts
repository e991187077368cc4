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
import { findActiveUsers } from '../../users/storage/index.ts';
import { managersOf } from '../../vaults/index.ts';
import { emitAll } from '../../webhooks/index.ts';
import type { SecretKernel } from '../links.ts';
import { secretResource } from '../location.ts';
import * as store from './expiry-store.ts';
import { readStoredEnds } from './stored-ends.ts';

/** How many days before its end a value is announced, the last time first. One whose end is near from the start is announced for the nearest only. */
const DAYS_AHEAD = [1, 7, 30] as const;
const AT_ONCE = 100;

/** Emits `secret.expiring` once for each secret, end and time before it. */
export function announceExpiringSecretsJob(kernel: SecretKernel): KeepingJob {
  return {
    name: 'announce-expiring-secrets',
    intervalMs: HOUR_MS,
    removes: 'nothing',
    async run(signal) {
      const windows = await nearEnds(kernel);
      for (const { tenant_id } of await kernel.regionGate.servedHere(await everyTenant(kernel.database.read))) {
        if (signal.aborted) return;
        await readStoredEnds(kernel, tenant_id, signal);
        for (const window of windows) await announceAll(kernel, tenant_id, window, signal);
      }
    },
  };
}

/** An end is announced once, so it must be near at two checks of the clock: one that is ahead would announce it too early. */
async function nearEnds({ clock, clockGuard }: Pick<Kernel, 'clock' | 'clockGuard'>): Promise<store.Window[]> {
  const checked = await clockGuard.cutoff(SECOND_CHECK_MS);
  if (checked === null) return [];
  let from = clock.now();
  return DAYS_AHEAD.map((days) => {
    const window = { days, after: { expires_at: from, secret_id: AFTER_ALL }, until: checked + days * DAY_MS };
    from = window.until;
    return window;
  });
}
/** Sorts after every id of a secret: an end at this very time belongs to the window before. */
const AFTER_ALL = 'sec_~';

async function announceAll(
  kernel: SecretKernel,
  tenantId: string,
  { days, after, until }: store.Window,
  signal: AbortSignal,
): Promise<void> {
  const { read } = kernel.database.forTenant(tenantId, 'bulk');
  try {
    for (let last = after; !signal.aborted; await nextTurn(tenantId)) {
      const window = { days, after: last, until };
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
      announced_days: window.days,
    }));
    const isNew = await store.storeAnnounced(tx, notes);
    const announced = rows.filter(({ secret_id }) => isNew.has(secret_id));
    const events = announced.map((row) => eventOf(row, window.days));
    await emitAll(tx, tenantId, events, now);
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

function eventOf({ secret_id: id, vault, path, version, expires_at: end }: store.ExpiringRow, within_days: number) {
  const expires_at = timestamp(end);
  return {
    event: 'secret.expiring' as const,
    object: { id, resource: secretResource(vault, path), vault, path, version, expires_at, within_days },
    summary: `The secret ${path} in the vault ${vault} expires at ${expires_at}.`,
    dedupKey: `${id}/${expires_at}/${within_days}`,
  };
}
