import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Call } from '../auth/call.ts';
import { CofferError, type FieldProblem, invalid, tooLarge } from '../base/errors.ts';
import { type EndpointDeclaration, type Input, NONE } from '../endpoint/declaration.ts';
import { TimeSlice } from '../fairness/time-slice.ts';
import { reasonOfPattern } from '../wire/pattern-reasons.ts';
import { parseSecretPath } from '../wire/secret-path.ts';
import { coerceQuery, parseQuery, QueryError } from './query.ts';

/** Returns a promise for an endpoint whose body may have many members: their checks yield, in turns of the tenant. */
export type InputValidator = (call: Call, tenantId: string | null) => Input | Promise<Input>;

const PROBLEMS_MAX = 20;

/** Validates path, query and body against the declaration. An unknown field anywhere is an error, not ignored. */
export function inputValidator(e: EndpointDeclaration): InputValidator {
  const params = e.params === NONE ? null : checker(e.params, '/path');
  const starName = /\{([a-z_]+)\*\}/.exec(e.path)?.[1];
  const query = e.query === NONE ? null : e.query;
  const checkQuery = query === null ? null : checker(query, '/query');
  const body = e.body === NONE ? null : checker(e.body, '/body');
  const inSlices = e.body === NONE || e.bodyMembersMax === undefined ? null : sliceChecker(e.body);
  return (call, tenantId) => {
    const problems: FieldProblem[] = [];
    params?.(call.params, problems);
    if (starName !== undefined) checkSecretPath(call.params[starName] ?? '', starName, problems);
    const input = {
      params: call.params,
      query: queryOf(call.url, query, problems),
      body: call.body === undefined ? {} : call.body,
    } as Input;
    checkQuery?.(input.query, problems);
    if (inSlices !== null && tenantId !== null)
      return inSlices(input.body, problems, tenantId).then(() => accepted(input, problems));
    if (body !== null) body(input.body, problems);
    else if (call.body !== undefined && e.rawBody !== true)
      problems.push({ pointer: '/body', reason: 'must be omitted: this endpoint accepts no body' });
    return accepted(input, problems);
  };
}

function accepted(input: Input, problems: readonly FieldProblem[]): Input {
  if (problems.length > 0) throw invalid(problems.slice(0, PROBLEMS_MAX));
  return input;
}

/** A secret's path has one spelling; any other is refused before a policy or a store sees it. */
function checkSecretPath(text: string, name: string, problems: FieldProblem[]): void {
  const parsed = parseSecretPath(text);
  if (!parsed.ok) problems.push({ pointer: `/path/${name}`, reason: parsed.reason });
}

function queryOf(url: string, schema: TSchema | null, problems: FieldProblem[]): Record<string, unknown> {
  if (!url.includes('?')) return {};
  try {
    const { value, problems: found } = coerceQuery((schema ?? { properties: {} }) as never, parseQuery(url));
    problems.push(...found);
    return value;
  } catch (error) {
    if (error instanceof QueryError) throw new CofferError('INVALID_REQUEST', error.message);
    throw error;
  }
}

/** For a part of a body whose schema depends on the rest of the body. */
export function problemsIn(schema: TSchema, value: unknown, at: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  checker(schema, at)(value, problems);
  return problems.slice(0, PROBLEMS_MAX);
}

/**
 * For a body with far more members than most: first everything but the elements of its lists, then these one after the other, with other requests
 * in between.
 */
