import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS, SECOND_MS, timestamp } from '../../kernel/base/clock.ts';
import { inBackground } from '../../kernel/fairness/background-share.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { checkpointToWire } from '../audit/checkpoints/index.ts';
import { type CheckpointRow, checkpointsOnward, findHead } from '../audit/index.ts';
import { emit } from '../webhooks/index.ts';
import { type Batch, BatchReader } from './batch-reader.ts';
import { unsealCredentials } from './credentials.ts';
import { encoder } from './encoding.ts';
import type { ExportedEntry } from './exported-entry.ts';
import type { ExporterKernel } from './links.ts';
import { RECEIVERS, type ReceiverParts } from './receivers.ts';
import * as store from './store.ts';
import { type Encoded, NotDelivered, type Receipt, type Transport } from './transports/transport.ts';

/** How long an exporter belongs to its node without a renewal. */
export const LEASE_MS = MINUTE_MS;
const RENEW_MS = LEASE_MS / 3;
/** A run waits this long for further entries before it ends, so that a steady trickle does not open a connection for each. */
const IDLE_MS = 3 * SECOND_MS;
const POLL_MS = 250;
/** A run that still has something to send ends after this time, so that exporters that wait for a slot have theirs. */
const TURN_MS = MINUTE_MS;
const CHECKPOINTS_AT_ONCE = 100;
const BACK_OFF_MS = { first: SECOND_MS, most: 5 * MINUTE_MS };
/** Failures in a row after which subscribers are told, once until it succeeds again. */
const FAILURES_TOLD = 5;
const REASON_CHARS_MAX = 300;

/** The exporter was changed, deleted, or taken over by another node. */
class LeaseLost extends Error {}

/** Sends what one exporter has not sent yet, batch by batch, until there is nothing left. */
export class ExporterRun {
  readonly #kernel: Pick<Kernel, 'clock' | 'database' | 'log'>;
  readonly #row: store.ExporterRow;
  readonly #transport: Transport;
  readonly #reader: BatchReader;
  readonly #encode: (entry: ExportedEntry) => Encoded;
  #progress: store.ProgressRow;
  /** Where to read on. It may be behind the stored cursor, if the last entries were never confirmed. */
  #position: number;

