import type { TSchema } from 'typebox';

/** What is shown in the place of a credential. */
export const REDACTED = '[redacted]';

/** JSON Schema's own word for a field that goes in and never comes out. */
interface Described {
  writeOnly?: boolean;
  properties?: Readonly<Record<string, TSchema>>;
  items?: TSchema;
  anyOf?: readonly TSchema[];
}

/** A value as its schema lets it be shown: fields that are `writeOnly` are hidden, and so is what the schema does not know. */
export function redacted(schema: TSchema, value: unknown): unknown {
  const { writeOnly, properties, items, anyOf = [] } = schema as Described;
  if (writeOnly === true || anyOf.some((one) => (one as Described).writeOnly === true)) return REDACTED;
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => redacted(items, item));
  if (typeof value !== 'object' || value === null || properties === undefined) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const known = properties[name];
      return [name, known === undefined ? REDACTED : redacted(known, field)];
    }),
  );
}
