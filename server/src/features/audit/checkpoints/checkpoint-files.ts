import { access, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Gauge } from 'prom-client';
import { hexOf } from '../../../kernel/audit/chain/chain.ts';
import { BoundedCache } from '../../../kernel/base/bounded-cache.ts';
import { MINUTE_MS } from '../../../kernel/base/clock.ts';
import { SharedRun } from '../../../kernel/base/shared-run.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { PqcKeys } from '../../pqc/index.ts';
import * as store from '../store.ts';
import { type CheckpointKey, checkpointKeys, signatureProblem } from './checkpoint.ts';
import { checkpointToWire, keyToWire } from './checkpoint-wire.ts';

const TENANTS_AT_ONCE = 100;
const PAGE = 64;
/** The timer also picks up checkpoints that other nodes signed, which are written here too. */
const INTERVAL_MS = 10 * MINUTE_MS;
const RETRY_MS = MINUTE_MS;
const KNOWN_BOUNDS = { bytesMax: 4 * 1024 * 1024, bytesOf: () => 400 };
const HASH_DIGITS = 12;

const WHAT_TO_DO =
  'Check that the folder in CV_CHECKPOINT_DIR exists, that the service may write to it, and that its disk has free space. Missing checkpoints are then written automatically.';
const FORGED =
  'Somebody changed audit_checkpoints in the database. Call GET /v1/audit/verify with a token of that tenant, and compare an export with the files that were written before.';

/**
 * Writes each checkpoint to its own file in a folder, so that it does not exist only in the database it vouches for. A file is never overwritten: its
 * name contains the checkpoint number and hash, so two diverging histories leave two files. No request or job waits for it.
 */
export class CheckpointFiles {
  readonly #kernel: Pick<Kernel, 'database' | 'log' | 'nodeId'>;
  readonly #keys: PqcKeys;
  readonly #folder: string;
  readonly #failing: Gauge;
  /** The file name of the newest checkpoint known to be written for each tenant; all earlier ones are written too. */
  readonly #written = new BoundedCache<string, string>(KNOWN_BOUNDS);
  readonly #runs = new SharedRun(() => this.#run());
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Failure and recovery are each logged once, when this flag changes. */
  #isFailing = false;

  constructor(kernel: Pick<Kernel, 'database' | 'log' | 'nodeId'>, keys: PqcKeys, folder: string, failing: Gauge) {
    this.#kernel = kernel;
    this.#keys = keys;
    this.#folder = folder;
    this.#failing = failing;
    this.#runIn(0);
  }

  /** Call this after a checkpoint was signed. */
  wake(): void {
    void this.#runs.run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#runs.run();
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#runs.run(), ms).unref();
  }

  /** Never rejects: a failed write is logged and retried later. */
  async #run(): Promise<void> {
    if (this.#isStopped) return;
    const { log } = this.#kernel;
    try {
      await this.#writeMissing();
      if (this.#isFailing) log.info('audit checkpoints can be written to CV_CHECKPOINT_DIR again');
      this.#isFailing = false;
    } catch (error) {
      const facts = { err: error, what_to_do: WHAT_TO_DO };
      if (!this.#isFailing) log.error(facts, 'audit checkpoints cannot be written to CV_CHECKPOINT_DIR; retrying');
      this.#isFailing = true;
    }
    this.#failing.set(this.#isFailing ? 1 : 0);
    this.#runIn(this.#isFailing ? RETRY_MS : INTERVAL_MS);
  }

  async #writeMissing(): Promise<void> {
    const { read } = this.#kernel.database;
    const keys = new Map((await checkpointKeys(this.#keys)).map((key) => [key.keyId, key]));
    for (let after = ''; !this.#isStopped; ) {
      const tenants = await store.tenantsAfter(read, after, Number.MAX_SAFE_INTEGER, TENANTS_AT_ONCE);
      for (const tenantId of tenants) await this.#writeTenant(tenantId, keys);
      const last = tenants.at(-1);
      if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
      after = last;
    }
  }

  /** Checkpoints are written in ascending order, so an existing file implies that all earlier ones exist. */
  async #writeTenant(tenantId: string, keys: ReadonlyMap<string, CheckpointKey>): Promise<void> {
    const { read } = this.#kernel.database;
    const newest = await store.newestCheckpoint(read, tenantId);
    if (newest === undefined || this.#written.get(tenantId) === nameOf(newest)) return;
    let written = await this.#lastWritten(tenantId);
    while (!this.#isStopped) {
      const rows = await store.checkpointsOnward(read, tenantId, written, PAGE);
      for (const row of rows) await this.#write(row, keys);
      const last = rows.at(-1);
      if (last === undefined) return;
      written = last.checkpoint_no;
      this.#written.set(tenantId, nameOf(last));
    }
  }

  async #lastWritten(tenantId: string): Promise<number> {
    for (let before: number | null = null; ; ) {
      const { rows }: { rows: store.CheckpointRow[] } = await store.checkpointsBack(
        this.#kernel.database.read,
        tenantId,
        before,
        PAGE,
      );
      for (const row of rows) if (await exists(join(this.#folder, nameOf(row)))) return row.checkpoint_no;
      before = rows.at(-1)?.checkpoint_no ?? null;
      if (before === null) return 0;
    }
  }

  /** A checkpoint that the service did not sign is logged and not written, so that the folder holds only genuine ones. */
  async #write(row: store.CheckpointRow, keys: ReadonlyMap<string, CheckpointKey>): Promise<void> {
    const key = keys.get(row.key_id);
    const problem = await signatureProblem(this.#keys, row);
    if (key === undefined || problem !== null) {
      const facts = { tenant_id: row.tenant_id, problem, what_to_do: FORGED };
      this.#kernel.log.error(facts, 'a checkpoint that the service did not sign was not written to CV_CHECKPOINT_DIR');
      return;
    }
    const content = { checkpoint: checkpointToWire(row), key: keyToWire(key) };
    await writeDurably(this.#folder, nameOf(row), `${JSON.stringify(content)}\n`, this.#kernel.nodeId);
  }
}

function nameOf({ tenant_id, checkpoint_no, hash }: store.CheckpointRow): string {
  return `${tenant_id}-${String(checkpoint_no).padStart(6, '0')}-${hexOf(hash).slice(0, HASH_DIGITS)}.json`;
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Writes the file atomically, also across a power cut. Nodes may share the folder, so each uses a temporary file name of its own. */
async function writeDurably(folder: string, name: string, text: string, nodeId: string): Promise<void> {
  const unfinished = join(folder, `.${name}.${nodeId}.tmp`);
  try {
    const file = await open(unfinished, 'w', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, join(folder, name));
  } finally {
    await rm(unfinished, { force: true });
  }
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
