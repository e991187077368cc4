import type { TSchema } from 'typebox';
import { PENDING_STATUS, PendingApproval } from './approval.ts';
import { type CredentialKind, type EndpointDeclaration, errorCodes, NONE } from './endpoint.ts';
import { BEFORE_A_REQUEST, ERROR_CODES, type ErrorCode } from './errors.ts';

type Json = Record<string, unknown>;

/** What the docs read of a JSON Schema. */
export interface JsonSchema {
  type?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  patternProperties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  examples?: readonly unknown[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
}

export interface DocumentInfo {
  version: string;
  serverUrl: string;
}

/** The OpenAPI 3.1 document, from the declarations alone: what is declared cannot be forgotten here. */
export function openApiDocument(declarations: readonly EndpointDeclaration[], info: DocumentInfo): object {
  const paths: Record<string, Json> = {};
  for (const e of declarations) {
    const path = templatedPath(e.path);
    paths[path] = { ...paths[path], [e.method.toLowerCase()]: operation(e) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Coffer',
      version: info.version,
      description: INFO_DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.serverUrl }],
    tags: [...new Set(declarations.map((e) => e.noun))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA, PendingApproval: plainSchema(PendingApproval) },
      responses: errorResponses(declarations),
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** A TypeBox schema without what only TypeBox reads. */
export function plainSchema(schema: TSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema));
}

/** Whether an answer tells how much of a limit is left. */
export function isRateLimited(e: EndpointDeclaration): boolean {
  return e.credentials === 'public' ? e.rate === 'auth' : e.rate !== 'none';
}

const INFO_DESCRIPTION = [
  'Coffer keeps secrets: it stores, versions, rotates and serves them, and records who asked for what.',
  'Every path also answers with `/v1` added or removed: `/v1/vaults` is `/vaults`, `/auth/me` is `/v1/auth/me`.',
  'Bodies are JSON in UTF-8, and an unknown field is refused. Timestamps are ISO 8601 in UTC. A list answers with ' +
    '`next_cursor`: give it back as `cursor` for the next page; it is null on the last one. It works with the same filters only.',
  BEFORE_A_REQUEST,
].join('\n\n');

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A personal access token (`cv_pat_…`), a session token from `POST /auth/login`, or a token that a machine got for an identity from ' +
      'outside. One that is bound to a key is sent as `DPoP` with a proof.',
  },
  clientId: { type: 'apiKey', in: 'header', name: 'X-Client-Id', description: 'Which AppConnection asks.' },
  clientSecret: { type: 'apiKey', in: 'header', name: 'X-Client-Secret', description: 'Its client secret (`Svc_…`).' },
  certificate: { type: 'mutualTLS', description: 'The client certificate of an AppConnection, on the TLS port.' },
};

/** One alternative for each way in; what an AppConnection itself asks beside that, it tells when it is missing. */
const REQUIREMENTS: Record<CredentialKind, Json> = {
  pat: { bearer: [] },
  session: { bearer: [] },
  federation: { bearer: [] },
  workload: { bearer: [] },
  connection: { clientId: [], clientSecret: [] },
  certificate: { certificate: [] },
  bound_certificate: { certificate: [] },
};

function security({ credentials }: EndpointDeclaration): Json[] {
  if (credentials === 'public') return [];
  return credentials.map((kind) => REQUIREMENTS[kind]).filter(isFirstOfItsForm);
}

function isFirstOfItsForm(one: Json, at: number, all: readonly Json[]): boolean {
  return all.findIndex((other) => Object.keys(other).join() === Object.keys(one).join()) === at;
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes the change happen once: the same key with the same request gets the first answer again for 24 hours; with ' +
    'another request it is refused.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
};

const HEADERS = {
  RequestId: header('string', 'The id of this request, also found in the audit log and in `error.request_id`.'),
  RateLimit: header('integer', 'Requests a minute that are allowed.'),
  RateRemaining: header('integer', 'Requests that are left in this minute.'),
  RateReset: header('integer', 'When the count starts anew, in Unix seconds.'),
  RetryAfter: header('integer', 'Seconds to wait before the request is repeated.'),
  IdempotencyReplayed: header('string', '`true` if this is the kept answer of an earlier request with the same key.'),
};

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'request_id'],
      properties: {
        code: { type: 'string', enum: Object.keys(ERROR_CODES), description: 'Stable; decide by this.' },
        message: { type: 'string', description: 'For people; may change.' },
        request_id: { type: 'string', pattern: '^req_' },
        details: { type: 'object', description: 'What the code says more about; `fields` for VALIDATION_FAILED.' },
      },
    },
  },
};

const STATUS_TEXT = { 200: 'Done.', 201: 'Created.', 202: 'Accepted, and not done yet.', 204: 'Done; no content.' };

function operation(e: EndpointDeclaration): Json {
  const parameters = [...pathParameters(e), ...queryParameters(e)];
  if (takesIdempotencyKey(e)) parameters.push(ref('parameters', 'IdempotencyKey'));
  return {
    operationId: e.name,
    summary: e.summary,
    ...(e.description !== undefined && { description: e.description }),
    tags: [e.noun],
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(e),
    responses: responses(e),
    security: security(e),
    'x-coffer': extension(e),
  };
}

