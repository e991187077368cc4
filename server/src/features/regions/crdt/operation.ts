import { DAY_MS } from '../../../kernel/base/clock.ts';
import { REGION_NAME, VALUE_LENGTH_MAX } from '../schemas.ts';
import { AHEAD_MAX_MS, COUNTER_MAX, type Stamp } from './hybrid-clock.ts';

/** What each kind of cell holds. None of them is secret: names, numbers, public keys, and the ids of tokens. */
export interface CellValues {
  /** The name of a tenant, by the region that says it. */
  tenant: { name: string };
  /** A register with an epoch: the region that writes it is the tenant's primary region from then on. */
  primary: { epoch: number; previous: string | null };
  /** How far the audit log of a tenant had come in a region, by that region. */
  head: { seq: number; hash: string; at: number };
  /** By region: as of when the heads of all its tenants are published. */
  published: { at: number };
  /** An observed-remove set: the public keys that verify the tokens of a region. Only the region that added one removes it. */
  public_key: { issuer: string; jwk: string; verifies_until: number };
  /** A grow-only set for each region: tokens that were revoked before they expired. */
  revoked_token: { tenant_id: string; expires_at: number };
}
export type CellKind = keyof CellValues;

/** One write of one cell, signed by the region that made it. */
export interface Operation {
  readonly origin: string;
  /** Grows with each operation of its origin; it may skip numbers. */
  readonly seq: number;
  readonly ms: number;
  readonly counter: number;
  readonly kind: CellKind;
  readonly key: string;
  /** For a set: identifies one addition, so that a removal only removes what it has seen. Empty elsewhere. */
  readonly tag: string;
  readonly isRemoved: boolean;
  /** JSON: what the kind holds, or the end of a removal. */
  readonly value: string;
  /** Base64. */
  readonly signature: string;
}
export type UnsignedOperation = Omit<Operation, 'signature'>;

const KEY_FORM = /^[A-Za-z0-9_.:-]{1,128}$/;
const TAG_FORM = /^[a-z][a-z0-9-]{0,31}:\d{1,16}$/;
const HASH_FORM = /^[0-9a-f]{64}$/;
const EPOCH_MS = 1000;
const FORMAT = 'coffer-region-operation-v1';

export function stampOf({ ms, counter, origin }: UnsignedOperation): Stamp {
  return { ms, counter, region: origin };
}

/** The bytes that the origin signs. A JSON array of plain values has exactly one spelling. */
export function signedText(operation: UnsignedOperation): string {
  const { origin, seq, ms, counter, kind, key, tag, isRemoved, value } = operation;
  return JSON.stringify([FORMAT, origin, seq, ms, counter, kind, key, tag, isRemoved, value]);
}

export function parsedValue<K extends CellKind>(operation: UnsignedOperation & { kind: K }): CellValues[K] {
  return JSON.parse(operation.value) as CellValues[K];
}

const KINDS: { readonly [K in CellKind]: { isSet: boolean; isValid(value: Record<string, unknown>): boolean } } = {
  tenant: { isSet: false, isValid: ({ name }) => isText(name, 128) },
  primary: {
    isSet: false,
    isValid: ({ epoch, previous }) =>
      isWhole(epoch) && epoch > 0 && (previous === null || (isText(previous, 32) && REGION_NAME.test(previous))),
  },
  head: {
    isSet: false,
    isValid: ({ seq, hash, at }) => isWhole(seq) && isText(hash, 64) && HASH_FORM.test(hash) && isWhole(at),
  },
  published: { isSet: false, isValid: ({ at }) => isWhole(at) },
  public_key: {
    isSet: true,
    isValid: ({ issuer, jwk, verifies_until }) => isText(issuer, 256) && isText(jwk, 1024) && isWhole(verifies_until),
  },
  revoked_token: {
    isSet: false,
    isValid: ({ tenant_id, expires_at }) => isText(tenant_id, 128) && isWhole(expires_at),
  },
};
const FIELDS: { readonly [K in CellKind]: readonly string[] } = {
  tenant: ['name'],
  primary: ['epoch', 'previous'],
  head: ['seq', 'hash', 'at'],
  published: ['at'],
  public_key: ['issuer', 'jwk', 'verifies_until'],
  revoked_token: ['tenant_id', 'expires_at'],
};

/** Kinds of which every region has cells of its own, so that none replaces what another one said. */
const SAID_BY_EACH: ReadonlySet<CellKind> = new Set(['tenant', 'head', 'revoked_token']);

