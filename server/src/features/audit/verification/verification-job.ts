import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import type { KeepingJob } from '../../../kernel/jobs/job-runner.ts';
import * as store from '../store.ts';
import { type Position, type VerificationParts, verifyFully, verifySince } from './verification.ts';
import { findVerified, saveVerified } from './verified-store.ts';

const TENANTS_AT_ONCE = 100;
/** Tenants younger than this are left to the next run, since their log has hardly begun. */
const YOUNG_MS = HOUR_MS;
const PROBLEMS_LOGGED_MAX = 10;
/** Between two verifications of a log from its beginning. */
const FULL_EVERY_MS = 7 * DAY_MS;

const WHAT_TO_DO =
  'Call GET /v1/audit/verify with a token of that tenant, or run "coffer server verify": it reports what was changed in the database. Find out who could write to it.';

/**
 * Verifies every log hourly from where the last verification ended, and weekly from its beginning. A log that failed is verified from its beginning
 * each time, until nothing is wrong with it any more.
 */
export class VerificationJob {
  readonly #parts: VerificationParts;
  /** Logs that failed here. An older state put back into the database does not hide that. */
  readonly #failed = new Set<string>();

  constructor(parts: VerificationParts) {
    this.#parts = parts;
  }

  get job(): KeepingJob {
    return {
      name: 'verify-audit',
      intervalMs: HOUR_MS,
      isLong: true,
      removes: 'nothing',
      run: async (signal) => {
        try {
          await this.#verifyAll(signal);
        } catch (error) {
          // A verification that the end of the service interrupts has found nothing, and the next run repeats it.
          if (!signal.aborted) throw error;
        }
      },
    };
  }

  async #verifyAll(signal: AbortSignal): Promise<void> {
    const { database, regionGate, metrics, clock } = this.#parts.kernel;
    const failed: string[] = [];
    for (let after = ''; ; ) {
      const tenants = await store.tenantsAfter(database.read, after, clock.now() - YOUNG_MS, TENANTS_AT_ONCE);
      for (const tenantId of tenants) {
        signal.throwIfAborted();
        // The log of a tenant of another region is a copy, which may be behind the tables or ahead of them.
        if (!(await regionGate.isServedHere(tenantId))) continue;
        if (!(await this.#isValid(tenantId, signal))) failed.push(tenantId);
      }
      const last = tenants.at(-1);
      if (last === undefined || tenants.length < TENANTS_AT_ONCE) break;
      after = last;
    }
    metrics.logsInvalid.set(failed.length);
  }

  /** A tenant whose keys were edited cannot be verified at all, and must not keep others from being verified. */
  async #isValid(tenantId: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#verifyTenant(tenantId, signal);
    } catch (error) {
      if (signal.aborted || error instanceof CofferError) throw error;
      const facts = { tenant_id: tenantId, err: error, what_to_do: WHAT_TO_DO };
      this.#parts.kernel.log.error(facts, 'the verification of an audit log cannot be completed');
      return false;
    }
  }

  async #verifyTenant(tenantId: string, signal: AbortSignal): Promise<boolean> {
    const { database, clock } = this.#parts.kernel;
    const last = await findVerified(database.read, tenantId);
    const now = clock.now();
    const mayGoOn =
      last !== null && last.is_valid === 1 && now - last.full_at < FULL_EVERY_MS && !this.#failed.has(tenantId);
    const reached = mayGoOn ? await verifySince(this.#parts, tenantId, last, { signal }) : null;
    if (last !== null && reached !== null) {
      await this.#save(tenantId, reached, { full_at: last.full_at, is_valid: 1 });
      return true;
    }
    const { verification, reached: position } = await verifyFully(this.#parts, tenantId, { signal });
    const { valid, first_broken, rows } = verification;
    if (valid) this.#failed.delete(tenantId);
    else {
      this.#failed.add(tenantId);
      const kinds = new Set(rows.problems.map(({ table, problem }) => `${table}: ${problem}`));
      const problems = [...kinds].slice(0, PROBLEMS_LOGGED_MAX);
      const facts = { tenant_id: tenantId, first_broken, problems, problems_count: rows.problems_count };
      this.#parts.kernel.log.error(
        { ...facts, what_to_do: WHAT_TO_DO },
        'the audit log of a tenant fails verification',
      );
    }
    await this.#save(tenantId, position, { full_at: now, is_valid: valid ? 1 : 0 });
    return valid;
  }

  async #save(
    tenant_id: string,
    { seq, hash, checkpoint_no }: Position,
    result: { full_at: number; is_valid: number },
  ): Promise<void> {
    const { database, clock } = this.#parts.kernel;
    const row = { tenant_id, seq, hash, checkpoint_no, verified_at: clock.now(), ...result };
    await database.transaction((tx) => saveVerified(tx, row));
  }
}
