import { isMisleading } from '../../kernel/wire/wire.ts';
import { badRequest } from './errors.ts';
import { attributeName, type Path, parsePath } from './filter.ts';
import { GROUP_SCHEMA, USER_SCHEMA } from './schemas.ts';

/** One change of one attribute. POST and PUT are replacements of every attribute that they name. */
export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: Path;
  /** Undefined if there is none, which for a removal means the whole attribute. */
  value: unknown;
}

type Attributes = Record<string, unknown>;

const CORE_SCHEMAS = [USER_SCHEMA, GROUP_SCHEMA].map((urn) => urn.toLowerCase());
const OPS = ['add', 'replace', 'remove'] as const;
/** Ignored where a provider sends the whole resource, as Okta sends the id of a group with its new name. */
const READ_ONLY = ['id', 'meta', 'groups', 'schemas'];

/** The attributes of a body, as replacements. An attribute that is null or has no value is unassigned (RFC 7643, 2.5). */
export function replacements(body: Attributes): Operation[] {
  return expanded('replace', body);
}

/** The operations of a PATCH, each with one attribute (RFC 7644, 3.5.2). */
export function patchOperations(body: { Operations: readonly Attributes[] }): Operation[] {
  return body.Operations.flatMap((raw) => {
    const fields = lowered(raw);
    const op = opOf(fields.get('op'));
    const path = fields.get('path');
    const hasValue = fields.has('value');
    const value = fields.get('value');
    if (path !== undefined && path !== null && path !== '') {
      if (typeof path !== 'string') throw badRequest('invalidPath', 'The path of an operation must be text.');
      if (op !== 'remove' && !hasValue) throw badRequest('invalidValue', `An operation ${op} needs a value.`);
      const target = parsePath(path);
      if (READ_ONLY.includes(target.attribute)) throw badRequest('mutability', `${path} is read-only.`);
      return [{ op, path: target, value: hasValue ? value : undefined }];
    }
    if (op === 'remove') throw badRequest('noTarget', 'An operation remove needs a path.');
    if (!isObject(value)) throw badRequest('invalidValue', 'An operation without a path needs an object as its value.');
    return expanded(op, value);
  });
}

/** Every attribute of an object as an operation of its own. Their names may have dots and the prefix of a schema. */
function expanded(op: Operation['op'], attributes: Attributes): Operation[] {
  const seen = new Set<string>();
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (CORE_SCHEMAS.includes(key.toLowerCase()) && isObject(value)) return expanded(op, value);
    // Entra sends paths as keys: `emails[type eq "work"].value`.
    if (key.includes('[')) return [{ op, path: parsePath(key), value }];
    const name = attributeName(key);
    // Attributes of other schemas are ignored, whatever they are called.
    if (name === null || name.startsWith('urn:')) return [];
    if (seen.has(name)) throw badRequest('invalidSyntax', 'An attribute is given twice, in different spellings.');
    seen.add(name);
    const [attribute = '', sub = null] = name.split('.');
    return [{ op, path: { attribute, sub, filter: null }, value }];
  });
}

function opOf(value: unknown): Operation['op'] {
  const op = OPS.find((one) => typeof value === 'string' && one === value.toLowerCase());
  if (op === undefined) throw badRequest('invalidSyntax', 'An operation is add, replace or remove.');
  return op;
}

/** Names are compared without regard to case. */
export function lowered(object: Attributes): Map<string, unknown> {
  return new Map(Object.entries(object).map(([name, value]) => [name.toLowerCase(), value]));
}

export function isObject(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null, an empty list or empty text: the attribute is unassigned. */
export function isUnassigned(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

export function textOf(value: unknown, attribute: string, lengthMax: number): string {
  const isText =
    typeof value === 'string' && value.length <= lengthMax && !/\p{Cc}/u.test(value) && !isMisleading(value);
  if (!isText)
    throw badRequest(
      'invalidValue',
      `${attribute} must be one line of text without characters that change its direction, at most ${lengthMax} characters.`,
    );
  return value;
}

/** Entra sends "True" and "False". */
export function flagOf(value: unknown, attribute: string): boolean {
  const text = String(value).toLowerCase();
  if (text !== 'true' && text !== 'false') throw badRequest('invalidValue', `${attribute} must be true or false.`);
  return text === 'true';
}
