import {
  type AuditEntry,
  type History,
  type Operation,
  type Replaced,
  shown,
  type Values,
  type Violation,
} from './history.ts';

export const TAMPERING_ACTION = 'audit:tampering';
const CONFLICT = 'VERSION_CONFLICT';
const CREATE_ACTION = 'secrets:create';
const UPDATE_ACTION = 'secrets:update';

/**
 * Everything in a history that a service must not do. A register has a version that each change raises by one, and each response names it. The
 * history of a register is therefore linearizable exactly if its operations, ordered by version, respect the order of real time.
 */
export function check(history: History): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (kind, text) => void violations.push({ kind, text });
  const byRegister = Map.groupBy(history.operations, ({ register }) => register);
  for (const [register, byPlace] of history.finals) {
    const [first = []] = [...byPlace.values()];
    checkFinals(register, byPlace, report);
    const operations = byRegister.get(register) ?? [];
    checkRegister(register, operations, first, report, history.replaced);
  }
  for (const register of byRegister.keys()) {
    if (!history.finals.has(register)) report('lost', `${register} is not there any more`);
  }
  checkAudit(history, report);
  checkAlarms(history, report);
  return violations;
}

type Report = (kind: Violation['kind'], text: string) => void;

/** Every place has the same versions, none of which is missing. */
function checkFinals(register: string, byPlace: ReadonlyMap<string, Values>, report: Report): void {
  const [first] = byPlace;
  for (const [place, values] of byPlace) {
    for (const [i, value] of values.entries()) {
      if (value === null) report('lost', `${register} version ${i + 1} cannot be read in ${place}`);
    }
    if (first !== undefined && values.join('\n') !== first[1].join('\n')) {
      report('reordered', `${register} is not the same in ${first[0]} and ${place}`);
    }
  }
}

function checkRegister(
  register: string,
  all: readonly Operation[],
  values: Values,
  report: Report,
  replaced: Replaced | undefined,
): void {
  const versions = versionsOf(register, values, report);
  const isAside = (operation: Operation) => replaced !== undefined && isReadOf(replaced, operation);
  const operations = all.filter((operation) => !isAside(operation));
  const writers = new Map<string, Operation>();
  for (const operation of operations) {
    if (operation.kind !== 'read' && operation.value !== null) writers.set(operation.value, operation);
    checkEffect(operation, values, versions, report);
  }
  if (replaced !== undefined) checkAside(all.filter(isAside), operations, writers, replaced, report);
  for (const [i, value] of values.entries()) {
    if (value !== null && !writers.has(value)) report('invented', `${register} version ${i + 1} was written by nobody`);
  }
  checkOrder(operations, versions, report);
  checkConflicts(operations, values, writers, report);
}

/** A read that a replaced region served from its own copy. */
function isReadOf({ place, since }: Replaced, { kind, outcome, returnedAt, exchanges }: Operation): boolean {
  return kind === 'read' && outcome === 'ok' && returnedAt >= since && exchanges.at(-1)?.place === place;
}

/** Its copy is no older than what was acknowledged before it was lost, and may have changes that were never acknowledged. */
function checkAside(
  reads: readonly Operation[],
  others: readonly Operation[],
  writers: ReadonlyMap<string, Operation>,
  { since }: Replaced,
  report: Report,
): void {
  const before = others.filter(({ outcome, returnedAt }) => outcome === 'ok' && returnedAt < since);
  const newest = Math.max(0, ...before.map(({ version }) => version ?? 0));
  for (const read of reads) {
    if (!writers.has(String(read.value))) report('invented', `${shown(read)}: nobody wrote what it returned`);
    if (Number(read.version) < newest) report('stale', `${shown(read)}: version ${newest} was acknowledged before`);
  }
}

function versionsOf(register: string, values: Values, report: Report): Map<string, number> {
  const versions = new Map<string, number>();
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    const earlier = versions.get(value);
    if (earlier === undefined) versions.set(value, i + 1);
    else report('duplicated', `${register} versions ${earlier} and ${i + 1} are the same write`);
  }
  return versions;
}

/** An acknowledged operation is there, under its version and once; one that failed is not. */
function checkEffect(operation: Operation, values: Values, versions: Map<string, number>, report: Report): void {
  const { kind, outcome, version, value, expected, exchanges } = operation;
  if (outcome === 'ok' && version !== null && values[version - 1] !== value) {
    report('lost', `${shown(operation)}: that version has another value, or does not exist`);
  }
  if (kind !== 'read' && outcome === 'failed' && value !== null && versions.has(value)) {
    report('invented', `${shown(operation)}: it took effect as version ${versions.get(value)}`);
  }
  if (kind === 'compare-and-set' && outcome === 'ok' && version !== Number(expected) + 1) {
    report('reordered', `${shown(operation)}: it required version ${expected}`);
  }
  const acknowledged = new Set(exchanges.flatMap((exchange) => exchange.version ?? []));
  if (acknowledged.size > 1) {
    report('duplicated', `${shown(operation)}: repeats of it were acknowledged as versions ${[...acknowledged]}`);
  }
}

