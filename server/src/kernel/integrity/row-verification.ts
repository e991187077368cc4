import { TimeSlice } from '../fairness/time-slice.ts';
import type { Reader } from '../storage/database.ts';
import type { RowRecord } from '../storage/row-changes.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';
import type { AnyAuthenticatedTable } from './authenticated-table.ts';
import { DigestTable } from './digest-table.ts';
import { TAMPERING_ACTION } from './tampering.ts';

/** Problems that a response lists one by one; further ones are only counted. */
export const PROBLEMS_TOLD_MAX = 100;
/** Problems that are held in memory, so that newer log entries can still explain them; further ones are only counted. */
const PROBLEMS_HELD_MAX = 100_000;

/**
 * What is wrong with a row. `forged`: the service did not write it in this form. `rolled_back`: the service wrote it, but has changed it since.
 * `resurrected`: the service has deleted it since. `missing`: somebody else deleted it. `unrecorded`: the log never recorded it. `replaced`: a
 * change found another row than the log had recorded. `unlinked`: a log entry has waited too long to be linked into the chain.
 */
export const ROW_PROBLEMS = [
  'forged',
  'rolled_back',
  'resurrected',
  'missing',
  'unrecorded',
  'replaced',
  'unlinked',
] as const;
export type RowProblemKind = (typeof ROW_PROBLEMS)[number];

export interface RowProblem {
  table: string;
  row: string;
  problem: RowProblemKind;
}

/** The states of a tenant's rows as the audit log recorded them, collected while the log is read. */
export class RowHistory {
  readonly digests = new DigestTable();
  readonly #waiting = new Map<string, { digest: string | null; before: string | null }[]>();
  readonly #foundFirst = new Map<string, string>();
  /** Segments that nodes wrote and that were deleted before they were linked, as recorded in the log. */
  readonly missingSegments: string[] = [];

  /** Takes the text of one entry and returns its row records. */
  add(text: string): readonly RowRecord[] {
    const records = recordsIn(text);
    if (text.includes(TAMPERING_ACTION)) this.#noteMissing(text);
    for (const [table, key, digest, before] of records) this.#take(`${table} ${key}`, digest, before);
    return records;
  }

  /** A change that is recorded before the one whose row it found waits for that one. */
  #take(name: string, digest: string | null, before: string | null): void {
    const waiting = this.#waiting.get(name) ?? [];
    if (!this.digests.isLast(name, before)) {
      if (!this.#isEarliest(name, digest, before)) this.#waiting.set(name, [...waiting, { digest, before }]);
      return;
    }
    // The first recorded change of a row may have found an existing row: the change that created it comes later in the log, or happened before rows
    // were recorded.
    if (before !== null && this.digests.isLast(name, null)) this.#foundFirst.set(name, before);
    this.digests.set(name, digest);
    const next = waiting.find((one) => one.before === digest);
    if (next === undefined) return;
    this.#waiting.set(
      name,
      waiting.filter((one) => one !== next),
    );
    this.#take(name, next.digest, next.before);
  }

  /** Whether this is the change that made the row which the first recorded change found. It happened before that one, and the log lists it later. */
  #isEarliest(name: string, digest: string | null, before: string | null): boolean {
    if (digest === null || this.#foundFirst.get(name) !== digest) return false;
    if (before === null) this.#foundFirst.delete(name);
    else this.#foundFirst.set(name, before);
    return true;
  }

  /** Rows with a change that found another row than the log had recorded: somebody had replaced the row before that change. */
  unexplained(): { table: string; row: string }[] {
    return [...this.#waiting]
      .filter(([name, waiting]) => !isRoundTrip(waiting) && !isRoundTrip([...waiting, this.#backToNothing(name)]))
      .map(([name]) => {
        const [table = '', ...key] = name.split(' ');
        return { table, row: key.join(' ') };
      });
  }

  #backToNothing(name: string) {
    return { digest: null, before: this.#foundFirst.get(name) ?? null };
  }

  #noteMissing(text: string): void {
    const fields = JSON.parse(text) as string[];
    if (fields[ACTOR_KIND_FIELD] !== 'system' || fields[ACTION_FIELD] !== TAMPERING_ACTION) return;
    const { missing } = JSON.parse(fields[DETAILS_FIELD] ?? '{}') as {
      missing?: { node: string; from: number; to: number }[];
    };
    for (const { node, from, to } of missing ?? []) this.missingSegments.push(`${node} ${from} to ${to}`);
  }
}

/** Changes that end where they began, such as a deletion and the restore of the same row, leave no gap wherever the log lists them. */
function isRoundTrip(changes: readonly { digest: string | null; before: string | null }[]): boolean {
  const balance = new Map<string | null, number>();
  for (const { digest, before } of changes) {
    balance.set(digest, (balance.get(digest) ?? 0) + 1);
    balance.set(before, (balance.get(before) ?? 0) - 1);
  }
  return [...balance.values()].every((count) => count === 0);
}

const ACTOR_KIND_FIELD = 2;
const ACTION_FIELD = 6;
const DETAILS_FIELD = 15;
const ROWS_FIELD = 16;

/** The rows of a change, from the last field of its entry. */
export function recordsIn(text: string): readonly RowRecord[] {
  // Most entries have none, and parsing them costs more than checking for the end of such a list.
  if (!text.endsWith(']]]')) return [];
  const fields = JSON.parse(text) as unknown[];
  return fields.length > ROWS_FIELD ? (fields[ROWS_FIELD] as RowRecord[]) : [];
}

export function actionIn(text: string): string {
  return String((JSON.parse(text) as unknown[])[ACTION_FIELD]);
}

export class RowFindings {
  checked = 0;
  count = 0;
  readonly problems: RowProblem[] = [];

  add(problem: RowProblem): void {
    this.count++;
    if (this.problems.length < PROBLEMS_HELD_MAX) this.problems.push(problem);
  }

  /** The first problems, for people. */
  get told(): RowProblem[] {
    return this.problems.slice(0, PROBLEMS_TOLD_MAX);
  }
}

/** Compares the existing rows with their MACs and, if the log is intact, with their last recorded states. */
export async function compareRows(
  db: Reader,
  tables: readonly AnyAuthenticatedTable[],
  tenantId: string,
  digests: DigestTable | null,
): Promise<RowFindings> {
  const findings = new RowFindings();
  const slice = TimeSlice.of(tenantId);
  for (const table of tables) {
    for await (const rows of table.walk(db, tenantId)) {
      for (const row of rows) {
        const pause = slice.pause();
        if (pause !== undefined) await pause;
        findings.checked++;
        const problem = await rowProblem(db, table, row, digests);
        if (problem !== null) findings.add({ table: table.name, row: table.keyText(row), problem });
      }
    }
  }
  return findings;
}

export async function rowProblem(
  db: Reader,
  table: AnyAuthenticatedTable,
  row: { tenant_id: string },
  digests: DigestTable | null,
): Promise<RowProblemKind | null> {
  const isRecorded = digests !== null && table.isRecorded && row.tenant_id !== SYSTEM_TENANT;
  const compared = isRecorded ? digests.compare(`${table.name} ${table.keyText(row)}`, table.digest(row)) : 'same';
  if (!(await table.isAuthentic(db, row))) return 'forged';
  if (compared === 'other') return 'rolled_back';
  if (compared === 'deleted') return 'resurrected';
  return compared === 'unknown' && table.isListedAtUpgrade ? 'unrecorded' : null;
}
