import { randomInt } from 'node:crypto';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { newId } from '../../kernel/base/ids.ts';
import { DueWorker } from '../../kernel/jobs/due-work.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { Config } from '../../settings/config.ts';
import { countMail } from './limits.ts';
import type { MailKernel } from './links.ts';
import { type Message, requireSafeHeaders } from './message.ts';
import { mailSettings } from './settings.ts';
import * as store from './store.ts';
import { MailFailure, type MailTransport, mailTransport } from './transport.ts';

const PURPOSE = 'mail';
/** Longer than an attempt takes. */
const LEASE_MS = 90 * SECOND_MS;
/** Mail that one node sends at once, and of these for one tenant. */
const AT_ONCE = 16;
const PER_TENANT = 4;
/** The wait before each further attempt. What a mail holds is of no use after a day. */
const WAITS_MS = [
  5 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
];
/** Up to a tenth longer, so that mail that failed together does not come back together. */
const JITTER = 0.1;

export function canMail(config: Config): boolean {
  return config.of(mailSettings).mail.kind !== 'off';
}

export type PreparedMail = store.MailRow;

/**
 * Seals a mail, before the transaction that causes it, because sealing may create a key. Where a response must not reveal whether a mail is sent,
 * one with `isSent: false` does the same work and is discarded.
 */
export async function prepareMail(
  kernel: Pick<Kernel, 'clock' | 'keyring'>,
  tenantId: string,
  { kind, message }: { kind: store.MailKind; message: Message },
  { isSent = true }: { isSent?: boolean } = {},
): Promise<PreparedMail> {
  return (await mailSealer(kernel, tenantId))(kind, message, isSent);
}

/** For mail whose content is known only inside a transaction. Call it before that transaction. */
export async function mailSealer(
  kernel: Pick<Kernel, 'clock' | 'keyring'>,
  tenantId: string,
): Promise<(kind: store.MailKind, message: Message, isSent?: boolean) => PreparedMail> {
  const key = await kernel.keyring.sealingKey(tenantId, PURPOSE);
  return (kind, message, isSent = true) => {
    requireSafeHeaders(message);
    const now = kernel.clock.now();
    const row = { tenant_id: tenantId, mail_id: newId('mail', now) };
    const { tenantId: _, ...place } = sealedFor(row);
    const sealed_message = key.seal(place, Buffer.from(JSON.stringify({ message, isSent }), 'utf8'));
    const waiting = { attempts: 0, next_attempt_at: now, lease_until: 0, last_error: null, created_at: now };
    return { ...row, kind, sealed_message, ...waiting };
  };
}

/** Stores mail in the transaction that causes it: after a kill both are there, or neither. */
export function queueMail(tx: Tx, ...mail: PreparedMail[]): Promise<void> {
  return store.insertMail(tx, mail);
}

function sealedFor({ tenant_id, mail_id }: Pick<store.MailRow, 'tenant_id' | 'mail_id'>) {
  return { tenantId: tenant_id, table: 'outgoing_mail', row: mail_id };
}

async function opened(
  kernel: Pick<Kernel, 'keyring'>,
  row: store.MailRow,
): Promise<{ message: Message; isSent: boolean }> {
  const bytes = await kernel.keyring.unseal(PURPOSE, sealedFor(row), row.sealed_message);
  return JSON.parse(bytes.toString('utf8')) as { message: Message; isSent: boolean };
}

/** When to try again after this many failed attempts; null if it was the last one. `random` is from 0 to 1. */
export function nextAttemptAt(attempts: number, now: number, random: number): number | null {
  const waitMs = WAITS_MS[attempts - 1];
  return waitMs === undefined ? null : now + Math.round(waitMs * (1 + JITTER * random));
}

function attemptsIn(metrics: Metrics) {
  return metrics.counter(
    'cv_mail_attempts_total',
    'Attempts to send a mail on this node: sent, to be retried, or given up.',
    ['outcome'],
  );
}

