import type { TSchema } from 'typebox';

/** A symbol: no serialized schema has it, and TypeBox and spread syntax copy it. */
const NAME = Symbol('name of a schema');

export interface SchemaName {
  readonly name: string;
  /** The schema as it was named: a copy may describe what it means in one place. */
  readonly schema: TSchema;
}

/**
 * Gives a schema a name: wherever it is used, the OpenAPI document refers to one component of that name, and a generated client has one type. What takes
 * over only members of it (`Type.Partial`, `...Vault.properties`) is another schema, and has no name.
 */
export function named<S extends TSchema>(name: string, description: string, schema: S): S {
  if (!/^[A-Z][A-Za-z0-9]*$/.test(name)) throw new Error(`${name} is no name of a type in every language`);
  const described = copyOf(schema, { description });
  return copyOf(described, { [NAME]: { name, schema: described } satisfies SchemaName });
}

/** The same schema, and of the same name, with what it means in one place. */
export function described<S extends TSchema>(description: string, schema: S): S {
  return copyOf(schema, { description });
}

export function nameOf(schema: object): SchemaName | undefined {
  return (schema as { [NAME]?: SchemaName })[NAME];
}

/** By descriptors, since part of what TypeBox reads of a schema is not enumerable. */
function copyOf<S extends object>(schema: S, changes: object): S {
  return Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)), changes) as S;
}
