import type { TSchema } from 'typebox';

/** A symbol does not appear in a serialized schema, but TypeBox and spread syntax copy it. */
const NAME = Symbol('name of a schema');

export interface SchemaName {
  readonly name: string;
  /** The schema as it was named. A copy may have its own description where it is used. */
  readonly schema: TSchema;
}

/**
 * Names a schema: wherever it is used, the OpenAPI document refers to one component of that name, and a generated client has one type. A schema
 * that only takes over members (`Type.Partial`, `...Vault.properties`) is another schema and has no name.
 */
export function named<S extends TSchema>(name: string, description: string, schema: S): S {
  if (!/^[A-Z][A-Za-z0-9]*$/.test(name)) throw new Error(`${name} is no name of a type in every language`);
  const described = copyOf(schema, { description });
  return copyOf(described, { [NAME]: { name, schema: described } satisfies SchemaName });
}

/** The same schema under the same name, with a description for one place of use. */
export function described<S extends TSchema>(description: string, schema: S): S {
  return copyOf(schema, { description });
}

export function nameOf(schema: object): SchemaName | undefined {
  return (schema as { [NAME]?: SchemaName })[NAME];
}

/** Copies property descriptors, because some properties that TypeBox reads are not enumerable. */
function copyOf<S extends object>(schema: S, changes: object): S {
  return Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)), changes) as S;
}