  private constructor(
    kernel: ExporterKernel,
    { row, progress }: { row: store.ExporterRow; progress: store.ProgressRow },
    transport: Transport,
    version: string,
  ) {
    this.#kernel = kernel;
    this.#row = row;
    this.#progress = progress;
    this.#transport = transport;
    const encode = encoder(row.format, version, transport);
    this.#encode = encode;
    this.#reader = new BatchReader(
      { tenantId: row.tenant_id, filter: JSON.parse(row.filter) },
      transport.limits,
      encode,
      kernel.damagedSegments,
    );
    this.#position = Math.max(progress.begin_seq - 1, progress.cursor_seq - transport.unconfirmedMax);
  }

  static async open(
    kernel: ExporterKernel,
    parts: ReceiverParts,
    progress: store.ProgressRow,
  ): Promise<ExporterRun | null> {
    const row = await store.findExporter(kernel.database.read, progress);
    if (row === undefined) return null;
    const destination = {
      owner: row.tenant_id,
      endpoint: row.endpoint,
      caPem: row.ca_pem,
      credentials: await unsealCredentials(kernel, row),
    };
    return new ExporterRun(kernel, { row, progress }, RECEIVERS[row.type].open(parts, destination), parts.version);
  }

  async run(signal: AbortSignal, turnMs = TURN_MS): Promise<void> {
    const renewing = setInterval(() => this.#renew(), RENEW_MS);
    try {
      await this.#sendAll(signal, turnMs);
      await this.#transport.finish();
      // The receiver has everything up to here, so the next run repeats none of it. Users who wait longest come first.
      const [begin_seq, next_attempt_at] = [this.#position + 1, this.#kernel.clock.now()];
      await this.#update(async () => ({ begin_seq, next_attempt_at, lease_owner: null, lease_until: 0 }));
    } catch (error) {
      await this.#transport.finish().catch(() => {});
      if (!(error instanceof LeaseLost)) await this.#fail(error, signal);
    } finally {
      clearInterval(renewing);
    }
  }

  async #sendAll(signal: AbortSignal, turnMs: number): Promise<void> {
    const startedAt = performance.now();
    let idleSince = startedAt;
    while (!signal.aborted && performance.now() - startedAt < turnMs) {
      const batch = await inBackground(this.#row.tenant_id, () => this.#nextBatch());
      if (batch !== null) {
        await this.#sendBatch(batch, signal);
        idleSince = performance.now();
      } else {
        await this.#sendCheckpoints(signal);
        if (performance.now() - idleSince > IDLE_MS) return;
        await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #nextBatch(): Promise<Batch | null> {
    const { read } = this.#kernel.database.forTenant(this.#row.tenant_id, 'bulk');
    const head = await findHead(read, this.#row.tenant_id);
    return this.#reader.next(read, this.#position, Number(head?.seq ?? 0));
  }

  async #sendBatch({ entries, lastSeq }: Batch, signal: AbortSignal): Promise<void> {
    const receipt = entries.length === 0 ? null : await this.#transport.send(entries, signal);
    this.#position = lastSeq;
    await this.#update(async (tx) => {
      const { cursor_seq, delivered, rejected, skipped } = this.#progress;
      // Entries that are sent again because nothing had confirmed them are not counted again.
      const isNew = (index: number) => Number(entries[index]?.entry.seq) > cursor_seq;
      const lost = receipt === null ? [] : this.#losses(entries, receipt);
      await store.recordLosses(tx, lost);
      const counts = {
        rejected: receipt?.rejected.filter(({ index }) => isNew(index)).length ?? 0,
        skipped: receipt?.skipped.filter(({ index }) => isNew(index)).length ?? 0,
      };
      const sent = entries.filter((_, index) => isNew(index)).length;
      return {
        cursor_seq: Math.max(cursor_seq, lastSeq),
        delivered: delivered + sent - counts.rejected - counts.skipped,
        rejected: rejected + counts.rejected,
        skipped: skipped + counts.skipped,
        failures: 0,
        last_error: null,
        ...(receipt !== null && { last_success_at: this.#kernel.clock.now() }),
        lease_until: this.#kernel.clock.now() + LEASE_MS,
      };
    });
  }

  /** Neighbours that were lost for the same reason are one row. */
  #losses(entries: readonly Encoded[], receipt: Receipt): store.LossRow[] {
    const { tenant_id, exporter_id } = this.#row;
    const lost_at = this.#kernel.clock.now();
    const losses: store.LossRow[] = [];
    for (const kind of ['rejected', 'skipped'] as const) {
      for (const { index, reason: whole } of receipt[kind]) {
        const seq = Number(entries[index]?.entry.seq);
        const reason = whole.slice(0, REASON_CHARS_MAX);
        const last = losses.at(-1);
        if (last?.kind === kind && last.to_seq === seq - 1 && last.reason === reason) last.to_seq = seq;
        else losses.push({ tenant_id, exporter_id, kind, from_seq: seq, to_seq: seq, reason, lost_at });
      }
    }
    return losses;
  }

  /** Checkpoints leave with the entries they cover, so that the receiver can prove that a log was cut. */
  async #sendCheckpoints(signal: AbortSignal): Promise<void> {
    const { tenant_id } = this.#row;
    const { read } = this.#kernel.database;
    const rows = await checkpointsOnward(read, tenant_id, this.#progress.checkpoint_no, CHECKPOINTS_AT_ONCE);
    const last = rows.at(-1);
    if (last === undefined) return;
    await this.#transport.send(
      rows.map((row) => this.#encode(checkpointEntry(row))),
      signal,
    );
    await this.#update(async () => ({ checkpoint_no: last.checkpoint_no }));
  }

  async #update(change: (tx: Tx) => Promise<Partial<store.ProgressRow>>): Promise<void> {
    const database = this.#kernel.database.forTenant(this.#row.tenant_id);
    const changed = await database.transaction(async (tx) => {
      const next = await change(tx);
      if (!(await store.updateProgress(tx, this.#progress, next))) throw new LeaseLost();
      return next;
    });
    // A renewal of the lease may commit at the same time, and must not put back what a batch has changed.
    this.#progress = { ...this.#progress, ...changed };
  }

  #renew(): void {
    const lease_until = this.#kernel.clock.now() + LEASE_MS;
    // If it fails, the next renewal or the next batch notices.
    this.#update(async () => ({ lease_until })).catch(() => {});
  }

  async #emitFailing(tx: Tx, error: string, now: number): Promise<void> {
    const { tenant_id, exporter_id: id, name, type } = this.#row;
    const summary = `The exporter ${name} failed ${FAILURES_TOLD} times in a row: ${error}.`;
    await emit(
      tx,
      tenant_id,
      { event: 'exporter.failing', object: { id, name, type, error }, summary, dedupKey: id },
      now,
    );
  }

  async #fail(error: unknown, signal: AbortSignal): Promise<void> {
    const { exporter_id, tenant_id } = this.#row;
    const isExpected = error instanceof NotDelivered;
    const now = this.#kernel.clock.now();
    if (!isExpected && !signal.aborted) {
      this.#kernel.log.error(
        { err: error, exporter: exporter_id, tenant: tenant_id },
        'an exporter failed unexpectedly',
      );
    }
    const failures = this.#progress.failures + (signal.aborted ? 0 : 1);
    const waitMs = Math.min(BACK_OFF_MS.first * 2 ** Math.min(failures - 1, 20), BACK_OFF_MS.most);
    const wishMs = isExpected ? Math.min(error.retryAfterMs ?? 0, BACK_OFF_MS.most) : 0;
    const change = signal.aborted
      ? {}
      : {
          failures,
          last_error: isExpected ? error.message : 'an unexpected error; see the log of the service',
          last_error_at: now,
          next_attempt_at: now + Math.max(waitMs, wishMs),
        };
    try {
      await this.#update(async (tx) => {
        if (!signal.aborted && failures === FAILURES_TOLD) await this.#emitFailing(tx, change.last_error ?? '', now);
        return { ...change, lease_owner: null, lease_until: 0 };
      });
    } catch (failure) {
      if (!(failure instanceof LeaseLost)) throw failure;
    }
  }
}

/** A checkpoint in the form of an entry, which every format can express. */
function checkpointEntry(row: CheckpointRow): ExportedEntry {
  return {
    id: `checkpoint-${row.tenant_id}-${row.checkpoint_no}`,
    tenant_id: row.tenant_id,
    timestamp: timestamp(row.signed_at),
    actor: { kind: 'system', id: 'job:sign-audit-checkpoints', name: '', key: row.key_id },
    action: 'audit:checkpoint',
    resource: 'audit',
    vault: null,
    decision: 'allow',
    status: 200,
    ip: '',
    user_agent: '',
    request_id: '',
    reason: null,
    details: { checkpoint: checkpointToWire(row) },
    seq: null,
    hash: null,
  };
}
