import type { TSchema } from 'typebox';

/** Shown in place of a credential. */
export const REDACTED = '[redacted]';

/** `writeOnly` is JSON Schema's keyword for a field that is accepted in requests but never returned. */
interface Described {
  writeOnly?: boolean;
  properties?: Readonly<Record<string, TSchema>>;
  items?: TSchema;
  anyOf?: readonly TSchema[];
}

/** The value as it may be shown: fields that are `writeOnly` are hidden, and so are fields that the schema does not declare. */
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
