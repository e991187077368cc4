import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { type IdPrefix, idPattern } from './ids.ts';
import { named } from './named-schemas.ts';
import { BINDING_LENGTH, CURSOR_LENGTH_MAX } from './storage/cursor.ts';

/** Pieces of wire schemas that every contract uses. */

export const LIST_LIMIT_DEFAULT = 100;
export const LIST_LIMIT_MAX = 1000;
export const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';

/** Objects are closed: what is not declared is refused on the way in and a defect on the way out. */
export function object<P extends TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}

/** A body of which the fields that must be sent alone would be refused, or say little: the reference shows the first example instead. */
export function objectWithExamples<P extends TProperties>(examples: readonly Static<TObject<P>>[], properties: P) {
  return Type.Object(properties, { additionalProperties: false, examples });
}

/** Keys of one form with values of one kind. Closed too: TypeBox checks the values of no key that does not have the form. */
export function record<V extends TSchema>(
  keyPattern: string,
  value: V,
  options: { maxProperties: number; description?: string },
) {
  return Type.Record(Type.String({ pattern: keyPattern }), value, { ...options, additionalProperties: false });
}

export function id(prefix: IdPrefix) {
  return Type.String({ pattern: idPattern(prefix), description: `An id that begins with ${prefix}_.` });
}

/** For what people call by a name, in paths. */
export const idOrName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9._-]+$',
  description: 'Its id or its name.',
});
/** A person, by either. */
export const userIdOrEmail = Type.String({
  minLength: 1,
  maxLength: 254,
  pattern: '^[!-.0-~]+$',
  description: 'A user, by id or e-mail address.',
});

/** For ids in paths: any short text is looked up and then not found, so that a wrong id is a 404 and not a puzzle. */
export const idParam = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });

export const timestampText = Type.String({ format: 'date-time', description: 'ISO 8601 in UTC, with milliseconds.' });

/** A time by which a list is filtered: a timestamp, or a date, which is its first moment in UTC. */
export function timeFilter(description: string) {
  return Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      maxLength: 40,
      anyOf: [{ format: 'date-time' }, { format: 'date' }],
      description: `${description} A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which begins at midnight UTC.`,
    }),
  );
}

export function nullable<S extends TSchema>(schema: S, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

export function oneOf<const V extends readonly string[]>(values: V, description?: string) {
  return Type.Unsafe<V[number]>({
    type: 'string',
    enum: [...values],
    ...(description !== undefined && { description }),
  });
}

/** What a DELETE answers with. */
export const Deleted = named(
  'Deleted',
  'The answer to a deletion.',
  object({ deleted: Type.Literal(true, { description: 'It is gone.' }) }),
);
export type Deleted = Static<typeof Deleted>;
export const DELETED: Deleted = Object.freeze({ deleted: true });

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIST_LIMIT_MAX,
      description: `At most so many; ${LIST_LIMIT_DEFAULT} unless given.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: CURSOR_LENGTH_MAX + BINDING_LENGTH,
      description: '`next_cursor` of the page before, with the same filters.',
    }),
  ),
};
export const PageQuery = object(pageQuery);
export type PageQuery = Static<typeof PageQuery>;

export const nextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'Null on the last page. What you may not read is left out, so a page before it can be short or empty.',
});

export const resourceName = Type.String({
  pattern: NAME_PATTERN,
  description: 'Letters, digits, dot, underscore, hyphen; at most 63.',
});

/** A line of text people write. PostgreSQL stores no NUL, and control characters could forge lines wherever it is shown. */
export function lineOfText(limits: { minLength?: number; maxLength: number }, description: string) {
  return Type.String({ ...limits, pattern: '^[^\\u0000-\\u001f\\u007f]*$', description });
}

/** Text of several lines. */
export function freeText(maxLength: number, description: string) {
  return Type.String({ maxLength, pattern: '^[^\\u0000]*$', description });
}

/** Binds a credential to a key: the RFC 7638 thumbprint of it, by SHA-256. */
export const dpopThumbprint = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  description:
    'RFC 7638 SHA-256 thumbprint of a public key. Each request must then carry a DPoP proof (RFC 9449) by that key.',
});

/** One e-mail address has one spelling here: lower case. Anything but plain ASCII could look like another one. */
export const emailText = Type.String({
  minLength: 3,
  maxLength: 254,
  description: 'An e-mail address.',
  pattern: "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,188}[A-Za-z0-9])?$",
});

export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

export const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 256;
/** `writeOnly`: it is shown to nobody, whoever has to approve what it is part of. */
export const newPassword = Type.String({
  minLength: PASSWORD_LENGTH_MIN,
  maxLength: PASSWORD_LENGTH_MAX,
  writeOnly: true,
  description: `A new password, of ${PASSWORD_LENGTH_MIN} characters or more.`,
});
