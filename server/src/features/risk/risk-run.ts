import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { DueWorker } from '../../kernel/jobs/due-work.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { assessedSecrets } from '../secrets/storage/index.ts';
import { isLive } from '../vaults/index.ts';
import { findVault, type VaultRow, vaultsAfter } from '../vaults/storage/index.ts';
import { Assessment, type FindAnomalyPoints } from './assessment.ts';
import type { RiskKernel } from './links.ts';
import { learnReads } from './reads.ts';
import * as runs from './run-store.ts';
import { type ComputedRisk, storeRisks } from './store.ts';

const INTERVAL_MS = DAY_MS;
/** Much longer than the largest step takes: loading the rights of all principals. */
const LEASE_MS = 10 * MINUTE_MS;
const RETRY_MS = HOUR_MS / 4;
/** Tenants whose risks one node computes at once. */
const AT_ONCE = 2;
const SECRETS_AT_ONCE = 200;

/** Where a run is: vaults in the order of their names, and in each the secrets in the order of their paths. */
interface Position {
  vault: string;
  path: string;
}
const START: Position = { vault: '', path: '' };

export interface RunParts {
  anomalyPoints: FindAnomalyPoints;
  /** What depends on the risks of a tenant, and is computed after them. */
  afterRisks(tenantId: string, readers: Assessment['readers'], signal: AbortSignal): Promise<void>;
}

/** The run lost its lease to another node, which does the work from here. */
class LostLease extends Error {
  override readonly name = 'LostLease';
}

/** Computes the risks of all tenants once a day and on request, each on one node at a time. */
export function riskWorker(kernel: RiskKernel, parts: RunParts): DueWorker<runs.RiskRunRow> {
  const { database, clock, nodeId, log, activity } = kernel;
  return new DueWorker<runs.RiskRunRow>(
    {
      isServed: (row) => kernel.regionGate.isServedHere(row.tenant_id),
      name: 'risks to compute',
      find: (limit, except) => runs.dueRuns(database.read, clock.now(), INTERVAL_MS + DAY_MS, { limit, except }),
      take: async (row) => {
        const lease = { lease_owner: nodeId, lease_until: clock.now() + LEASE_MS };
        const own = database.forTenant(row.tenant_id, 'bulk');
        return (await own.transaction((tx) => runs.updateRun(tx, row, lease))) ? { ...row, ...lease } : null;
      },
      work: (row, signal) => new RiskRun(kernel, parts, row, signal).run(),
    },
    { atOnce: AT_ONCE, log, activity },
  );
}

/** One run over all secrets of a tenant. Each step commits with the position after it, so that another node continues where a killed one was. */
export class RiskRun {
  readonly #kernel: Pick<Kernel, 'clock' | 'database' | 'keyring'>;
  readonly #parts: RunParts;
  readonly #signal: AbortSignal;
  #row: runs.RiskRunRow;

  constructor(
    kernel: Pick<Kernel, 'clock' | 'database' | 'keyring'>,
    parts: RunParts,
    row: runs.RiskRunRow,
    signal: AbortSignal,
  ) {
    this.#kernel = kernel;
    this.#parts = parts;
    this.#row = row;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      if (error instanceof LostLease) return;
      await this.#release({ next_run_at: this.#kernel.clock.now() + RETRY_MS });
      throw error;
    }
  }

  async #run(): Promise<void> {
    const { tenant_id: tenantId, requests } = this.#row;
    const { clock } = this.#kernel;
    if (!(await this.#learnReads())) return this.#release({});
    const assessment = await Assessment.open(this.#kernel, {
      db: this.#database.read,
      tenantId,
      now: clock.now(),
      readsKnownSince: this.#row.reads_known_since,
      anomalyPoints: this.#parts.anomalyPoints,
    });
    if (!(await this.#assessAll(assessment))) return this.#release({});
    await this.#parts.afterRisks(tenantId, assessment.readers, this.#signal);
    if (this.#signal.aborted) return this.#release({});
    const now = clock.now();
    await this.#step(async (tx) => {
      const current = await runs.findRun(tx, tenantId);
      const isRequested = current !== undefined && current.requests !== requests;
      return { position: '', finished_at: now, next_run_at: isRequested ? 0 : now + INTERVAL_MS };
    });
    await this.#release({});
  }

  async #learnReads(): Promise<boolean> {
    const { tenant_id, reads_known_since, reads_counted_until } = this.#row;
    const before = { since: reads_known_since, until: reads_counted_until };
    const now = this.#kernel.clock.now();
    const known = await learnReads(this.#database, tenant_id, { known: before, now }, this.#signal);
    if (known === null) return false;
    await this.#step(async () => ({ reads_known_since: known.since, reads_counted_until: known.until }));
    return true;
  }

  /** False if it was interrupted. */
  async #assessAll(assessment: Assessment): Promise<boolean> {
    const { read } = this.#database;
    const { tenant_id: tenantId, position } = this.#row;
    const start = position === '' ? START : (JSON.parse(position) as Position);
    const interrupted = start.path === '' ? undefined : await findVault(read, tenantId, start.vault);
    if (isLive(interrupted) && !(await this.#assessVault(assessment, interrupted, start.path))) return false;
    for (let after = start.vault; !this.#signal.aborted; ) {
      const [vault] = await vaultsAfter(read, tenantId, after, 1);
      if (vault === undefined) return true;
      if (isLive(vault) && !(await this.#assessVault(assessment, vault, ''))) return false;
      after = vault.name;
    }
    return false;
  }

  async #assessVault(assessment: Assessment, vault: VaultRow, after: string): Promise<boolean> {
    const { tenant_id } = this.#row;
    for (let path = after; ; ) {
      if (this.#signal.aborted) return false;
      const rows = await assessedSecrets.inVault(this.#database.read, tenant_id, vault.vault_id, {
        after: path,
        limit: SECRETS_AT_ONCE,
      });
      const factors = await assessment.factors(vault, rows);
      const computed = rows.map(
        ({ secret_id }): ComputedRisk => ({
          secretId: secret_id,
          vaultId: vault.vault_id,
          factors: factors.get(secret_id) ?? [],
        }),
      );
      const isLast = rows.length < SECRETS_AT_ONCE;
      path = rows.at(-1)?.path ?? path;
      const position: Position = { vault: vault.name, path: isLast ? '' : path };
      const now = this.#kernel.clock.now();
      await this.#step(async (tx) => {
        await storeRisks(tx, tenant_id, computed, now);
        return { position: JSON.stringify(position) };
      });
      if (isLast) return true;
    }
  }

  get #database() {
    return this.#kernel.database.forTenant(this.#row.tenant_id, 'bulk');
  }

  /** Commits a step and extends the lease with it, or nothing if the lease is lost. */
  async #step(act: (tx: Tx) => Promise<Partial<runs.RiskRunRow>>): Promise<void> {
    const before = this.#row;
    this.#row = await this.#database.transaction(async (tx) => {
      const lease_until = Math.max(before.lease_until + 1, this.#kernel.clock.now() + LEASE_MS);
      if (!(await runs.updateRun(tx, before, { lease_until }))) throw new LostLease();
      const change = await act(tx);
      const held = { ...before, lease_until };
      if (Object.keys(change).length > 0) await runs.updateRun(tx, held, change);
      return { ...held, ...change };
    });
  }

  async #release(change: Partial<runs.RiskRunRow>): Promise<void> {
    const row = this.#row;
    await this.#database.transaction((tx) => runs.updateRun(tx, row, { ...change, lease_owner: null, lease_until: 0 }));
  }
}
