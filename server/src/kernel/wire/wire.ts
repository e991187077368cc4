import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { idPattern } from '../base/ids.ts';
import { BINDING_LENGTH, CURSOR_LENGTH_MAX } from './cursor.ts';
import { named } from './named-schemas.ts';

/** Building blocks of wire schemas that every contract uses. */

export const LIST_LIMIT_DEFAULT = 100;
export const LIST_LIMIT_MAX = 1000;
export const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';

/** A closed object: an undeclared member is rejected in a request and is a defect in a response. */
export function object<P extends TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}

/** For a body whose required fields alone would be rejected or say little. The reference shows the first example instead. */
export function objectWithExamples<P extends TProperties>(examples: readonly Static<TObject<P>>[], properties: P) {
  return Type.Object(properties, { additionalProperties: false, examples });
}

/** A map whose keys match a pattern. It is closed too, because TypeBox does not check the values of keys that do not match. */
export function record<V extends TSchema>(
  keyPattern: string,
  value: V,
  options: { maxProperties: number; description?: string },
) {
  return Type.Record(Type.String({ pattern: keyPattern }), value, { ...options, additionalProperties: false });
}

export function id(prefix: string) {
  return Type.String({ pattern: idPattern(prefix), description: `An id that starts with ${prefix}_.` });
}

/** For path parameters of objects that have a name. */
export const idOrName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9._-]+$',
  description: 'The id or the name.',
});
export const userIdOrEmail = Type.String({
  minLength: 1,
  maxLength: 254,
  pattern: '^[!-.0-~]+$',
  description: 'A user, by id or e-mail address.',
});

/** For ids in paths. Any short text is looked up, so that a wrong id is a 404 instead of a validation error. */
export const idParam = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });

export const timestampText = Type.String({ format: 'date-time', description: 'ISO 8601 in UTC, with milliseconds.' });

/** A time filter of a list: a timestamp, or a date, which means the start of that day in UTC. */
export function timeFilter(description: string) {
  return Type.Optional(timeInput(description));
}

export function timeInput(description: string) {
  return Type.Unsafe<string>({
    type: 'string',
    maxLength: 40,
    anyOf: [{ format: 'date-time' }, { format: 'date' }],
    description: `${description} A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC.`,
  });
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

/** The response to a DELETE. */
export const Deleted = named(
  'Deleted',
  'The response to a deletion.',
  object({ deleted: Type.Literal(true, { description: 'The resource was deleted.' }) }),
);
export type Deleted = Static<typeof Deleted>;
export const DELETED: Deleted = Object.freeze({ deleted: true });

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIST_LIMIT_MAX,
      description: `The maximum number of items. Default: ${LIST_LIMIT_DEFAULT}.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: CURSOR_LENGTH_MAX + BINDING_LENGTH,
      description: '`next_cursor` of the previous page, with the same filters.',
    }),
  ),
};
export const PageQuery = object(pageQuery);
export type PageQuery = Static<typeof PageQuery>;

export const nextCursor = Type.Union([Type.String(), Type.Null()], {
  description:
    'Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty.',
});

export const resourceName = Type.String({
  pattern: NAME_PATTERN,
  description: 'Letters, digits, dot, underscore, hyphen; at most 63 characters.',
});

/**
 * Line separators, and characters that turn the direction of the text around them: a name with one reads as another name, also in an approval. Text of
 * every script is shown right without them.
 */
export const MISLEADING = '\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
/** One line of text, for a pattern. */
export const IN_A_LINE = `[^\\u0000-\\u001f\\u007f-\\u009f${MISLEADING}]`;
const MISLEADING_TEXT = new RegExp(`[${MISLEADING}]`);

/** For text that comes with something else, such as a claim. */
export function isMisleading(text: string): boolean {
  return MISLEADING_TEXT.test(text);
}

/** One line of text written by people. PostgreSQL cannot store NUL, and control characters could forge lines wherever the text is shown. */
export function lineOfText(limits: { minLength?: number; maxLength: number }, description: string) {
  return Type.String({ ...limits, pattern: `^${IN_A_LINE}*$`, description });
}

/** Text with several lines. */
export function freeText(maxLength: number, description: string) {
  return Type.String({ maxLength, pattern: `^[^\\u0000${MISLEADING}]*$`, description });
}

export const vaultName = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: 'Name of the vault.',
});

/** Binds a credential to a key by its RFC 7638 SHA-256 thumbprint. */
export const dpopThumbprint = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  description:
    'RFC 7638 SHA-256 thumbprint of a public key. Each request must then carry a DPoP proof (RFC 9449) by that key.',
});

/**
 * Letters of other scripts that a local part may have (RFC 6531). Each has one composed form, also in lower case. Those of one script are
 * allowed together, and Latin ones beside Chinese, Japanese or Korean only, because an address could otherwise look like another one.
 */
const PLAIN = "0-9.!#$%&'*+/=?^_`{|}~-";
const LATIN =
  'A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u012f\\u0131\\u0134-\\u013e\\u0141-\\u0148\\u014a-\\u017e\\u01a0-\\u01a1\\u01af-\\u01b0\\u01cd-\\u01f0\\u01f8-\\u021f\\u0226-\\u0233\\u1e00-\\u1e99\\u1ea0-\\u1eff';
const SCRIPTS = [
  '\\u0386\\u0388-\\u038a\\u038c\\u038e-\\u03a1\\u03a3-\\u03ce',
  '\\u0400-\\u0481\\u048a-\\u052f',
  '\\u05d0-\\u05ea',
  '\\u0620-\\u063f\\u0641-\\u064a\\u0660-\\u0669\\u066e-\\u066f\\u0671-\\u0674\\u0679-\\u06d3\\u06f0-\\u06f9',
  '\\u0900-\\u0957\\u0960-\\u0963\\u0966-\\u096f',
  '\\u0e01-\\u0e32\\u0e34-\\u0e3a\\u0e40-\\u0e4e\\u0e50-\\u0e59',
  `${LATIN}\\u3005\\u3041-\\u3096\\u30a1-\\u30fa\\u30fc\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3`,
];
const LOCAL_PART = SCRIPTS.map((letters) => `[${letters}${PLAIN}]{1,64}`).join('|');

export const EMAIL_PATTERN = `^(?:${LOCAL_PART})@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,188}[A-Za-z0-9])?$`;

/** An e-mail address has one spelling here, in lower case. Its domain is ASCII: one with other letters is written as `xn--…`. */
export const emailText = Type.String({
  minLength: 3,
  maxLength: 254,
  description:
    'An e-mail address. The part before the @ may have letters of one script; the domain is ASCII (`xn--…`).',
  pattern: EMAIL_PATTERN,
});

export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

export const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 256;
/** `writeOnly` keeps it from being shown to the people who approve a request that contains it. */
export const newPassword = Type.String({
  minLength: PASSWORD_LENGTH_MIN,
  maxLength: PASSWORD_LENGTH_MAX,
  writeOnly: true,
  description: `A new password, at least ${PASSWORD_LENGTH_MIN} characters.`,
});
