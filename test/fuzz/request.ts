import type { JsonSchema } from '../../server/src/features/reference/openapi.ts';
import type { Random } from '../support/random.ts';
import type { Operation } from './document.ts';
import { idsIn, namesIn, type Side, valuesIn, withoutSecrets } from './marks.ts';
import { type Pool, type Sighting, sourcesOf, sourcesOfField, valueIn } from './pool.ts';
import { isNew, Values } from './values.ts';

/** A request in parts, so that each can be bent by itself. */
export interface Draft {
  operation: Operation;
  method: string;
  params: Record<string, string>;
  /** In place of the path with its parameters: sent as it is. */
  rawPath: string | null;
  query: [string, string][];
  rawQuery: string | null;
  headers: [string, string][];
  body: unknown;
  rawBody: Buffer | null;
  /** What it was made of. */
  base: Sighting;
  /** How it was bent; empty: it is as the document asks for it. */
  tricks: string[];
}

export interface Sent {
  method: string;
  path: string;
  headers: [string, string][];
  body: Buffer | null;
}

/** A request that the document allows, about things that are there as far as anything was seen. */
export function validDraft(random: Random, pool: Pool, side: Side, operation: Operation): Draft {
  const inPath = operation.parameters.filter((one) => one.in === 'path');
  const needs = inPath.map(({ name }) => sourcesOf(operation.path, name));
  const base: Sighting = (random.chance(0.95) ? baseOf(random, pool, operation, needs) : null) ?? {};
  const values = new Values(random, pool, side, base, isMaking(operation));
  const params: Record<string, string> = {};
  for (const [i, { name, schema }] of inPath.entries()) {
    params[name] = String(valueIn(base, needs[i] ?? []) ?? values.text(schema, name));
  }
  const query: [string, string][] = [];
  const headers: [string, string][] = [];
  for (const { name, in: place, required, schema } of operation.parameters) {
    if (place === 'path' || (!required && !random.chance(place === 'header' ? 0.05 : 0.2))) continue;
    const made = values.of(schema, name);
    const text = Array.isArray(made) ? made.join(',') : String(made);
    if (place === 'query') query.push([name, text]);
    // A few, so that they meet again: with the same request, and with others.
    else headers.push([name, `key-${random.integer(1, 8)}`]);
  }
  return {
    operation,
    method: operation.method,
    params,
    rawPath: null,
    query,
    rawQuery: null,
    headers,
    body: bodyOf(random, values, operation),
    rawBody: null,
    base,
    tricks: [],
  };
}

/** Something that has what the path needs and, best of all, what the body needs too: an envelope with its key. */
function baseOf(
  random: Random,
  pool: Pool,
  operation: Operation,
  needs: readonly (readonly string[])[],
): Sighting | null {
  const required = (operation.body?.required ?? [])
    .filter((name) => !isNew(name, isMaking(operation)))
    .map(sourcesOfField);
  const whole = random.chance(0.8) ? pool.find([...needs, ...required]) : null;
  return whole ?? pool.find(needs);
}

function isMaking({ method, answers }: Operation): boolean {
  return method === 'POST' && answers.has(201);
}

function bodyOf(random: Random, values: Values, { body, isBodyRequired }: Operation): unknown {
  if (body === null || (!isBodyRequired && random.chance(0.1))) return undefined;
  return values.of(body, '');
}

/** As it goes out. A path that spans segments has its slashes plain or encoded, as a seed will have it. */
export function encoded(random: Random, draft: Draft): Sent {
  const { operation, params, query, method } = draft;
  const spelled = random.chance(0.85) ? operation.path : otherSpelling(operation.path);
  const path = spelled.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
    const text = encodeURIComponent((params[name] ?? '').toWellFormed());
    const spans = operation.parameters.some((one) => one.name === name && one.spans);
    return spans && random.chance(0.9) ? text.replaceAll('%2F', '/') : text;
  });
  const pairs = query.map(([name, text]) => `${encodeURIComponent(name)}=${encodeURIComponent(text.toWellFormed())}`);
  const rawQuery = draft.rawQuery ?? pairs.join('&');
  const body = draft.rawBody ?? (draft.body === undefined ? null : Buffer.from(JSON.stringify(draft.body)));
  const hasType = draft.headers.some(([name]) => name.toLowerCase() === 'content-type');
  const headers: [string, string][] = [...draft.headers];
  if (body !== null && !hasType) headers.push(['content-type', 'application/json']);
  return { method, path: `${draft.rawPath ?? path}${rawQuery === '' ? '' : `?${rawQuery}`}`, headers, body };
}

function otherSpelling(path: string): string {
  return path.startsWith('/v1/') ? path.slice(3) : `/v1${path}`;
}

/** Every name, id and value that a request holds: what an answer may tell back to who sent it. */
export function contentOf({ path, headers, body }: Sent): Set<string> {
  const text = `${decoded(path)}\n${headers.join('\n')}\n${body?.toString('utf8') ?? ''}`;
  // Names are tried in other cases too, and may then be told in theirs.
  const plain = text.toLowerCase();
  return new Set([...namesIn(plain), ...idsIn(plain), ...valuesIn(text)]);
}

function decoded(path: string): string {
  try {
    return `${path}\n${decodeURIComponent(path)}`;
  } catch {
    return path;
  }
}

const SHOWN_MAX = 2000;

/** To be sent again by hand: everything but what nobody may read. */
export function shown(sent: Sent, caller: string): string {
  const body = sent.body === null ? '' : ` ${sent.body.toString('utf8')}`;
  const headers = sent.headers.map(([name, text]) => `${name}: ${text}`).join(', ');
  const text = withoutSecrets(`as ${caller}: ${sent.method} ${sent.path} {${headers}}${body}`);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}… (${text.length} characters)` : text;
}

export interface Site {
  schema: JsonSchema;
  field: string;
  replace(value: unknown): void;
  remove(): void;
}

/** Every place in a body that can be changed, with what its schema says of it. */
export function sitesOf(schema: JsonSchema, holder: Record<string, unknown>, key: string, field: string): Site[] {
  const value = holder[key];
  const here: Site = {
    schema,
    field,
    replace: (other) => {
      holder[key] = other;
    },
    remove: () => {
      delete holder[key];
    },
  };
  if (Array.isArray(value)) {
    const list = value as unknown as Record<string, unknown>;
    return [here, ...value.flatMap((_, i) => sitesOf(schema.items ?? {}, list, String(i), field))];
  }
  if (typeof value !== 'object' || value === null) return [here];
  const object = value as Record<string, unknown>;
  const inner = Object.keys(object).flatMap((name) => sitesOf(schema.properties?.[name] ?? {}, object, name, name));
  return [here, ...inner];
}