function sliceChecker(schema: TSchema): (value: unknown, problems: FieldProblem[], tenantId: string) => Promise<void> {
  const { properties = {} } = schema as ListingSchema;
  const lists = Object.entries(properties).filter(([, part]) => part.type === 'array');
  const anyElements = lists.map(([name, part]) => [name, { ...part, items: {} }]);
  const outer = checker({ ...schema, properties: { ...properties, ...Object.fromEntries(anyElements) } }, '/body');
  const elements = lists.map(([name, { items = {} }]) => ({ name, check: checker(items, `/body/${name}`) }));
  return async (value, problems, tenantId) => {
    outer(value, problems);
    if (problems.length > 0) return;
    const slice = TimeSlice.of(tenantId);
    for (const { name, check } of elements) {
      const list = Reflect.get(value as object, name) as readonly unknown[] | undefined;
      for (const [i, element] of list?.entries() ?? []) {
        check(element, problems, `/body/${name}/${i}`);
        if (problems.length >= PROBLEMS_MAX) return;
        const pause = slice.pause();
        if (pause !== undefined) await pause;
      }
    }
  };
}

interface ListingSchema {
  properties?: Record<string, TSchema & { type?: unknown; items?: TSchema }>;
}

/** Compiled on first use, because compiling all schemas would take a large part of the startup time. */
function checker(schema: TSchema, root: string): (value: unknown, problems: FieldProblem[], at?: string) => void {
  let compiled: Validator | null = null;
  return (value, problems, at = root) => {
    compiled ??= Compile(schema);
    if (compiled.Check(value)) return;
    const surplus = surplusMembers(schema, value, at);
    if (surplus !== null) {
      problems.push(surplus);
      return;
    }
    // A value that fails the check is refused even if the list of errors yields no problem, because that list is truncated.
    const known = problems.length;
    const errors = [...compiled.Errors(value)];
    const large = errors.find(isTooLarge);
    if (large !== undefined) throw tooLarge(`${at}${shown(large.instancePath)}`, limitIn(large.params));
    for (const { keyword, instancePath, params, message } of errors.filter((error) => !isBesideNull(error, errors))) {
      for (const pointer of pointers(`${at}${shown(instancePath)}`, keyword, params)) {
        // A value that fails its own schema is also reported by the enclosing object, as if it were unknown there.
        if (problems.every((other) => other.pointer !== pointer)) {
          problems.push({
            pointer,
            reason:
              choicesAt(errors, instancePath) ?? timeAt(errors, instancePath) ?? reasonOf(keyword, params) ?? message,
          });
        }
      }
    }
    if (problems.length === known) problems.push({ pointer: at, reason: 'is not valid' });
  };
}

/** The parts of a schema that limit the number of members. */
interface CountingSchema {
  maxItems?: number;
  maxProperties?: number;
  properties?: Record<string, CountingSchema>;
  items?: CountingSchema;
}

/** Counts are checked first: finding each problem of 20,000 members takes half a second, during which no other request is answered. */
function surplusMembers(schema: CountingSchema, value: unknown, at: string): FieldProblem | null {
  if (typeof value !== 'object' || value === null) return null;
  const [members, most, noun] = Array.isArray(value)
    ? [value.length, schema.maxItems, 'items']
    : [Object.keys(value).length, schema.maxProperties, 'properties'];
  if (most !== undefined && members > most) {
    return { pointer: at, reason: `must not have more than ${most} ${noun}` };
  }
  const { items, properties } = schema;
  const parts: [CountingSchema, unknown, string][] = Array.isArray(value)
    ? value.map((item, i) => [items ?? {}, item, `${at}/${i}`])
    : Object.entries(properties ?? {}).map(([name, part]) => [part, Reflect.get(value, name), `${at}/${name}`]);
  for (const [part, member, where] of parts) {
    const problem = surplusMembers(part, member, where);
    if (problem !== null) return problem;
  }
  return null;
}

const REASONS: Record<string, string> = {
  additionalProperties: 'is not a known field',
  // The schema of an unknown field is `false`; the enclosing object reports the field once more.
  boolean: 'is not a known field',
  required: 'is required',
  pattern: 'does not have the required format',
  anyOf: 'does not have one of the allowed formats',
  propertyNames: 'has a name that is not allowed',
};

