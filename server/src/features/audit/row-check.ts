import { walkChain } from '../../kernel/audit/chain-walk.ts';
import { isSignedByNode } from '../../kernel/audit/node-segments.ts';
import { textsOf } from '../../kernel/audit/segment.ts';
import {
  compareRows,
  PROBLEMS_TOLD_MAX,
  RowFindings,
  type RowHistory,
  type RowProblem,
  recordsIn,
  rowProblem,
} from '../../kernel/integrity/row-verification.ts';
import { MINUTE_MS } from '../../kernel/platform/clock.ts';
import { idAtTime } from '../../kernel/platform/ids.ts';
import { SYSTEM_TENANT, type Tables } from '../../kernel/storage/tables.ts';
import * as store from './store.ts';
import type { VerificationParts } from './verification.ts';

export interface VerifiedRows {
  checked: number;
  problems_count: number;
  problems: RowProblem[];
}

/** Maximum passes while rows keep changing. Each pass rereads only the rows that changed during the one before. */
const LOOKS_MAX = 20;

/** Longer than linking waits for a gap in a node's numbers, and longer than a node takes to link existing segments. */
const UNLINKED_MAX_MS = 3 * MINUTE_MS;

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
  if (history !== null) await settleFindings(parts, tenantId, head, history, findings);
  await addSegmentsWithoutPlace(parts, tenantId, findings);
  for (const row of history?.missingSegments ?? []) findings.add({ table: 'audit_segments', row, problem: 'missing' });
  if (tenantId === kernel.operatorTenantId) await addSystemRows(parts, findings);
  return { checked: findings.checked, problems_count: findings.count, problems: findings.problems };
}

/** Checks the rows whose changes were recorded in a part of the log, which `history` was collected from. */
export async function verifyRecordedRows(
  parts: VerificationParts,
  tenantId: string,
  head: Head,
  history: RowHistory,
  recorded: RecordedRows,
): Promise<VerifiedRows> {
  const findings = new RowFindings();
  findings.checked = recorded.size;
  for (const problem of await lookAgain(parts, tenantId, history, recorded)) findings.add(problem);
  await settleFindings(parts, tenantId, head, history, findings);
  for (const row of history.missingSegments) findings.add({ table: 'audit_segments', row, problem: 'missing' });
  await addSegmentsWithoutPlace(parts, tenantId, findings);
  return { checked: findings.checked, problems_count: findings.count, problems: findings.problems };
}

async function settleFindings(
  parts: VerificationParts,
  tenantId: string,
  head: Head | undefined,
  history: RowHistory,
  findings: RowFindings,
): Promise<void> {
  let open = findings.problems.splice(0);
  findings.count -= open.length;
  const settled: RowProblem[] = [];
  let known = head;
  for (let look = 0; look < LOOKS_MAX; look++) {
    const { newest, recorded } = await readOn(parts, tenantId, known, history);
    settled.push(...withoutRecorded(open, recorded));
    known = newest;
    if (recorded.size === 0) break;
    open = await lookAgain(parts, tenantId, history, recorded);
    // A row that changes without pause is reported as it was in the last pass.
    if (look === LOOKS_MAX - 1) settled.push(...open);
  }
  const { problems, newest, unlinked } = await explainedByUnlinked(parts, tenantId, known, history, settled);
  for (const problem of problems) findings.add(problem);
  for (const { table, row } of history.unexplained()) findings.add({ table, row, problem: 'replaced' });
  if (history.digests.missed > 0 && newest !== undefined) {
    await nameMissing(parts, newest, history, unlinked, findings);
  }
}

function withoutRecorded(problems: readonly RowProblem[], recorded: RecordedRows): RowProblem[] {
  return problems.filter(({ table, row }) => !recorded.has(`${table} ${row}`));
}

/**
 * A segment waits to be linked until all earlier ones of its node are committed, which takes a minute after a kill. Its entries are authentic all
 * the same, so what they record counts: otherwise a deletion by the service would look like tampering.
 */