function extension(e: EndpointDeclaration): Json {
  const { credentials, tenant, permission, resource, rate, tier, region, approval, audit, effect } = e;
  return { credentials, tenant, permission, resource, rate, tier, region, approval, audit, effect };
}

function takesIdempotencyKey(e: EndpointDeclaration): boolean {
  return e.effect === 'change' && e.credentials !== 'public';
}

/** OpenAPI has no parameter that spans segments, so that fact moves into the parameter's description. */
function templatedPath(path: string): string {
  return path.replaceAll('*}', '}');
}

function pathParameters(e: EndpointDeclaration): Json[] {
  if (e.params === NONE) return [];
  return Object.entries(plainSchema(e.params).properties ?? {}).map(([name, { description, ...schema }]) => {
    const spans = e.path.includes(`{${name}*}`) ? 'May span segments: `/` is sent as it is or as `%2F`.' : undefined;
    const text = [description, spans].filter((part) => part !== undefined).join(' ');
    return { name, in: 'path', required: true, ...(text !== '' && { description: text }), schema };
  });
}

function queryParameters(e: EndpointDeclaration): Json[] {
  if (e.query === NONE) return [];
  const { properties = {}, required = [] } = plainSchema(e.query);
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function requestBody(e: EndpointDeclaration): Json {
  if (e.body === NONE) return {};
  const schema = plainSchema(e.body);
  return {
    requestBody: {
      description: `At most ${e.bodyBytesMax} bytes.`,
      required: (schema.required ?? []).length > 0,
      content: { 'application/json': { schema } },
    },
  };
}

function responses(e: EndpointDeclaration): Json {
  const headers: Json = {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...(isRateLimited(e) && RATE_HEADERS),
    ...(takesIdempotencyKey(e) && { 'Idempotency-Replayed': ref('headers', 'IdempotencyReplayed') }),
  };
  const success: Json = { description: STATUS_TEXT[e.status], headers, ...successContent(e) };
  const pending: Json = {
    description: `Not done: it waits for an approval of the kind \`${e.approval}\`.`,
    headers,
    content: { 'application/json': { schema: ref('schemas', 'PendingApproval') } },
  };
  const errors = Object.entries(codesByStatus(e)).map(([status, codes]) => {
    return [status, ref('responses', responseName(status, codes))];
  });
  return {
    [e.status]: success,
    ...(e.approval !== NONE && { [PENDING_STATUS]: pending }),
    ...Object.fromEntries(errors),
  };
}

function successContent(e: EndpointDeclaration): Json {
  if (e.output !== NONE) return { content: { 'application/json': { schema: plainSchema(e.output) } } };
  if (e.raw === NONE) return {};
  const types = [e.raw, ...(e.otherRaw ?? [])].map((type) => type.split(';', 1).join());
  // In 3.1 a body without a schema is bytes, or JSON of any form.
  const contents = types.map((type) => [type, type.startsWith('text/') ? { schema: { type: 'string' } } : {}]);
  return { content: Object.fromEntries(contents) };
}

function codesByStatus(e: EndpointDeclaration): Record<string, ErrorCode[]> {
  const grouped: Record<string, ErrorCode[]> = {};
  for (const code of errorCodes(e)) {
    const status = ERROR_CODES[code][0];
    grouped[status] = [...(grouped[status] ?? []), code];
  }
  return grouped;
}

/** Most endpoints refuse in the same ways: written out at each of them, refusals would be most of the document. */
function errorResponses(declarations: readonly EndpointDeclaration[]): Json {
  const found = new Map<string, Json>();
  for (const e of declarations) {
    for (const [status, codes] of Object.entries(codesByStatus(e))) {
      found.set(responseName(status, codes), errorResponse(Number(status), codes));
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function responseName(status: string, codes: readonly ErrorCode[]): string {
  return [status, ...codes].join('.');
}

function errorResponse(status: number, codes: readonly ErrorCode[]): Json {
  const narrowed = {
    type: 'object',
    properties: { error: { type: 'object', properties: { code: { enum: codes } } } },
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code][1]}`).join('\n\n'),
    headers: {
      'X-Request-Id': ref('headers', 'RequestId'),
      ...(status === 429 && RATE_HEADERS),
      ...((status === 429 || status === 503) && { 'Retry-After': ref('headers', 'RetryAfter') }),
    },
    content: { 'application/json': { schema: { allOf: [ref('schemas', 'Error'), narrowed] } } },
  };
}

const RATE_HEADERS = {
  'X-RateLimit-Limit': ref('headers', 'RateLimit'),
  'X-RateLimit-Remaining': ref('headers', 'RateRemaining'),
  'X-RateLimit-Reset': ref('headers', 'RateReset'),
};

function header(type: 'string' | 'integer', description: string): Json {
  return { description, schema: { type } };
}

function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}
