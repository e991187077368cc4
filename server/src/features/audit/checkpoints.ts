import type { Heads } from '../../kernel/audit/heads.ts';
import { HOUR_MS, MINUTE_MS, timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { CofferError, notFound } from '../../kernel/errors.ts';
import type { Job } from '../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { decodeCursor } from '../../kernel/storage/cursor.ts';
import { UniqueViolation } from '../../kernel/storage/database.ts';
import type { Tables } from '../../kernel/storage/tables.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import { type PqcKeys, SIGNATURE_ALGORITHM } from '../pqc/index.ts';
import { checkpointKeys, signCheckpoint, type Unsigned } from './checkpoint.ts';
import type { Checkpoint, listCheckpoints } from './contract.ts';
import * as store from './store.ts';

const HEADS_AT_ONCE = 100;
/** A tenant this young is left to the next round: its log has hardly begun. */
const YOUNG_MS = 5 * MINUTE_MS;
const NUMBER_FORM = /^[1-9]\d{0,14}$/;
const CURSOR_KIND = new RegExp(`^${store.CHECKPOINT_CURSOR}$`);

/**
 * Signed statements of where a tenant's chain had come to. The chain shows that nothing before its end was changed; a checkpoint, kept outside the
 * service, shows that the chain is still the same one, also to who does not trust the service or its database.
 */
export class Checkpoints {
  readonly #kernel: Kernel;
  readonly #heads: Heads;
  readonly #keys: PqcKeys;

  constructor(kernel: Kernel, heads: Heads, keys: PqcKeys) {
    this.#kernel = kernel;
    this.#heads = heads;
    this.#keys = keys;
  }

  get job(): Job {
    return { name: 'sign-audit-checkpoints', intervalMs: HOUR_MS, run: (signal) => this.signAll(signal) };
  }

  /** Every tenant whose log has grown since its last checkpoint. What it costs depends on no log's length: only heads are looked at. */
  async signAll(signal: AbortSignal): Promise<void> {
    const { audit, database, clock, log } = this.#kernel;
    await audit.seal();
    let after = '';
    for (;;) {
      const heads = await store.headsAfter(database.read, after, clock.now() - YOUNG_MS, HEADS_AT_ONCE);
      for (const head of heads) {
        if (signal.aborted) return;
        const next = await this.#next(head);
        if (next === null) continue;
        if (next instanceof Distrusted) log.error({ tenant_id: head.tenant_id }, next.message);
        else await this.#keep(await signCheckpoint(this.#keys, next));
      }
      const last = heads.at(-1);
      if (last === undefined || heads.length < HEADS_AT_ONCE) return;
      after = last.tenant_id;
    }
  }

  /** What a checkpoint would say now; null if the last one says it already. */
  async #next(head: Tables['audit_heads']): Promise<Unsigned | Distrusted | null> {
    const { database, clock } = this.#kernel;
    const last = await store.newestCheckpoint(database.read, head.tenant_id);
    const isSame = last?.seq === head.seq && Buffer.compare(last.hash, head.hash) === 0;
    if (isSame || (last === undefined && head.seq === 0)) return null;
    // A signature would vouch for whatever was done to the log.
    if (last !== undefined && last.seq >= head.seq) return new Distrusted('is behind its last checkpoint');
    if (!(await this.#heads.isAuthentic(head))) return new Distrusted('has a head that was rewritten');
    const { tenant_id, seq, hash } = head;
    return { tenant_id, checkpoint_no: (last?.checkpoint_no ?? 0) + 1, seq, hash, signed_at: clock.now() };
  }

  /** Another node, or somebody who asked, may have been quicker: theirs will do. */
  async #keep(row: store.CheckpointRow): Promise<void> {
    try {
      await this.#kernel.database.transaction((tx) => store.insertCheckpoint(tx, row));
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }

  async create(ctx: Context): Promise<Checkpoint> {
    await ctx.kernel.audit.seal();
    const head = await store.findHead(ctx.database.read, ctx.tenantId);
    if (head === undefined) throw new Distrusted('has no head');
    const next = await this.#next(head);
    if (next instanceof Distrusted) throw next;
    if (next === null) {
      const last = await store.newestCheckpoint(ctx.database.read, ctx.tenantId);
      if (last === undefined) throw notFound('entry to sign for: the log is empty');
      return toWire(last);
    }
    const row = await signCheckpoint(this.#keys, next);
    ctx.describe({ checkpoint: row.checkpoint_no, seq: row.seq });
    try {
      return await ctx.change(async (tx) => {
        await store.insertCheckpoint(tx, row);
        return toWire(row);
      });
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
      throw new CofferError('IN_USE', 'Another checkpoint was signed at the same moment: list them.');
    }
  }

  async list(ctx: Context, query: Query<typeof listCheckpoints>) {
    const [, before] = decodeCursor(query.cursor, CURSOR_KIND, NUMBER_FORM) ?? [];
    const limit = query.limit ?? LIST_LIMIT_DEFAULT;
    const from = before === undefined ? null : Number(before);
    const page = await store.checkpointsBack(ctx.database.read, ctx.tenantId, from, limit);
    const keys = (await checkpointKeys(this.#keys)).map(({ keyId, publicKey, endorsedBy, endorsement }) => ({
      key_id: keyId,
      algorithm: SIGNATURE_ALGORITHM,
      public_key: publicKey.toString('base64'),
      endorsed_by: endorsedBy,
      endorsement: endorsement?.toString('base64') ?? null,
    }));
    return { checkpoints: page.rows.map(toWire), keys, next_cursor: page.next_cursor };
  }
}

/** A log that must not be vouched for. */
class Distrusted extends Error {
  constructor(what: string) {
    super(`the audit log of a tenant ${what}: no checkpoint is signed`);
  }
}

function toWire({
  tenant_id,
  checkpoint_no,
  seq,
  hash,
  signed_at,
  key_id,
  signature,
}: store.CheckpointRow): Checkpoint {
  return {
    id: checkpoint_no,
    tenant_id,
    seq,
    hash: Buffer.from(hash).toString('hex'),
    signed_at: timestamp(signed_at),
    key_id,
    signature: Buffer.from(signature).toString('base64'),
  };
}
