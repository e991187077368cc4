import { walkChain } from '../../../kernel/audit/chain/chain-walk.ts';
import { textsOf } from '../../../kernel/audit/chain/segment.ts';
import { isSignedByNode, isTombstone, type Unlinked } from '../../../kernel/audit/postgres/node-segments.ts';
import {
  compareRows,
  PROBLEMS_TOLD_MAX,
  RowFindings,
  type RowHistory,
  type RowProblem,
  recordsIn,
  rowProblem,
} from '../../../kernel/integrity/row-verification.ts';
import { SYSTEM_TENANT, type Tables } from '../../../kernel/storage/tables.ts';
import * as store from '../store.ts';
import type { VerificationParts } from './verification.ts';

export interface VerifiedRows {
  checked: number;
  problems_count: number;
  problems: RowProblem[];
}

/** Maximum passes while rows keep changing. Each pass rereads only the rows that changed during the one before. */
const LOOKS_MAX = 20;

const TOMBSTONES_AT_ONCE = 500;

type Head = Tables['audit_heads'];

/**
 * Checks the rows of a tenant against their MACs and the audit log. The service keeps changing rows meanwhile, so a mismatch is a problem only if the
 * newest log entries record no change of that row.
 */
export async function verifyRows(
  parts: VerificationParts,
  tenantId: string,
  head: Head | undefined,
  history: RowHistory | null,
): Promise<VerifiedRows> {
  const { kernel } = parts;
  const findings = await compareRows(
    kernel.database.read,
    kernel.authenticatedTables,
    tenantId,
    history?.digests ?? null,
  );
  if (history !== null) await settleFindings(parts, { tenantId, head }, history, findings);
  await addSegmentsWithoutPlace(parts, tenantId, findings);
  for (const row of history?.missingSegments ?? []) findings.add({ table: 'audit_segments', row, problem: 'missing' });
  if (tenantId === kernel.operatorTenantId) await addSystemRows(parts, findings);
  return { checked: findings.checked, problems_count: findings.count, problems: findings.told };
}

/** Checks the rows whose changes were recorded in a part of the log, which `history` was collected from. */
export async function verifyRecordedRows(
  parts: VerificationParts,
  { tenantId, head }: { tenantId: string; head: Head },
  history: RowHistory,
  recorded: RecordedRows,
): Promise<VerifiedRows> {
  const findings = new RowFindings();
  findings.checked = recorded.size;
  for (const problem of await lookAgain(parts, tenantId, history, recorded)) findings.add(problem);
  await settleFindings(parts, { tenantId, head }, history, findings);
  for (const row of history.missingSegments) findings.add({ table: 'audit_segments', row, problem: 'missing' });
  await addSegmentsWithoutPlace(parts, tenantId, findings);
  return { checked: findings.checked, problems_count: findings.count, problems: findings.told };
}

/**
 * Looks again at each row that the log records anew, until it records nothing more. A mismatch that no newer entry explains is a problem. Rows that
 * still change at the last pass are left to the next verification, except for a change that found another row than the log had recorded.
 */
async function settleFindings(
  parts: VerificationParts,
  { tenantId, head }: { tenantId: string; head: Head | undefined },
  history: RowHistory,
  findings: RowFindings,
): Promise<void> {
  const newer = new NewerRecords(parts, tenantId, head, history);
  let open = findings.problems.splice(0);
  findings.count -= open.length;
  const settled: RowProblem[] = [];
  let changing: RecordedRows = new Map();
  for (let look = 0; look < LOOKS_MAX; look++) {
    const recorded = await newer.read();
    settled.push(...open.filter(({ table, row }) => !recorded.has(`${table} ${row}`)));
    changing = recorded;
    if (recorded.size === 0) break;
    open = await lookAgain(parts, tenantId, history, recorded);
  }
  // The row of a change is authentic at any moment, however often it changes.
  if (changing.size > 0) settled.push(...open.filter(({ problem }) => problem === 'forged'));
  for (const problem of settled) findings.add(problem);
  for (const { table, row } of history.unexplained()) {
    if (!changing.has(`${table} ${row}`)) findings.add({ table, row, problem: 'replaced' });
  }
  if (history.digests.missed > 0) await nameMissing(parts, newer, { history, changing }, findings);
}

/** Rows that log entries record, by table and key. */
export type RecordedRows = Map<string, readonly [table: string, key: string]>;

/** Reads what the log records while rows are compared with it. */
class NewerRecords {
  readonly #parts: VerificationParts;
  readonly #tenantId: string;
  readonly #history: RowHistory;
  /** How far the chain was read. */
  head: Head | undefined;
  /** Entries that were read before they were linked. */
  readonly unlinked = new Set<string>();

  constructor(parts: VerificationParts, tenantId: string, head: Head | undefined, history: RowHistory) {
    this.#parts = parts;
    this.#tenantId = tenantId;
    this.#history = history;
    this.head = head;
  }

