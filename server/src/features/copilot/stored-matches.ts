import { isGuessable } from '../../../../detection/src/index.ts';
import { HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import { someInSlices } from '../../kernel/fairness/time-slice.ts';
import { countedWithin } from '../../kernel/limits/attempt-counters.ts';
import type { Context } from '../../kernel/request/context.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import { holdersOf, storedValues } from '../secrets/value/index.ts';

/** Stored values that a principal may not read, and that are masked for it in an hour. Anyone who pastes more is guessing. */
export const HIDDEN_MATCHES_PER_HOUR_MAX = 20;
/** Different texts of one conversation that are compared. An ordinary one of the greatest length has fewer. */
export const CANDIDATES_MAX = 50_000;

/**
 * Says which texts of one conversation are stored values. A placeholder tells the caller that a value is stored somewhere, so a value that the
 * caller may not read is masked only if it cannot be guessed, and only so often.
 */
export class StoredMatches {
  readonly #ctx: Context;
  /** Texts that were decided on before: the parts of a stream are compared several times. */
  readonly #decided = new Map<string, boolean>();

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  async find(texts: readonly string[]): Promise<Set<string>> {
    const { kernel, database, tenantId } = this.#ctx;
    const found = new Set(texts.filter((text) => this.#decided.get(text) === true));
    const unknown = texts.filter((text) => !this.#decided.has(text));
    if (this.#decided.size + unknown.length > CANDIDATES_MAX)
      throw invalidField(
        '/body',
        `and the reply have too many different words to be compared with the stored values, more than ${CANDIDATES_MAX}: send less at once`,
      );
    let hidden = 0;
    for (const text of unknown) this.#decided.set(text, false);
    for (const [text, fingerprint] of await storedValues(kernel, database.read, tenantId, unknown)) {
      const holders = await holdersOf(database.read, tenantId, fingerprint);
      const isReadable = await someInSlices(tenantId, holders, (row) =>
        visibleSecrets.isAllowed(this.#ctx, row.vault, row, ['secrets:read']),
      );
      if (!isReadable && isGuessable(text)) continue;
      if (!isReadable) hidden++;
      this.#decided.set(text, true);
      found.add(text);
    }
    if (hidden > 0) await this.#countHidden(hidden);
    return found;
  }

  async #countHidden(count: number): Promise<void> {
    const { principal, tenantId, now, database } = this.#ctx;
    const subject = ['stored values', tenantId, principal.kind, principal.id];
    const counted = await database.transaction((tx) => countedWithin(tx, subject, { count, now, periodMs: HOUR_MS }));
    if (counted <= HIDDEN_MATCHES_PER_HOUR_MAX) return;
    throw new CofferError(
      'RATE_LIMIT_EXCEEDED',
      `In the last hour you sent more than ${HIDDEN_MATCHES_PER_HOUR_MAX} values of secrets that you may not read, so the assistant refuses: try again later, without values, or ask for permission to read the secrets.`,
      { retryAfterSeconds: HOUR_MS / SECOND_MS, auditReason: 'too many stored values that the caller may not read' },
    );
  }
}
