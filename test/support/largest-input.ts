import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { type EndpointDeclaration, NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import type { Input } from './endpoint-inputs.ts';

/** The parts of a JSON schema that bound how large a value may be. */
interface Bounds {
  type?: string;
  anyOf?: TSchema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  maxLength?: number;
  maximum?: number;
  maxItems?: number;
  items?: TSchema;
  maxProperties?: number;
  properties?: Record<string, TSchema>;
  patternProperties?: Record<string, TSchema>;
  additionalProperties?: TSchema | boolean;
}

export interface Growth {
  /** Optional fields that the sample does not have are added. */
  isEveryField?: boolean;
  /** What free text is filled with. A control character takes six bytes in JSON. */
  filler?: string;
}

/** Members of a list or a map for which the schema gives no number: the size of the body is their limit. */
const MEMBERS_MAX = 1000;
/** What is tried until the body fits, the largest first. */
const MEMBERS = [Number.POSITIVE_INFINITY, 1000, 300, 100, 30, 10, 3, 1];
const CHARS = [2 ** 21, 2 ** 20, 2 ** 18, 2 ** 16, 2 ** 14, 2 ** 12, 2 ** 10, 2 ** 8, 2 ** 6, 2 ** 4];
/** Halvings of the difference between two of these. */
const SEARCH_STEPS = 4;
/** Of what a pattern describes, when made up. */
const PATTERNED_CHARS = 32;
/** Segments of a path are shorter than this. */
const SEGMENT_CHARS = 31;

class TooLarge extends Error {}

/** What was found for a schema: inputs of an endpoint differ little. */
const sizes = new WeakMap<TSchema, Map<string, Size>>();
const patterns = new Map<string, RegExp>();

/** The same input with all that the schemas do not fix as large as it may be. The query has no limit but that of each field. */
export function largestInput({ query, body, bodyBytesMax }: EndpointDeclaration, input: Input, growth: Growth): Input {
  const grown: Input = { ...input };
  if (query !== NONE) {
    const largest = new Grower(growth, Number.POSITIVE_INFINITY, { chars: 1024, members: 1 }).grow(
      query,
      input.query ?? {},
    );
    const texts = Object.entries(largest as Record<string, unknown>).filter(([, value]) => typeof value !== 'object');
    grown.query = Object.fromEntries(texts.map(([name, value]) => [name, String(value)]));
  }
  if (body !== NONE && (input.body !== undefined || growth.isEveryField)) {
    grown.body = largestBody(body, input.body ?? {}, bodyBytesMax, growth);
  }
  return grown;
}

/** With as many members as there may be, and then the longest texts with which the body fits. */
export function largestBody(schema: TSchema, sample: unknown, bytesMax: number, growth: Growth = {}): unknown {
  const build = (size: Size) => fitting(schema, sample, bytesMax, growth, size);
  const key = JSON.stringify(growth);
  const known = sizes.get(schema)?.get(key);
  const again = known && build(known);
  if (again !== undefined) return again;
  const [shortest = 0] = CHARS.slice(-1);
  const members = MEMBERS.find((count) => build({ members: count, chars: shortest }) !== undefined) ?? 1;
  const at = CHARS.findIndex((chars) => build({ members, chars }) !== undefined);
  if (at === -1) return sample;
  let [fits, tooLong] = [CHARS[at] ?? 0, CHARS[at - 1] ?? 0];
  for (let step = 0; step < SEARCH_STEPS && tooLong > fits; step++) {
    const chars = Math.floor((fits + tooLong) / 2);
    if (build({ members, chars }) === undefined) tooLong = chars;
    else fits = chars;
  }
  sizes.set(schema, (sizes.get(schema) ?? new Map()).set(key, { members, chars: fits }));
  return build({ members, chars: fits });
}

interface Size {
  members: number;
  chars: number;
}

function fitting(schema: TSchema, sample: unknown, bytesMax: number, growth: Growth, size: Size): unknown {
  try {
    const body = new Grower(growth, bytesMax, size).grow(schema, sample);
    return Buffer.byteLength(JSON.stringify(body)) <= bytesMax ? body : undefined;
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw error;
  }
}

class Grower {
  readonly #growth: Growth;
  readonly #chars: number;
  readonly #members: number;
  #left: number;
  /** Numbers what must be distinct. */
  #count = 0;

  constructor(growth: Growth, bytes: number, { chars, members }: Size) {
    this.#growth = growth;
    this.#left = bytes;
    this.#chars = chars;
    this.#members = members;
  }

  /** Undefined if the schema is one for which nothing can be made up. */
  grow(schema: TSchema, sample: unknown, isDistinct = false): unknown {
    const bounds = schema as unknown as Bounds;
    if (bounds.anyOf !== undefined) return this.grow(alternative(bounds.anyOf, sample), sample, isDistinct);
    if (bounds.const !== undefined) return bounds.const;
    if (bounds.enum !== undefined) return sample ?? bounds.enum.at(-1);
    switch (bounds.type) {
      case 'string':
        return this.#spend(this.#text(bounds, sample as string | undefined, isDistinct));
      case 'integer':
      case 'number':
        return this.#spend(sample ?? bounds.maximum);
      case 'boolean':
        return this.#spend(sample ?? true);
      case 'array':
        return this.#list(bounds, (sample as unknown[] | undefined) ?? []);
      case 'object':
        return this.#object(bounds, (sample as Record<string, unknown> | undefined) ?? {}, isDistinct);
      default:
        return this.#spend(sample);
    }
  }

  #spend<T>(value: T): T {
    this.#left -= typeof value === 'string' ? value.length : 4;
    if (this.#left < 0) throw new TooLarge();
    return value;
  }

  #text(bounds: Bounds, sample: string | undefined, isDistinct: boolean): string | undefined {
    const { pattern, format, maxLength = this.#chars } = bounds;
    const number = isDistinct ? (this.#count++).toString(36) : '';
    if (format !== undefined) return sample;
    const length = Math.min(maxLength, Math.max(this.#chars, number.length + 1));
    if (pattern === undefined || isFreeText(pattern)) {
      const filler = pattern === undefined ? (this.#growth.filler ?? 'a') : 'a';
      return number + extended(sample ?? '', length - number.length, filler);
    }
    const fits = (text: string) => text.length <= maxLength && regex(pattern).test(text);
    // Distinct names of the same length, by other digits or letters at the end.
    if (isDistinct && sample !== undefined) {
      const distinct = [
        sample.slice(0, Math.max(1, sample.length - number.length)) + number,
        sample + number,
        `a${number}`,
      ];
      const found = distinct.find(fits);
      if (found !== undefined) return found;
    }
    if (sample !== undefined) return sample;
    const short = Math.min(length, PATTERNED_CHARS);
    const made = ['a', '0', 'A', 'development', '00:00'].map((text) => (text.length > 1 ? text : text.repeat(short)));
    return [...made, `a${number}`].find(fits);
  }

  #list({ items, maxItems = MEMBERS_MAX }: Bounds, sample: unknown[]): unknown[] | undefined {
    if (items === undefined) return this.#spend(sample);
    const count = Math.max(1, Math.floor(Math.min(maxItems, this.#members)));
    const list: unknown[] = [];
    for (let no = 0; no < count; no++) {
      const item = this.grow(items, sample[no % Math.max(1, sample.length)], no >= sample.length);
      if (item === undefined) break;
      list.push(item);
    }
    const distinct = [...new Map(list.map((item) => [JSON.stringify(item), item])).values()];
    return distinct.length === 0 ? undefined : distinct;
  }

  #object(bounds: Bounds, sample: Record<string, unknown>, isDistinct: boolean): Record<string, unknown> {
    const { properties = {}, patternProperties, additionalProperties, maxProperties = MEMBERS_MAX } = bounds;
    const grown: Record<string, unknown> = { ...sample };
    for (const [name, schema] of Object.entries(properties)) {
      if (sample[name] === undefined && this.#growth.isEveryField !== true) continue;
      const value = this.grow(schema, sample[name], isDistinct);
      if (value !== undefined) grown[name] = value;
    }
    const [entry] = Object.values(patternProperties ?? {});
    const schema = entry ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    const [[key, value] = ['key', undefined]] = Object.entries(sample);
    if (schema === undefined) return grown;
    const count = Math.floor(Math.min(maxProperties, this.#members)) - Object.keys(grown).length;
    for (let no = 0; no < count; no++) {
      const made = this.grow(schema, value);
      if (made === undefined) break;
      grown[this.#spend(`${key}${no.toString(36)}`)] = made;
    }
    return grown;
  }
}

function alternative(schemas: readonly TSchema[], sample: unknown): TSchema {
  const fitting = schemas.filter((schema) => sample !== undefined && Check(schema, sample));
  const [made] = schemas.filter((schema) => (schema as unknown as Bounds).type !== 'null');
  return fitting[0] ?? made ?? (schemas[0] as TSchema);
}

function regex(pattern: string): RegExp {
  const compiled = patterns.get(pattern) ?? new RegExp(pattern, 'u');
  patterns.set(pattern, compiled);
  return compiled;
}

/** Whether a pattern only excludes characters that nobody needs. */
function isFreeText(pattern: string): boolean {
  return pattern.startsWith('^[^');
}

/** A path is continued by segments, so that it stays one. */
function extended(text: string, length: number, filler: string): string {
  const missing = length - text.length;
  if (missing <= 0) return text;
  if (!text.includes('/')) return text + filler.repeat(missing);
  return (text + `/${'a'.repeat(SEGMENT_CHARS)}`.repeat(Math.ceil(missing / (SEGMENT_CHARS + 1)))).slice(0, length);
}
