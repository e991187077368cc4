/** What clients saw of registers, which are secrets with versions. */

export type Outcome = 'ok' | 'failed' | 'unknown';

/** One request of an operation; one with an idempotency key is repeated under it, on any node. */
export interface Exchange {
  place: string;
  /** 0 if there was no response. */
  status: number;
  code: string;
  requestId: string;
  /** The version in a response of success. */
  version: number | null;
}

export interface Operation {
  id: number;
  client: number;
  register: string;
  kind: 'read' | 'write' | 'compare-and-set';
  /** By `performance.now()`. An operation is over at its first response of success. */
  invokedAt: number;
  returnedAt: number;
  /** `failed`: it certainly changed nothing. `unknown`: it may have, or still may. */
  outcome: Outcome;
  version: number | null;
  /** The value written, or read. Each operation writes a value of its own. */
  value: string | null;
  /** The version that a compare-and-set requires. */
  expected: number | null;
  exchanges: readonly Exchange[];
}

export interface AuditEntry {
  /** Null until the entry is linked into the chain. */
  seq: number | null;
  requestId: string;
  action: string;
  decision: string;
  /** The register, if the entry is about one. */
  register: string | null;
  isReplay: boolean;
}

/** What a place said when the audit log was verified. */
export interface Verification {
  place: string;
  valid: boolean;
  text: string;
}

/** The values of a register in the end, the first version first. A version that cannot be read is null. */
export type Values = readonly (string | null)[];

/**
 * A region that was replaced while it could not be reached. Until it hears of that it serves reads from its own copy, and records them in its own
 * log. It acknowledges no changes.
 */
export interface Replaced {
  place: string;
  /** When it was lost, by `performance.now()`. */
  since: number;
  /** The requests in its own log. */
  recorded: ReadonlySet<string>;
}

export interface History {
  operations: readonly Operation[];
  replaced?: Replaced | undefined;
  /** By register, for each place that was read in the end. */
  finals: ReadonlyMap<string, ReadonlyMap<string, Values>>;
  audit: readonly AuditEntry[];
  verifications: readonly Verification[];
}

export const VIOLATIONS = ['lost', 'stale', 'duplicated', 'reordered', 'invented', 'unaudited', 'false alarm'] as const;

export interface Violation {
  kind: (typeof VIOLATIONS)[number];
  text: string;
}

export function shown({ id, client, kind, register, version, outcome, exchanges }: Operation): string {
  const what = kind === 'read' ? 'read' : `${kind} of client ${client}`;
  const sent = exchanges.map(({ place, status, code }) => `${place}: ${status} ${code}`.trim()).join(', ');
  return `operation ${id}, a ${what}, ${register}${version === null ? '' : ` version ${version}`}, ${outcome} (${sent})`;
}
