import { DAY_MS } from '../../../kernel/base/clock.ts';
import { compareStamps, compareText } from './hybrid-clock.ts';
import {
  type CellKind,
  expiryOfRemoval,
  isSaidByEach,
  isSetKind,
  type Operation,
  parsedValue,
  stampOf,
  type UnsignedOperation,
} from './operation.ts';

/** Identifies a cell. Operations of the same cell compete; operations of different cells never do. */
export function cellId({ kind, key, tag, origin }: Pick<UnsignedOperation, 'kind' | 'key' | 'tag' | 'origin'>): string {
  return `${kind} ${key} ${isSaidByEach(kind) ? origin : tag}`;
}

/**
 * Compares two operations of one cell; the greater one is the state. This is a total order in which only an operation equals itself, so taking the
 * maximum is idempotent, commutative and associative, and regions that have seen the same operations have the same state.
 */
export function compareOperations<O extends UnsignedOperation>(a: O, b: O): number {
  return BY_MEANING[a.kind](a, b) || compareStamps(stampOf(a), stampOf(b)) || compareText(a.value, b.value);
}

type Compare = (a: UnsignedOperation, b: UnsignedOperation) => number;
const lastWriterWins: Compare = () => 0;

const BY_MEANING: { readonly [K in CellKind]: Compare } = {
  tenant: lastWriterWins,
  head: lastWriterWins,
  published: lastWriterWins,
  // A removal names the addition that it removes, so it wins whenever it was made.
  public_key: (a, b) => Number(a.isRemoved) - Number(b.isRemoved),
  // Anyone who has an id need not know it twice; the later expiry keeps it for as long as anyone needs it.
  revoked_token: (a, b) => expiryOf(a) - expiryOf(b),
  // The clock decides nothing here. The epoch is followed by the region's name, so two regions never write the same one.
  primary: (a, b) => epochOf(a) - epochOf(b) || compareText(a.origin, b.origin),
};

export function winner<O extends UnsignedOperation>(a: O | undefined, b: O): O {
  return a === undefined || compareOperations(a, b) < 0 ? b : a;
}

/**
 * Two regions that took the same epoch for a tenant. An epoch is taken only after enough regions have noted it, which prevents this with an odd
 * number of regions; with an even number, operators on both sides of a cut network can still cause it.
 */
export function isConflict(a: UnsignedOperation, b: UnsignedOperation): boolean {
  return a.kind === 'primary' && b.kind === 'primary' && epochOf(a) === epochOf(b) && a.origin !== b.origin;
}

export function epochOf(operation: UnsignedOperation): number {
  return parsedValue(operation as UnsignedOperation & { kind: 'primary' }).epoch;
}

/** What has expired is stored a little longer, because the clocks of regions differ. */
export const EXPIRED_RETENTION_MS = DAY_MS;

/** When a cell means nothing any more; null if it always does. */
export function expiryOfCell(operation: UnsignedOperation): number | null {
  if (operation.kind === 'revoked_token') return expiryOf(operation);
  if (operation.kind !== 'public_key') return null;
  if (operation.isRemoved) return expiryOfRemoval(operation.value);
  return parsedValue(operation as UnsignedOperation & { kind: 'public_key' }).verifies_until;
}

/** Whether this region has deleted a cell, or would at once. Regions that still have it must not bring it back. */
export function isForgotten(operation: UnsignedOperation, now: number): boolean {
  const expiry = expiryOfCell(operation);
  return expiry !== null && expiry + EXPIRED_RETENTION_MS <= now;
}

function expiryOf(operation: UnsignedOperation): number {
  return parsedValue(operation as UnsignedOperation & { kind: 'revoked_token' }).expires_at;
}

/** The elements of a set: those with an addition that nobody removed. */
export function isElement(operation: UnsignedOperation): boolean {
  return isSetKind(operation.kind) && !operation.isRemoved;
}

/** Whether an operation takes the place of the one that is there. */
export function isLess(held: Operation, operation: Operation): boolean {
  return winner(held, operation) === operation && held.signature !== operation.signature;
}

/** The tenants whose requests must be checked again: their primary region changed, or one of their tokens was revoked. */
export function tenantsAffected(operations: readonly Operation[]): string[] {
  const tenants = new Set<string>();
  for (const operation of operations) {
    if (operation.kind === 'primary') tenants.add(operation.key);
    if (operation.kind === 'revoked_token')
      tenants.add(parsedValue(operation as Operation & { kind: 'revoked_token' }).tenant_id);
  }
  return [...tenants].sort();
}