async function explainedByUnlinked(
  parts: VerificationParts,
  tenantId: string,
  known: Head | undefined,
  history: RowHistory,
  problems: readonly RowProblem[],
): Promise<{ problems: readonly RowProblem[]; newest: Head | undefined; unlinked: readonly string[] }> {
  const { keyring, database } = parts.kernel;
  const waiting = await store.unlinkedSegments(database.read, tenantId);
  if (waiting.length === 0) return { problems, newest: known, unlinked: [] };
  // Segments that were linked in between are read from the chain.
  const { recorded, newest } = await readOn(parts, tenantId, known, history);
  const still = new Set((await store.unlinkedSegments(database.read, tenantId)).map(({ id }) => id));
  const unlinked: string[] = [];
  for (const row of waiting) {
    if (still.has(row.id) && (await isSignedByNode(keyring, row))) unlinked.push(...textsOf(row));
  }
  for (const text of unlinked) {
    for (const [table, key] of history.add(text)) recorded.set(`${table} ${key}`, [table, key]);
  }
  const left = [...withoutRecorded(problems, recorded), ...(await lookAgain(parts, tenantId, history, recorded))];
  return { problems: left, newest, unlinked };
}

/** Rows that log entries record, by table and key. */
export type RecordedRows = Map<string, readonly [table: string, key: string]>;

interface NewRecords {
  newest: Head | undefined;
  /** The rows that newer log entries record. */
  recorded: RecordedRows;
}

async function readOn(
  { kernel }: VerificationParts,
  tenantId: string,
  known: Head | undefined,
  history: RowHistory,
): Promise<NewRecords> {
  await kernel.audit.link();
  const { read } = kernel.database;
  const newest = await kernel.heads.row(read, tenantId);
  const recorded: RecordedRows = new Map();
  if (newest === undefined || known === undefined || newest.seq <= known.seq) return { newest: known, recorded };
  const visit = (_seq: number, _hash: string, text: string) => {
    for (const [table, key] of history.add(text)) recorded.set(`${table} ${key}`, [table, key]);
    return null;
  };
  const broken = await walkChain(read, kernel.heads, newest, visit, { from: known });
  return { newest: broken === null ? newest : known, recorded };
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
  head: Head,
  { digests }: RowHistory,
  unlinked: readonly string[],
  findings: RowFindings,
): Promise<void> {
  const named = new Set<string>();
  const nameIn = (text: string) => {
    for (const [table, key] of recordsIn(text)) {
      const name = `${table} ${key}`;
      if (named.has(name) || !digests.isMissed(name)) continue;
      named.add(name);
      findings.add({ table, row: key, problem: 'missing' });
    }
  };
  await walkChain(kernel.database.read, kernel.heads, head, (_seq, _hash, text) => {
    nameIn(text);
    return null;
  });
  for (const text of unlinked) nameIn(text);
}

/** Reports segments that no node wrote, that are outside the chain, or that have waited too long to be linked. */
async function addSegmentsWithoutPlace(
  { kernel }: VerificationParts,
  tenantId: string,
  findings: RowFindings,
): Promise<void> {
  const late = idAtTime('audit', kernel.clock.now() - UNLINKED_MAX_MS);
  for (const { id, first_seq, node_no } of await store.segmentsWithoutPlace(
    kernel.database.read,
    tenantId,
    PROBLEMS_TOLD_MAX,
  )) {
    if (first_seq !== null || node_no === null) findings.add({ table: 'audit_segments', row: id, problem: 'forged' });
    else if (id < late) findings.add({ table: 'audit_segments', row: id, problem: 'unlinked' });
  }
}

/** The installation's own rows belong to no tenant, so they are reported to the operator tenant. */
async function addSystemRows({ kernel }: VerificationParts, findings: RowFindings): Promise<void> {
  const own = await compareRows(kernel.database.read, kernel.authenticatedTables, SYSTEM_TENANT, null);
  findings.checked += own.checked;
  for (const problem of own.problems) findings.add(problem);
}
