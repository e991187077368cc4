import { CofferError, unavailable } from '../../base/errors.ts';
import { type FailureKind, Overtaken, UniqueViolation, type Work } from '../database.ts';
import type { Executed } from '../dialect.ts';
import { classifySqliteError } from '../sqlite-errors.ts';

/** What a process sends to the one that writes. `tx` and `request` are numbers that the sender chooses. */
export type ToWriter =
  /** Opens a transaction, which waits for its turn. Statements may follow at once. `tenantId` is null for work of the service itself. */
  | { type: 'begin'; tx: number; tenantId: string | null; work: Work }
  | { type: 'execute'; tx: number; request: number; sql: string; parameters: readonly unknown[] }
  /** Calls a function inside the transaction. */
  | { type: 'call-inside'; tx: number; request: number; name: string; argument: unknown }
  | { type: 'commit'; tx: number }
  | { type: 'rollback'; tx: number }
  | { type: 'call'; request: number; name: string; argument: unknown };

export type FromWriter =
  | { type: 'result'; request: number; result: Executed | unknown }
  | { type: 'failure'; request: number; failure: Failure }
  /** The transaction is committed durably, or rolled back because of the failure. */
  | { type: 'ended'; tx: number; failure: Failure | null }
  /** The writing process is about to end. */
  | { type: 'ending' };

/** An error as it is sent from one process to the other. */
export interface Failure {
  kind: FailureKind;
  message: string;
}

export function failureOf(error: unknown): Failure {
  return { kind: kindOf(error), message: error instanceof Error ? error.message : String(error) };
}

function kindOf(error: unknown): FailureKind {
  if (error instanceof UniqueViolation) return 'unique';
  if (error instanceof Overtaken) return 'retry';
  if (error instanceof CofferError && error.code === 'UNAVAILABLE') return 'unavailable';
  return classifySqliteError(error);
}

/** The error as it would have been thrown in this process. */
export function errorOf({ kind, message }: Failure): Error {
  if (kind === 'unique') return new UniqueViolation(message);
  if (kind === 'retry') return new Overtaken(message);
  if (kind === 'unavailable') {
    return unavailable('The database is unavailable now: try again shortly.', new Error(message));
  }
  return new Error(message);
}