/** A moment at which an operation began or ended that has, or may have, a version. */
interface Moment {
  at: number;
  isEnd: boolean;
  version: number;
  operation: Operation;
}

/**
 * What was acknowledged before an operation began limits it: a read returns no older version, and a change makes a newer one. A change whose outcome
 * is unknown began before it took effect too.
 */
function checkOrder(operations: readonly Operation[], versions: Map<string, number>, report: Report): void {
  const moments: Moment[] = [];
  for (const operation of operations) {
    const { kind, outcome, invokedAt, returnedAt, value } = operation;
    const applied = kind === 'read' || value === null ? null : (versions.get(value) ?? null);
    const version = outcome === 'ok' ? operation.version : applied;
    if (version === null) continue;
    moments.push({ at: invokedAt, isEnd: false, version, operation });
    if (outcome === 'ok') moments.push({ at: returnedAt, isEnd: true, version, operation });
  }
  // Of two at the same moment, neither is certainly before the other.
  moments.sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd));
  let newest: Moment | null = null;
  for (const moment of moments) {
    if (moment.isEnd) {
      if (newest === null || moment.version > newest.version) newest = moment;
      continue;
    }
    if (newest === null) continue;
    const { operation, version } = moment;
    const said = `${shown(operation)}: it began after this had returned: ${shown(newest.operation)}`;
    if (operation.kind === 'read' && version < newest.version) report('stale', said);
    if (operation.kind !== 'read' && version <= newest.version) report('reordered', said);
  }
}

/** A compare-and-set may be refused only if the register had another version at some moment of it. */
function checkConflicts(
  operations: readonly Operation[],
  values: Values,
  writers: ReadonlyMap<string, Operation>,
  report: Report,
): void {
  const reachedBefore = (version: number, at: number) =>
    operations.some((one) => one.outcome === 'ok' && one.version === version && one.returnedAt < at);
  for (const operation of operations) {
    const { kind, outcome, expected, invokedAt, returnedAt, exchanges } = operation;
    if (kind !== 'compare-and-set' || outcome !== 'failed' || expected === null) continue;
    if (exchanges.at(-1)?.code !== CONFLICT) continue;
    const next = writers.get(values[expected] ?? '');
    const isNextLater = next === undefined || next === operation || next.invokedAt > returnedAt;
    if (reachedBefore(expected, invokedAt) && isNextLater) {
      report('stale', `${shown(operation)}: it was refused although version ${expected} was the newest throughout`);
    }
  }
}

/** Each acknowledged request has exactly one entry, and each version exactly one entry of a change. */
function checkAudit({ operations, audit, finals, replaced }: History, report: Report): void {
  const allowed = audit.filter(({ decision }) => decision === 'allow');
  const byRequest = Map.groupBy(allowed, ({ requestId }) => requestId);
  for (const operation of operations) {
    for (const { requestId, version } of operation.exchanges) {
      if (version === null) continue;
      if (replaced !== undefined && isReadOf(replaced, operation) && replaced.recorded.has(requestId)) continue;
      const [entry, ...more] = byRequest.get(requestId) ?? [];
      if (entry === undefined) report('unaudited', `${shown(operation)}: no entry for ${requestId}`);
      if (entry?.seq === null) report('unaudited', `${shown(operation)}: ${requestId} was never linked`);
      if (more.length > 0) report('duplicated', `${shown(operation)}: ${more.length + 1} entries for ${requestId}`);
    }
  }
  checkSequence(audit, report);
  const changes = Map.groupBy(allowed.filter(isChange), ({ register }) => register);
  for (const [register, byPlace] of finals) {
    const [values = []] = [...byPlace.values()];
    const count = changes.get(register)?.length ?? 0;
    if (count < values.length) report('unaudited', `${register}: ${values.length} versions, ${count} entries`);
    if (count > values.length) report('duplicated', `${register}: ${values.length} versions, ${count} entries`);
  }
}

function isChange({ action, isReplay }: AuditEntry): boolean {
  return !isReplay && (action === CREATE_ACTION || action === UPDATE_ACTION);
}

function checkSequence(audit: readonly AuditEntry[], report: Report): void {
  const numbers = audit.flatMap(({ seq }) => seq ?? []).toSorted((a, b) => a - b);
  for (const [i, seq] of numbers.entries()) {
    const before = numbers[i - 1];
    if (before === undefined) continue;
    if (seq === before) report('duplicated', `two audit entries have the number ${seq}`);
    if (seq > before + 1) report('lost', `no audit entries between the numbers ${before} and ${seq}`);
  }
}

function checkAlarms({ audit, verifications }: History, report: Report): void {
  for (const { seq, action } of audit) {
    if (action === TAMPERING_ACTION) report('false alarm', `the entry ${seq} is ${TAMPERING_ACTION}`);
  }
  for (const { place, valid, text } of verifications) {
    if (!valid) report('false alarm', `${place} verified the audit log as not valid: ${text}`);
  }
}
