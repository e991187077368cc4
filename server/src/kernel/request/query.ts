import type { FieldProblem } from '../base/errors.ts';

export const MAX_QUERY_PAIRS = 64;

/** The query string cannot be parsed. The message never repeats it, because it may contain a misplaced credential. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

/** The part of an object schema that `coerceQuery` reads; a TypeBox `TObject` fits. */
export interface QuerySchema {
  readonly properties: Readonly<Record<string, object>>;
  /** True: parameters that are not declared are ignored, for addresses that others send people to. */
  readonly additionalProperties?: unknown;
}

export interface CoercedQuery {
  value: Record<string, unknown>;
  problems: FieldProblem[];
}

type Kind = 'string' | 'integer' | 'boolean' | 'array';

// Fifteen digits stay below 2^53, and with one spelling per number, equal queries have equal cache and idempotency keys.
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);
const SAFE_KEY = /^[A-Za-z0-9_.-]{1,64}$/;
// Node decodes bytes above 0x7f as Latin-1, so they are not the text that the client meant.
const RAW_QUERY = /^[!-~]*$/;

/** Parses the part after `?`. An empty value counts as absent, and so does a key without `=`. */
export function parseQuery(rawUrl: string): Map<string, string[]> {
  const pairs = new Map<string, string[]>();
  const mark = rawUrl.indexOf('?');
  if (mark === -1 || mark === rawUrl.length - 1) return pairs;
  const raw = rawUrl.slice(mark + 1);
  if (!RAW_QUERY.test(raw) || raw.includes('#')) throw new QueryError('The query string must be percent-encoded.');
  const pieces = raw.split('&', MAX_QUERY_PAIRS + 1);
  if (pieces.length > MAX_QUERY_PAIRS) {
    throw new QueryError(`The query string has more than ${MAX_QUERY_PAIRS} parameters.`);
  }
  for (const piece of pieces) addPair(pairs, piece);
  return pairs;
}

/** Converts text into the declared types. The schema decides afterwards whether a value is allowed. */
export function coerceQuery(schema: QuerySchema, pairs: ReadonlyMap<string, readonly string[]>): CoercedQuery {
  const value: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  for (const [key, texts] of pairs) {
    const declared = Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
    if (declared === undefined && schema.additionalProperties === true) continue;
    const result = declared === undefined ? { reason: 'unknown parameter' } : coerce(kindOf(declared), texts);
    if (result === null) continue;
    if ('reason' in result) problems.push({ pointer: pointerTo(key), reason: result.reason });
    // A plain assignment would set the prototype if a schema ever declared `__proto__`.
    else Object.defineProperty(value, key, { ...OWN, value: result.value });
  }
  return { value, problems };
}

const OWN = { enumerable: true, writable: true, configurable: true };

function addPair(pairs: Map<string, string[]>, piece: string): void {
  const equals = piece.indexOf('=');
  const key = decode(equals === -1 ? piece : piece.slice(0, equals));
  const text = equals === -1 ? '' : decode(piece.slice(equals + 1));
  if (text === '') return;
  const present = pairs.get(key);
  if (present === undefined) pairs.set(key, [text]);
  else present.push(text);
}

function decode(raw: string): string {
  let text: string;
  try {
    text = decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    throw new QueryError('The query string must be percent-encoded UTF-8.');
  }
  if (text.includes('\0')) throw new QueryError('The query string must not contain NUL.');
  return text;
}

function kindOf(declared: object): Kind {
  const type = 'type' in declared ? declared.type : 'string';
  if (type === 'string' || type === 'integer' || type === 'boolean') return type;
  if (type === 'array' && 'items' in declared && kindOf(Object(declared.items)) === 'string') return type;
  throw new TypeError('a query parameter is declared as a type that a query string cannot carry');
}

/** Null if the value consists only of separators, which counts as absent like any empty value. */
type Coerced = { value: unknown } | { reason: string } | null;

function coerce(kind: Kind, texts: readonly string[]): Coerced {
  if (kind === 'array') {
    const items = texts.flatMap((text) => text.split(',')).filter((item) => item !== '');
    return items.length === 0 ? null : { value: items };
  }
  const [text, ...more] = texts;
  if (text === undefined || more.length > 0) return { reason: 'must be given once' };
  if (kind === 'string') return { value: text };
  if (kind === 'integer') return INTEGER.test(text) ? { value: Number(text) } : { reason: 'must be a whole number' };
  const flag = BOOLEANS.get(text);
  return flag === undefined ? { reason: 'must be true or false' } : { value: flag };
}

// A key that is not a plain word is not repeated in the response, because it could be anything, including a pasted secret.
function pointerTo(key: string): string {
  return SAFE_KEY.test(key) ? `/query/${key}` : '/query';
}
