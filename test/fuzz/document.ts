import assert from 'node:assert/strict';
import { Compile, type Validator } from 'typebox/schema';
import type { JsonSchema } from '../../server/src/features/reference/openapi.ts';

/** What the service says of itself, and nothing else: the only source of what is sent and of what may come back. */

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: JsonSchema;
  /** A path that may hold slashes. */
  spans: boolean;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  /** What it is about, such as `vaults`. */
  noun: string;
  parameters: Parameter[];
  body: JsonSchema | null;
  isBodyRequired: boolean;
  bodyBytesMax: number;
  /** By status, with a check of the body; null: no JSON is told about it. */
  answers: Map<number, Validator | null>;
  types: Map<number, string[]>;
  isPublic: boolean;
  credentials: readonly string[];
  tenant: string;
  permission: string;
  resource: string;
  effect: 'read' | 'change';
}

// biome-ignore lint/suspicious/noExplicitAny: a document read from the wire, walked by name
type Json = any;

const known = new Map<string, Operation[]>();

/** Services of one release describe themselves alike, so the checks of their answers are compiled once. */
export function operationsIn(text: string): Operation[] {
  const operations = known.get(text) ?? operationsOf(JSON.parse(text));
  known.set(text, operations);
  return operations;
}

function operationsOf(document: Json): Operation[] {
  const resolve = (node: Json): Json => (isReference(node) ? resolve(at(document, node.$ref)) : node);
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, declared]) => operation(method, path, declared, resolve)),
  );
}

function at(document: Json, reference: string): Json {
  assert.match(reference, /^#\//);
  return reference
    .slice(2)
    .split('/')
    .reduce((node, part) => node[part], document);
}

function operation(method: string, path: string, declared: Json, resolve: (node: Json) => Json): Operation {
  const body = declared.requestBody;
  const answers = new Map<number, Validator | null>();
  const types = new Map<number, string[]>();
  for (const [status, reference] of Object.entries<Json>(declared.responses)) {
    const { content = {}, 'x-coffer': told }: Json = resolve(reference);
    types.set(Number(status), Object.keys(content));
    const schema = content['application/json']?.schema;
    const validator = schema === undefined ? null : Compile(withCodes(inlined(schema, resolve), told?.codes));
    answers.set(Number(status), validator);
  }
  const extension = declared['x-coffer'];
  return {
    id: declared.operationId,
    method: method.toUpperCase(),
    path,
    noun: declared.tags[0],
    parameters: (declared.parameters ?? []).map((one: Json) => parameter(resolve(one), resolve)),
    body: body === undefined ? null : inlined(body.content['application/json'].schema, resolve),
    isBodyRequired: body?.required === true,
    bodyBytesMax: Number(/(\d+) bytes/.exec(body?.description ?? '')?.[1] ?? 0),
    answers,
    types,
    isPublic: declared.security.length === 0,
    credentials: extension.credentials === 'public' ? [] : extension.credentials,
    tenant: extension.tenant,
    permission: extension.permission,
    resource: extension.resource,
    effect: extension.effect,
  };
}

/** A refusal has one of the codes that its response names. */
function withCodes(schema: Json, codes: readonly string[] | undefined): Json {
  if (codes === undefined) return schema;
  return { allOf: [schema, { properties: { error: { properties: { code: { enum: codes } } } } }] };
}

function parameter(declared: Json, resolve: (node: Json) => Json): Parameter {
  const spans = declared.description?.includes('May span segments') ?? false;
  const schema = inlined(declared.schema, resolve);
  return { name: declared.name, in: declared.in, required: declared.required, schema, spans };
}

function inlined(schema: Json, resolve: (node: Json) => Json): Json {
  if (Array.isArray(schema)) return schema.map((one) => inlined(one, resolve));
  if (typeof schema !== 'object' || schema === null) return schema;
  if (isReference(schema)) return inlined(resolve(schema), resolve);
  return Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, inlined(inner, resolve)]));
}

/** The members of SCIM have a property of this name, whose schema is no text. */
function isReference(node: Json): boolean {
  return typeof node?.$ref === 'string';
}

/**
 * The operation that a request line asks for, as the service promises it: fixed parts win over parameters, with `/v1` or without. An encoded
 * slash parts nothing, but in a path that may span segments.
 */
export function operationAt(operations: readonly Operation[], method: string, path: string): Operation | null {
  const bare = withoutVersion(path.split('?')[0] ?? '');
  const found = best(operations, bare);
  const span = found?.parameters.find(({ spans }) => spans);
  if (found === undefined || span === undefined) return withMethod(operations, method, found);
  const before = withoutVersion(found.path).split('/').indexOf(`{${span.name}}`);
  const parts = bare.split('/');
  const spanned = parts.slice(before).join('/').replace(/%2f/gi, '/');
  return withMethod(operations, method, best(operations, [...parts.slice(0, before), spanned].join('/')));
}

function best(operations: readonly Operation[], path: string): Operation | undefined {
  return candidates(operations, path)
    .filter((one) => patternOf(one).test(path))
    .toSorted((a, b) => byFirstFixed(a.path, b.path) || b.path.length - a.path.length)[0];
}

/** By the first part of the path, which is fixed in every operation: to try each of them costs more than to send a request. */
const byFirstPart = new WeakMap<readonly Operation[], Map<string, Operation[]>>();

function candidates(operations: readonly Operation[], path: string): readonly Operation[] {
  let parts = byFirstPart.get(operations);
  if (parts === undefined) {
    parts = Map.groupBy(operations, (one) => firstPart(withoutVersion(one.path)));
    for (const part of parts.keys()) assert.doesNotMatch(part, /\{/);
    byFirstPart.set(operations, parts);
  }
  return parts.get(firstPart(path)) ?? [];
}

function firstPart(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

/** As routers do: the first part in which they differ in kind decides. */
function byFirstFixed(a: string, b: string): number {
  const [left, right] = [a, b].map((path) =>
    withoutVersion(path)
      .split('/')
      .map((part) => part.startsWith('{')),
  );
  const at = left?.findIndex((isParameter, i) => right?.[i] !== undefined && isParameter !== right[i]) ?? -1;
  return at === -1 ? 0 : Number(left?.[at]) - Number(right?.[at]);
}

function withMethod(operations: readonly Operation[], method: string, like: Operation | undefined): Operation | null {
  return operations.find((one) => one.path === like?.path && one.method === method) ?? null;
}

const patterns = new WeakMap<Operation, RegExp>();

function patternOf(operation: Operation): RegExp {
  let pattern = patterns.get(operation);
  if (pattern === undefined) {
    const text = withoutVersion(operation.path)
      .replaceAll('.', '\\.')
      .replace(/\{([a-z_]+)\}/g, (_, name: string) => {
        return operation.parameters.some((one) => one.name === name && one.spans) ? '.*' : '[^/]*';
      });
    pattern = new RegExp(`^${text}$`);
    patterns.set(operation, pattern);
  }
  return pattern;
}

function withoutVersion(path: string): string {
  return path.startsWith('/v1/') ? path.slice(3) : path;
}