/** Sends the mail that waits, on any node; null if this installation sends none. */
export function mailWorker(kernel: MailKernel & Pick<Kernel, 'activity'>): DueWorker<store.MailRow> | null {
  const { database, clock, log, config, activity } = kernel;
  if (!canMail(config)) return null;
  // The metric exists from the start, so that an alert can be built on it before the first mail.
  attemptsIn(kernel.metrics);
  const transport = currentTransport(kernel);
  return new DueWorker<store.MailRow>(
    {
      name: 'mail',
      isServed: (row) => kernel.regionGate.isServedHere(row.tenant_id),
      find: (limit, except) => store.dueMail(database.read, clock.now(), { limit, except }),
      groups: ({ tenant_id }) => [{ name: tenant_id, slots: PER_TENANT }],
      take: async (row) => {
        const lease_until = clock.now() + LEASE_MS;
        const isTaken = await database
          .forTenant(row.tenant_id)
          .transaction((tx) => store.updateTaken(tx, row, { lease_until }));
        return isTaken ? { ...row, lease_until } : null;
      },
      work: (row, signal) => sendOne(kernel, transport(), row, signal),
    },
    { atOnce: AT_ONCE, log, activity },
  );
}

/** Another one from the moment that the mail server's URL was loaded again. */
function currentTransport({ config, log }: Pick<Kernel, 'config' | 'log'>): () => MailTransport {
  const onFile = (file: string) => log.info({ file }, 'CV_SMTP_URL is not set, so a mail was written to a file');
  const open = () => {
    const { mail } = config.of(mailSettings);
    if (mail.kind === 'off') throw new Error('mail is turned on or off by a restart only');
    return { mail, transport: mailTransport(mail, onFile) };
  };
  let current = open();
  return () => {
    if (current.mail !== config.of(mailSettings).mail) current = open();
    return current.transport;
  };
}

async function sendOne(
  kernel: MailKernel,
  transport: MailTransport,
  row: store.MailRow,
  signal: AbortSignal,
): Promise<void> {
  const { message, isSent } = await opened(kernel, row);
  if (!isSent || (await isTooMuch(kernel, row, message))) return forget(kernel, row);
  const failure = await attempt(transport, row, message, signal);
  const now = kernel.clock.now();
  const attempts = row.attempts + 1;
  const next = failure === null || failure.isFinal ? null : nextAttemptAt(attempts, now, randomInt(2 ** 32) / 2 ** 32);
  attemptsIn(kernel.metrics).inc({ outcome: failure === null ? 'sent' : next === null ? 'given_up' : 'retry' });
  if (failure !== null) {
    const where = { mail: row.mail_id, kind: row.kind, attempts, reason: failure.message };
    kernel.log.warn(where, next === null ? 'a mail was given up' : 'a mail was not sent; it is tried again');
  }
  await kernel.database.forTenant(row.tenant_id).transaction((tx) =>
    next === null
      ? store.deleteTaken(tx, row)
      : store
          .updateTaken(tx, row, {
            attempts,
            next_attempt_at: next,
            lease_until: 0,
            last_error: failure?.message ?? null,
          })
          .then(() => undefined),
  );
}

/** Sign-ups and invitations were counted by the request that caused them, whose response depends on it. */
async function isTooMuch(kernel: MailKernel, row: store.MailRow, { to }: Message): Promise<boolean> {
  if (row.kind === 'signup' || row.kind === 'invitation' || row.attempts > 0) return false;
  const tooMuch = await countMail(kernel, { tenantId: row.tenant_id, kind: row.kind, to });
  if (tooMuch === null) return false;
  kernel.log.warn(
    { mail: row.mail_id, kind: row.kind, tenant: row.tenant_id, limit: tooMuch },
    'a mail was not sent, because there were too many; the audit log has what it was about',
  );
  return true;
}

function forget(kernel: Pick<Kernel, 'database'>, row: store.MailRow): Promise<void> {
  return kernel.database.forTenant(row.tenant_id).transaction((tx) => store.deleteTaken(tx, row));
}

async function attempt(
  transport: MailTransport,
  row: store.MailRow,
  message: Message,
  signal: AbortSignal,
): Promise<MailFailure | null> {
  try {
    await transport.send(row.mail_id, message, signal);
    return null;
  } catch (error) {
    if (error instanceof MailFailure) return error;
    throw error;
  }
}