export function isSaidByEach(kind: CellKind): boolean {
  return SAID_BY_EACH.has(kind);
}

export function isSetKind(kind: CellKind): boolean {
  return KINDS[kind].isSet;
}

/** What is wrong with an operation that another region sent; null if nothing is. The signature is not checked here. */
export function malformation(operation: Operation): string | null {
  const { origin, seq, ms, counter, kind, key, tag, isRemoved, value } = operation;
  if (!REGION_NAME.test(origin)) return 'the origin is not the name of a region';
  if (!isWhole(seq) || seq === 0 || !isWhole(ms) || !isWhole(counter) || counter > COUNTER_MAX)
    return 'a number is out of range';
  if (!Object.hasOwn(KINDS, kind)) return 'the kind is unknown';
  if (!KEY_FORM.test(key)) return 'the key is malformed';
  if (KINDS[kind].isSet ? !TAG_FORM.test(tag) : tag !== '') return 'the tag is malformed';
  if (isRemoved && !KINDS[kind].isSet) return 'only an element of a set can be removed';
  if (isRemoved && !tag.startsWith(`${origin}:`)) return 'an element of a set is removed by the region that added it';
  if (isRemoved) return isValidRemoval(value) ? null : 'the value is malformed';
  if (KINDS[kind].isSet && tag !== tagOf(operation)) return 'the tag of an addition names another operation';
  if (!isValidValue(kind, value)) return 'the value is malformed';
  if (kind === 'published' && key !== origin) return 'a region publishes its own heads';
  if (kind === 'primary' && parsedValue(operation as Operation & { kind: 'primary' }).epoch > epochMax(ms))
    return 'the epoch is too high for its time';
  return null;
}

/**
 * The highest epoch at a time: one for each second. It is far more than any tenant needs, and every region that is not trusted any more leaves some
 * for the others, because its time is refused if it is too far ahead.
 */
export function epochMax(ms: number): number {
  return Math.floor(ms / EPOCH_MS);
}

/** What a region says ends at most so long after its time: a key verifies tokens for 13 months after it was published. */
const ENDS_AFTER_MAX_MS = 2 * 366 * DAY_MS;

/**
 * Whether an operation names a time that no region would. It counts for nothing anywhere, but is no reason to refuse what else a region passes on:
 * another one may have accepted it when times were not checked.
 */
export function isExcessive(operation: UnsignedOperation): boolean {
  const { ms, kind, isRemoved, value } = operation;
  if (isRemoved) return expiryOfRemoval(value) > ms + ENDS_AFTER_MAX_MS;
  const { at, expires_at, verifies_until } = JSON.parse(value) as Partial<Record<string, number>>;
  if (kind === 'head' || kind === 'published') return (at ?? 0) > ms + AHEAD_MAX_MS;
  return Math.max(expires_at ?? 0, verifies_until ?? 0) > ms + ENDS_AFTER_MAX_MS;
}

/** The tag of an addition to a set: no other operation has this origin and number. */
export function tagOf({ origin, seq }: Pick<Operation, 'origin' | 'seq'>): string {
  return `${origin}:${seq}`;
}

/** A value has exactly one spelling, so that equal states have equal digests. */
export function valueText<K extends CellKind>(kind: K, value: CellValues[K]): string {
  const fields = value as unknown as Record<string, unknown>;
  return JSON.stringify(Object.fromEntries(FIELDS[kind].map((field) => [field, fields[field]])));
}

/** A removal says when nobody needs to know of it any more, because what it removes means nothing from then on. */
export function removalText(expiresAt: number): string {
  return JSON.stringify({ expires_at: expiresAt });
}

export function expiryOfRemoval(text: string): number {
  return (JSON.parse(text) as { expires_at: number }).expires_at;
}

function isValidRemoval(text: string): boolean {
  const [, expiresAt] = /^\{"expires_at":(\d{1,16})\}$/.exec(text) ?? [];
  return expiresAt !== undefined && isWhole(Number(expiresAt)) && removalText(Number(expiresAt)) === text;
}

function isValidValue(kind: CellKind, text: string): boolean {
  if (text.length > VALUE_LENGTH_MAX) return false;
  try {
    const value = JSON.parse(text) as CellValues[CellKind];
    if (typeof value !== 'object' || value === null) return false;
    return valueText(kind, value as never) === text && KINDS[kind].isValid(value as unknown as Record<string, unknown>);
  } catch {
    return false;
  }
}

function isText(value: unknown, lengthMax: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= lengthMax;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
