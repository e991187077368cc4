import { HOUR_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../../kernel/base/errors.ts';
import type { Query } from '../../../kernel/endpoint/declaration.ts';
import type { KeepingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { UniqueViolation } from '../../../kernel/storage/database.ts';
import { decodeCursor } from '../../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../../kernel/wire/wire.ts';
import type { PqcKeys } from '../../pqc/index.ts';
import type { Checkpoint, listCheckpoints } from '../contract.ts';
import type { AuditKernel } from '../links.ts';
import * as store from '../store.ts';
import { checkpointKeys, settleSuccession, signCheckpoint, type Unsigned } from './checkpoint.ts';
import type { CheckpointFiles } from './checkpoint-files.ts';
import { checkpointToWire, keyToWire } from './checkpoint-wire.ts';

const TENANTS_AT_ONCE = 100;
/** Tenants younger than this are left to the next run, since their log has hardly begun. */
const YOUNG_MS = 5 * MINUTE_MS;
/** Maximum attempts to sign the next checkpoint while other nodes or callers sign as well. */
const ATTEMPTS = 8;
const NUMBER_FORM = /^[1-9]\d{0,14}$/;
const CURSOR_KIND = new RegExp(`^${store.CHECKPOINT_CURSOR}$`);

/**
 * Signed statements of how far a tenant's chain had come. The chain proves that nothing before its end was changed. A checkpoint stored outside the
 * service proves that it is still the same chain, even to someone who does not trust the service or its database.
 */
export class Checkpoints {
  readonly #kernel: AuditKernel;
  readonly #keys: PqcKeys;
  readonly #files: CheckpointFiles | null;

  constructor(kernel: AuditKernel, keys: PqcKeys, files: CheckpointFiles | null) {
    this.#kernel = kernel;
    this.#keys = keys;
    this.#files = files;
  }

  get job(): KeepingJob {
    return {
      name: 'sign-audit-checkpoints',
      intervalMs: HOUR_MS,
      removes: 'nothing',
      run: (signal) => this.signAll(signal),
    };
  }

  /**
   * Signs a checkpoint for every tenant whose log has grown since its last one. The cost does not depend on the length of any log, since only heads
   * are read.
   */
  async signAll(signal: AbortSignal): Promise<void> {
    const { audit, database, clock, log } = this.#kernel;
    await audit.link();
    let after = '';
    for (;;) {
      const tenants = await store.tenantsAfter(database.read, after, clock.now() - YOUNG_MS, TENANTS_AT_ONCE);
      for (const tenantId of tenants) {
        if (signal.aborted) return;
        const next = await this.#next(tenantId);
        if (next instanceof Distrusted) log.error({ tenant_id: tenantId }, next.message);
        else if ('unsigned' in next) await this.#keep(await signCheckpoint(this.#keys, next.unsigned));
      }
      const last = tenants.at(-1);
      if (last === undefined || tenants.length < TENANTS_AT_ONCE) break;
      after = last;
    }
    await settleSuccession(this.#keys);
    this.#files?.wake();
  }

  /** Returns the next checkpoint to sign, or the last one if it already covers the whole log. */
  async #next(tenantId: string): Promise<{ unsigned: Unsigned } | { last: store.CheckpointRow | null } | Distrusted> {
    const { database, clock } = this.#kernel;
    // The order of these reads matters: neither the anchor nor a checkpoint that somebody else signs in between can then be ahead of the head.
    const seen = this.#kernel.heads.anchor.seen(tenantId)?.seq ?? 0;
    const last = await store.newestCheckpoint(database.read, tenantId);
    const head = await store.findHead(database.read, tenantId);
    if (head === undefined) return new Distrusted('has no head');
    if (last === undefined && head.seq === 0) return { last: null };
    if (last?.seq === head.seq && Buffer.compare(last.hash, head.hash) === 0) return { last };
    // Signing now would vouch for a log that was tampered with.
    if (last !== undefined && last.seq >= head.seq) return new Distrusted('is behind its last checkpoint');
    if (head.seq < seen) return new Distrusted('is behind what this node has seen of it');
    if (!(await this.#kernel.heads.hasItsMac(head))) return new Distrusted('has a head that was rewritten');
    this.#kernel.heads.hasMoved(tenantId);
    const checkpoint_no = (last?.checkpoint_no ?? 0) + 1;
    return { unsigned: { tenant_id: tenantId, checkpoint_no, seq: head.seq, hash: head.hash, signed_at: clock.now() } };
  }

  /** If another node or a caller inserted this number first, their checkpoint is good enough. */
  async #keep(row: store.CheckpointRow): Promise<void> {
    try {
      await this.#kernel.database.transaction((tx) => store.insertCheckpoint(tx, row));
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }

  async create(ctx: Context): Promise<Checkpoint> {
    await ctx.kernel.audit.link();
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const next = await this.#next(ctx.tenantId);
      if (next instanceof Distrusted) throw next;
      if ('last' in next) {
        if (next.last === null) throw notFound('entry: the log is empty, so there is nothing to sign');
        return checkpointToWire(next.last);
      }
      const row = await signCheckpoint(this.#keys, next.unsigned);
      ctx.record.describe({ checkpoint: row.checkpoint_no, seq: row.seq });
      try {
        const signed = await ctx.change(async (tx) => {
          await store.insertCheckpoint(tx, row);
          return checkpointToWire(row);
        });
        this.#files?.wake();
        return signed;
      } catch (error) {
        // The job or another caller took the number. Either their checkpoint covers the log, or the next attempt signs the one after it.
        if (!(error instanceof UniqueViolation)) throw error;
      }
    }
    throw new CofferError('IN_USE', 'Other checkpoints were signed at the same time: list them, or try again.');
  }

  async list(ctx: Context, query: Query<typeof listCheckpoints>) {
    const [, before] = decodeCursor(query.cursor, CURSOR_KIND, NUMBER_FORM) ?? [];
    const limit = query.limit ?? LIST_LIMIT_DEFAULT;
    const from = before === undefined ? null : Number(before);
    const page = await store.checkpointsBack(ctx.database.read, ctx.tenantId, from, limit);
    const keys = (await checkpointKeys(this.#keys)).map(keyToWire);
    return { checkpoints: page.rows.map(checkpointToWire), keys, next_cursor: page.next_cursor };
  }
}

/** The log looks tampered with, so no checkpoint may vouch for it. */
class Distrusted extends Error {
  constructor(what: string) {
    super(`the audit log of a tenant ${what}: no checkpoint is signed`);
  }
}
