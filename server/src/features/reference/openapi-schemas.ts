import type { TSchema } from 'typebox';
import { nameOf } from '../../kernel/wire/named-schemas.ts';

export type Json = Record<string, unknown>;

/** The schemas of the OpenAPI document. Each named schema is written once and referenced wherever it is used. */
export class ComponentSchemas {
  readonly #sources = new Map<string, object>();
  readonly #written = new Map<string, Json>();

  of(schema: TSchema): Json {
    return this.#write(schema) as Json;
  }

  /** Returns the schema as a component, under this name if it has none of its own. */
  namedBy(name: string, description: string, schema: TSchema): Json {
    if (nameOf(schema) !== undefined) return this.of(schema);
    this.#add(name, schema, { description });
    return reference(name);
  }

  /** The components, sorted by name. */
  components(): Record<string, Json> {
    return Object.fromEntries([...this.#written].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #write(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((item) => this.#write(item));
    if (typeof node !== 'object' || node === null) return node;
    const named = nameOf(node);
    if (named === undefined) return this.#members(node);
    this.#add(named.name, named.schema, {});
    return { ...reference(named.name), ...this.#ownDescription(named.name, node as Json) };
  }

  #members(node: object): Json {
    const members = Object.entries(node).map(([key, value]) => [key, this.#write(value)]);
    return this.#withExclusiveMap(forGenerators(Object.fromEntries(members)));
  }

  /** The generator of Java knows maps among the members of `oneOf` only. What is no map has members that are no texts, so only one fits. */
  #withExclusiveMap(schema: Json): Json {
    const { anyOf, ...rest } = schema as { anyOf?: Json[] };
    if (anyOf === undefined || anyOf.filter(isNotNull).length < 2) return schema;
    return anyOf.some((member) => this.#isMap(member)) ? { ...rest, oneOf: anyOf } : schema;
  }

  #isMap({ $ref, ...inline }: Json): boolean {
    const { type, properties } =
      typeof $ref === 'string' ? (this.#written.get($ref.slice(REFERENCE.length)) ?? {}) : inline;
    return type === 'object' && properties === undefined;
  }

  #add(name: string, schema: object, defaults: Json): void {
    const known = this.#sources.get(name);
    if (known !== undefined && known !== schema) throw new Error(`two schemas are called ${name}`);
    if (known !== undefined) return;
    this.#sources.set(name, schema);
    this.#written.set(name, { ...defaults, ...this.#members(schema) });
  }

  /** A copy of a named schema may differ in its description only, because a generated client has one type for both. */
  #ownDescription(name: string, copy: Json): Json {
    const { description, ...rest } = this.#members(copy);
    const { description: usual, ...component } = this.#written.get(name) ?? {};
    if (JSON.stringify(rest) !== JSON.stringify(component)) throw new Error(`a copy of ${name} differs from it`);
    return description === usual ? {} : { description };
  }
}

/** Returns a schema, as narrow as they allow, from which generators produce usable types. */
function forGenerators(schema: Json): Json {
  if (schema['type'] === 'integer') return withWidth(schema);
  if (schema['type'] === 'boolean') return withoutConst(schema);
  if (schema['type'] === 'string' && schema['anyOf'] !== undefined) return withOneFormat(schema);
  const { patternProperties, properties, additionalProperties } = schema;
  const patterns = Object.entries(patternProperties ?? {});
  if (properties === undefined && patterns.length === 1)
    return asMap(schema, String(patterns[0]?.[0]), patterns[0]?.[1]);
  if (properties !== undefined && typeof additionalProperties === 'object') return withFurtherMembers(schema);
  return schema;
}

/** That of Rust makes an enumeration of texts of the only value. */
function withoutConst({ const: _, ...schema }: Json): Json {
  return schema;
}

/** That of Rust has no name for a type of several formats. The description says which others are accepted. */
function withOneFormat({ anyOf, ...schema }: Json): Json {
  const [first] = anyOf as Json[];
  return { ...schema, ...first };
}

const INT32 = 2 ** 31;

/** Generators for languages with fixed widths read 32 bits unless a format says otherwise, and a number of a secret needs 48. */
export function withWidth(schema: Json): Json {
  const { minimum = -Number.MAX_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema as Record<string, number>;
  return { ...schema, maximum, format: minimum >= -INT32 && maximum < INT32 ? 'int32' : 'int64' };
}

/**
 * Generators recognize a map by `additionalProperties`. Most of them turn `patternProperties`, which TypeBox writes for a record, into an empty
 * type.
 */
function asMap(schema: Json, keyPattern: string, value: unknown): Json {
  const { patternProperties: _, ...rest } = schema;
  const names = keyPattern === ANY_KEY ? {} : { propertyNames: { pattern: keyPattern } };
  return { ...rest, ...names, additionalProperties: value };
}
const ANY_KEY = '^.*$';

/**
 * An object with fixed members and any number of others. A TypeScript index signature applies to all keys, so the schema of the others goes into
 * `patternProperties`, which excludes the fixed members.
 */
function withFurtherMembers(schema: Json): Json {
  const own = Object.keys(schema['properties'] as object).join('|');
  const patternProperties = { [`^(?!(?:${own})$)`]: schema['additionalProperties'] };
  return { ...schema, patternProperties, additionalProperties: true };
}

const isNotNull = ({ type }: Json) => type !== 'null';
const REFERENCE = '#/components/schemas/';

export function reference(name: string): Json {
  return { $ref: `${REFERENCE}${name}` };
}