function reasonOf(keyword: string, params: unknown): string | undefined {
  const { pattern } = params as { pattern?: unknown };
  return (keyword === 'pattern' ? reasonOfPattern(pattern) : undefined) ?? REASONS[keyword];
}

/** A text of a megabyte is a payload, so it is refused as one: by its size, whatever its form. */
const PAYLOAD_LENGTH = 1024 * 1024;

function isTooLarge({ keyword, params }: SchemaError): boolean {
  return keyword === 'maxLength' && limitIn(params) >= PAYLOAD_LENGTH;
}

const limitIn = (params: unknown) => (params as { limit: number }).limit;

interface SchemaError {
  keyword: string;
  instancePath: string;
  params: unknown;
}

/** A value that is given was not meant to be null, so only what is wrong in it is said. */
function isBesideNull(error: SchemaError, errors: readonly SchemaError[]): boolean {
  if (!isNotNull(error) && error.keyword !== 'anyOf') return false;
  const { instancePath } = error;
  const isInside = (path: string) => path === instancePath || path.startsWith(`${instancePath}/`);
  const isNullable = errors.some((other) => other.instancePath === instancePath && isNotNull(other));
  const says = (other: SchemaError) => other.keyword !== 'anyOf' && !isNotNull(other);
  return isNullable && errors.some((other) => says(other) && isInside(other.instancePath));
}

const isNotNull = ({ keyword, params }: SchemaError) =>
  keyword === 'type' && (params as { type?: unknown }).type === 'null';

/** The allowed values, if the value is none of them. */
function choicesAt(errors: readonly SchemaError[], instancePath: string): string | null {
  const choices = errors
    .filter((error) => error.instancePath === instancePath && ['enum', 'const'].includes(error.keyword))
    .flatMap(({ params }) => {
      const { allowedValues, allowedValue } = params as { allowedValues?: unknown[]; allowedValue?: unknown };
      return allowedValues ?? [allowedValue];
    });
  if (choices.length === 0) return null;
  const shown = [...new Set(choices.map(String))];
  const listed = shown.slice(0, CHOICES_LISTED_MAX).join(', ');
  const rest = shown.length > CHOICES_LISTED_MAX ? ` or one of ${shown.length - CHOICES_LISTED_MAX} more` : '';
  return shown.length === 1 ? `must be ${listed}` : `must be one of ${listed}${rest}`;
}
const CHOICES_LISTED_MAX = 40;

/** How a time is written, if the value is none. */
function timeAt(errors: readonly SchemaError[], instancePath: string): string | null {
  const formats = errors
    .filter((error) => error.instancePath === instancePath && error.keyword === 'format')
    .map(({ params }) => (params as { format?: unknown }).format);
  if (!formats.includes('date-time')) return null;
  const date = formats.includes('date') ? 'a date such as 2026-11-14, or ' : '';
  return `must be ${date}a time with its zone, such as 2026-11-14T10:00:00Z`;
}

function pointers(at: string, keyword: string, params: unknown): string[] {
  const { additionalProperties, requiredProperties } = params as Record<string, string[] | undefined>;
  if (keyword === 'boolean') {
    const end = at.lastIndexOf('/');
    return [`${at.slice(0, end)}/${plainName(at.slice(end + 1))}`];
  }
  const names = keyword === 'required' ? requiredProperties : additionalProperties;
  if ((keyword !== 'required' && keyword !== 'additionalProperties') || names === undefined) return [at];
  return names.slice(0, PROBLEMS_MAX).map((name) => `${at}/${plainName(name)}`);
}

/** Only a plain name is repeated in the response: a field's name can be anything, even a misplaced secret. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const plainName = (name: string) => (NAME.test(name) ? name : '?');
const POINTER_PART = /^(?:[A-Za-z0-9_.-]|~[01]){0,64}$/;

function shown(instancePath: string): string {
  return instancePath
    .split('/')
    .map((part) => (POINTER_PART.test(part) ? part : '?'))
    .join('/');
}