  /**
   * The rows that entries record which were not read before. A segment waits to be linked until all earlier ones of its node are committed, which
   * takes a minute after a kill. Its entries are authentic all the same, so what they record counts: otherwise a change by the service would look
   * like tampering. The waiting segments are loaded before the chain, because they may be linked meanwhile: each is then found in one of the two.
   */
  async read(): Promise<RecordedRows> {
    const { keyring, database } = this.#parts.kernel;
    const waiting = await store.unlinkedSegments(database.read, this.#tenantId);
    const { recorded, texts } = await this.#readChain();
    for (const segment of waiting) {
      if (!(await isSignedByNode(keyring, segment))) continue;
      for (const text of textsOf(segment)) {
        if (texts.has(text) || this.unlinked.has(text)) continue;
        this.unlinked.add(text);
        this.#take(text, recorded);
      }
    }
    return recorded;
  }

  async #readChain(): Promise<{ recorded: RecordedRows; texts: ReadonlySet<string> }> {
    const { kernel } = this.#parts;
    await kernel.audit.link();
    const newest = await kernel.heads.row(kernel.database.read, this.#tenantId);
    const recorded: RecordedRows = new Map();
    const texts = new Set<string>();
    if (newest === undefined || this.head === undefined || newest.seq <= this.head.seq) return { recorded, texts };
    const visit = (_seq: number, _hash: string, text: string) => {
      texts.add(text);
      if (!this.unlinked.has(text)) this.#take(text, recorded);
      return null;
    };
    const broken = await walkChain(kernel.database.read, { heads: kernel.heads, head: newest }, visit, {
      from: this.head,
    });
    if (broken === null) this.head = newest;
    return { recorded, texts };
  }

  #take(text: string, recorded: RecordedRows): void {
    for (const [table, key] of this.#history.add(text)) recorded.set(`${table} ${key}`, [table, key]);
  }
}

async function lookAgain(
  { kernel }: VerificationParts,
  tenantId: string,
  { digests }: RowHistory,
  recorded: RecordedRows,
): Promise<RowProblem[]> {
  const { read } = kernel.database;
  const open: RowProblem[] = [];
  for (const [name, key] of recorded.values()) {
    const table = kernel.authenticatedTables.find((candidate) => candidate.name === name);
    const row = await table?.find(read, tenantId, key);
    const problem = table === undefined || row === undefined ? null : await rowProblem(read, table, row, digests);
    if (problem !== null) open.push({ table: name, row: key, problem });
  }
  return open;
}

/** Walks the log once more to find the names of rows that it records and that no longer exist. */
async function nameMissing(
  { kernel }: VerificationParts,
  { head, unlinked }: NewerRecords,
  { history: { digests }, changing }: { history: RowHistory; changing: RecordedRows },
  findings: RowFindings,
): Promise<void> {
  if (head === undefined) return;
  const named = new Set<string>(changing.keys());
  const nameIn = (text: string) => {
    for (const [table, key] of recordsIn(text)) {
      const name = `${table} ${key}`;
      if (named.has(name) || !digests.isMissed(name)) continue;
      named.add(name);
      findings.add({ table, row: key, problem: 'missing' });
    }
  };
  await walkChain(kernel.database.read, { heads: kernel.heads, head }, (_seq, _hash, text) => {
    nameIn(text);
    return null;
  });
  for (const text of unlinked) nameIn(text);
}

/** Reports segments that no node wrote, that are outside the chain, or that cannot be linked. */
async function addSegmentsWithoutPlace(
  { kernel }: VerificationParts,
  tenantId: string,
  findings: RowFindings,
): Promise<void> {
  const { read } = kernel.database;
  const add = (row: string, problem: RowProblem['problem']) => findings.add({ table: 'audit_segments', row, problem });
  const waiting = await kernel.audit.linkAll(tenantId);
  const found = await store.segmentsWithoutPlace(read, tenantId, waiting, PROBLEMS_TOLD_MAX);
  const isForged = ({ first_seq, node_no }: (typeof found)[number]) => first_seq !== null || node_no === null;
  for (const { id } of found.filter(isForged)) add(id, 'forged');
  const unlinked = found.filter((segment) => !isForged(segment)).map(({ id }) => id);
  if (unlinked.length > 0) {
    // Segments may have been inserted since, and are linked now. What remains although nothing is waited for is not linked at all.
    const waitingNow = await kernel.audit.linkAll(tenantId);
    for (const { id, node_id } of await store.unlinkedOf(read, tenantId, unlinked))
      if (!waitingNow.has(node_id ?? '')) add(id, 'unlinked');
  }
  await addForgedTombstones(kernel, tenantId, add);
}

async function addForgedTombstones(
  { database, keyring }: VerificationParts['kernel'],
  tenantId: string,
  add: (row: string, problem: RowProblem['problem']) => void,
): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const rows: Unlinked[] = await store.passedTombstones(database.read, tenantId, after, TOMBSTONES_AT_ONCE);
    for (const row of rows) if (!isTombstone(row) || !(await isSignedByNode(keyring, row))) add(row.id, 'forged');
    after = rows.length < TOMBSTONES_AT_ONCE ? null : (rows.at(-1)?.id ?? null);
  }
}

/** The installation's own rows belong to no tenant, so they are reported to the operator tenant. */
async function addSystemRows({ kernel }: VerificationParts, findings: RowFindings): Promise<void> {
  const own = await compareRows(kernel.database.read, kernel.authenticatedTables, SYSTEM_TENANT, null);
  findings.checked += own.checked;
  for (const problem of own.problems) findings.add(problem);
}
