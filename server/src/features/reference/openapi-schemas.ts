import type { TSchema } from 'typebox';
import { nameOf } from '../../kernel/request/named-schemas.ts';

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
    return forGenerators(Object.fromEntries(Object.entries(node).map(([key, value]) => [key, this.#write(value)])));
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

/** Returns an equivalent schema from which generators produce usable types. */
function forGenerators(schema: Json): Json {
  const { patternProperties, properties, additionalProperties } = schema;
  const patterns = Object.entries(patternProperties ?? {});
  if (properties === undefined && patterns.length === 1)
    return asMap(schema, String(patterns[0]?.[0]), patterns[0]?.[1]);
  if (properties !== undefined && typeof additionalProperties === 'object') return withFurtherMembers(schema);
  return schema;
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

export function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}
