import type { TSchema } from 'typebox';
import { FORWARD_STATUS } from '../../kernel/auth/region-gate.ts';
import {
  ERROR_CODES,
  type ErrorCode,
  HEADERS_TOO_LARGE_STATUS,
  INCOMPLETE_REQUEST_ERRORS,
} from '../../kernel/base/errors.ts';
import { PENDING_STATUS, PendingApproval } from '../../kernel/endpoint/approval.ts';
import {
  type CredentialKind,
  type EndpointDeclaration,
  EVENT_STREAM,
  errorCodes,
  NONE,
  NOT_MODIFIED_STATUS,
} from '../../kernel/endpoint/declaration.ts';
import { isPage } from '../../kernel/request/reply.ts';
import { ErrorResponse } from '../../kernel/wire/error-response.ts';
import { SECRET_PATH_PATTERN } from '../../kernel/wire/secret-path.ts';
import { statusIn, type WireFormat } from '../../kernel/wire/wire-format.ts';
import { ComponentSchemas, type Json, withWidth } from './openapi-schemas.ts';

/** The parts of JSON Schema that the docs use. */
export interface JsonSchema {
  type?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  patternProperties?: Record<string, JsonSchema>;
  propertyNames?: JsonSchema;
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

/** Builds the OpenAPI 3.1 document from the declarations alone, so no declared endpoint can be missing from it. */
export function openApiDocument(declarations: readonly EndpointDeclaration[], info: DocumentInfo): object {
  const schemas = new ComponentSchemas();
  const paths: Record<string, Json> = {};
  for (const e of declarations) {
    const path = templatedPath(e.path);
    paths[path] = { ...paths[path], [e.method.toLowerCase()]: operation(e, schemas) };
  }
  const responses = {
    ...errorResponses(declarations, schemas),
    [TOO_LARGE]: {
      ...errorResponse(HEADERS_TOO_LARGE_STATUS, ['INVALID_REQUEST'], schemas),
      description: INCOMPLETE_REQUEST_ERRORS,
    },
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Coffer',
      version: info.version,
      description: INFO_DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.serverUrl }],
    tags: tags(declarations),
    paths,
    components: {
      schemas: schemas.components(),
      responses,
      parameters: {
        IdempotencyKey: IDEMPOTENCY_KEY,
        IfMatch: IF_MATCH,
        IfMatchETag: IF_MATCH_ETAG,
        IfNoneMatch: IF_NONE_MATCH,
      },
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** The description of a noun comes from whichever of its endpoints has one. */
function tags(declarations: readonly EndpointDeclaration[]): Json[] {
  return [...Map.groupBy(declarations, (e) => e.noun)].map(([name, endpoints]) => {
    const description = endpoints.find((e) => e.aboutNoun !== undefined)?.aboutNoun?.description;
    return { name, ...(description !== undefined && { description }) };
  });
}

/** A TypeBox schema without the properties that only TypeBox reads. */
export function plainSchema(schema: TSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema));
}

/** Whether responses carry the rate limit headers. */
export function isRateLimited(e: EndpointDeclaration): boolean {
  return e.credentials === 'public' ? e.rate === 'auth' : e.rate !== 'none';
}

const INFO_DESCRIPTION = [
  'Coffer manages secrets: it stores, versions, rotates and serves them, and records in an audit log who requested what.',
  'Every path also works with `/v1` added or removed: `/v1/vaults` is `/vaults`, `/auth/me` is `/v1/auth/me`.',
  'Bodies are JSON in UTF-8, and unknown fields are rejected. Timestamps are ISO 8601 in UTC. A list response has ' +
    '`next_cursor`: send it as `cursor`, with the same filters, to get the next page; it is null on the last page.',
  INCOMPLETE_REQUEST_ERRORS,
].join('\n\n');

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A personal access token (`cv_pat_…`), a session token from `POST /auth/login`, or a token that a machine obtained in ' +
      'exchange for an external identity; for SCIM the token of a sign-on provider (`cv_scim_…`). A token that is bound to a key is sent with ' +
      'the scheme `DPoP` and a proof.',
  },
  clientId: { type: 'apiKey', in: 'header', name: 'X-Client-Id', description: 'The client id of the AppConnection.' },
  clientSecret: { type: 'apiKey', in: 'header', name: 'X-Client-Secret', description: 'Its secret (`Svc_…`).' },
  clusterToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Cluster-Token',
    description: 'The token of the cluster (`cv_cluster_…`).',
  },
  certificate: { type: 'mutualTLS', description: 'The client certificate of an AppConnection, on the TLS port.' },
};

/** One alternative for each kind of credential. If an AppConnection requires more, such as a DPoP proof, the error names what is missing. */
const REQUIREMENTS: Record<CredentialKind, Json> = {
  pat: { bearer: [] },
  session: { bearer: [] },
  federation: { bearer: [] },
  workload: { bearer: [] },
  connection: { clientId: [], clientSecret: [] },
  certificate: { certificate: [] },
  bound_certificate: { certificate: [] },
  cluster: { clusterToken: [] },
  // A client that openapi-generator makes for Java sets the token of one bearer scheme only, whichever comes first.
  scim: { bearer: [] },
  metrics: { bearer: [] },
};

function security({ credentials }: EndpointDeclaration): Json[] {
  if (credentials === 'public') return [];
  return credentials.map((kind) => REQUIREMENTS[kind]).filter(isFirstWithSameSchemes);
}

function isFirstWithSameSchemes(requirement: Json, index: number, all: readonly Json[]): boolean {
  return all.findIndex((other) => Object.keys(other).join() === Object.keys(requirement).join()) === index;
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and ' +
    'a different request with the same key is rejected.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT.',
  schema: { type: 'string', pattern: '^"v[1-9][0-9]{0,9}"$' },
};

/** For formats whose versions are ETags (RFC 9110). */
const IF_MATCH_ETAG = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412.',
  schema: { type: 'string', maxLength: 256, pattern: '^[\\x20-\\x7e]*$' },
};

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The ETag of the response that you have; if it is still current, the response is 304 without a body.',
  schema: { type: 'string', maxLength: 256 },
};

const HEADERS = {
  RequestId: header('string', 'The id of this request, also found in the audit log and in `error.request_id`.'),
  RateLimit: header('integer', 'Requests allowed per minute.'),
  RateRemaining: header('integer', 'Requests that are still available.'),
  RateReset: header('integer', 'Unix time at which the full limit is available again.'),
  RetryAfter: header('integer', 'Seconds to wait before repeating the request.'),
  IdempotencyReplayed: header(
    'string',
    '`true` if this is the stored response of an earlier request with the same key.',
  ),
};

const STATUS_TEXT = { 200: 'Done.', 201: 'Created.', 202: 'Accepted; not done yet.', 204: 'Done; no content.' };

function operation(e: EndpointDeclaration, schemas: ComponentSchemas): Json {
  const parameters = [...pathParameters(e, schemas), ...queryParameters(e, schemas)];
  if (e.ifMatch === true) parameters.push(ref('parameters', e.format ? 'IfMatchETag' : 'IfMatch'));
  if (e.ifNoneMatch === true) parameters.push(ref('parameters', 'IfNoneMatch'));
  if (takesIdempotencyKey(e)) parameters.push(ref('parameters', 'IdempotencyKey'));
  return {
    operationId: e.name,
    summary: e.summary,
    ...(e.description !== undefined && { description: e.description }),
    tags: [e.noun],
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(e, schemas),
    responses: responses(e, schemas),
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

/** OpenAPI cannot declare a path parameter that spans segments, so only the description of the parameter says that it does. */
function templatedPath(path: string): string {
  return path.replaceAll('*}', '}');
}

function pathParameters(e: EndpointDeclaration, schemas: ComponentSchemas): Json[] {
  if (e.params === NONE) return [];
  return Object.entries(e.params.properties).map(([name, declared]) => {
    const { description, schema } = parameterSchema(declared, schemas);
    const isSpanning = e.path.includes(`{${name}*}`);
    const spans = isSpanning ? 'May span segments: `/` is sent as it is or as `%2F`.' : undefined;
    const text = [description, spans].filter((part) => part !== undefined).join(' ');
    return {
      name,
      in: 'path',
      required: true,
      ...(text !== '' && { description: text }),
      schema: isSpanning ? { ...schema, pattern: SECRET_PATH_PATTERN } : schema,
    };
  });
}

function queryParameters(e: EndpointDeclaration, schemas: ComponentSchemas): Json[] {
  if (e.query === NONE) return [];
  const required: readonly string[] = e.query.required ?? [];
  return Object.entries(e.query.properties).map(([name, declared]) => {
    const { description, schema } = parameterSchema(declared, schemas);
    const isRequired = required.includes(name);
    return {
      name,
      in: 'query',
      required: isRequired,
      // An empty parameter counts as absent.
      ...(!isRequired && { allowEmptyValue: true }),
      ...(description !== undefined && { description }),
      schema: isFreeText(schema) ? { ...schema, pattern: WITHOUT_NUL } : schema,
    };
  });
}

/** No query parameter may contain NUL, which PostgreSQL cannot store. */
const WITHOUT_NUL = '^[^\\u0000]*$';

function isFreeText({ type, pattern, enum: choices, anyOf }: Json): boolean {
  return type === 'string' && pattern === undefined && choices === undefined && anyOf === undefined;
}

/** Separates the description, which OpenAPI puts beside a parameter's schema. */
function parameterSchema(declared: TSchema, schemas: ComponentSchemas): { description?: string; schema: Json } {
  const { description, ...schema } = schemas.of(declared);
  const text = description ?? plainSchema(declared).description;
  return { ...(typeof text === 'string' && { description: text }), schema };
}

function requestBody(e: EndpointDeclaration, schemas: ComponentSchemas): Json {
  if (e.rawBody === true) return { requestBody: signedBody(e) };
  if (e.body === NONE) return {};
  const schema = schemas.namedBy(typeName(e, 'Input'), `The request body of \`${e.name}\`.`, e.body);
  return {
    requestBody: {
      description: `At most ${e.bodyBytesMax} bytes.`,
      required: (e.body.required ?? []).length > 0,
      content: contentIn(e.format, schema),
    },
  };
}

function contentIn(format: WireFormat | undefined, schema: Json): Json {
  return { ...(format && { [format.mediaType]: { schema } }), 'application/json': { schema } };
}

/** A body whose bytes are signed. What it may contain is decided by anyone who signs it. */
function signedBody({ bodyBytesMax }: EndpointDeclaration): Json {
  const schema = {
    type: 'object',
    additionalProperties: true,
    description: 'JSON whose bytes are signed in a header.',
  };
  const description = `At most ${bodyBytesMax} bytes.`;
  return { description, required: true, content: { 'application/json': { schema } } };
}

/** Not `Request` and `Response`, because generators derive those names from the operation for types of their own. */
function typeName(e: EndpointDeclaration, part: 'Input' | 'Output'): string {
  return `${e.name.charAt(0).toUpperCase()}${e.name.slice(1)}${part}`;
}

function responses(e: EndpointDeclaration, schemas: ComponentSchemas): Json {
  const headers: Json = {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...(isRateLimited(e) && RATE_HEADERS),
    ...(takesIdempotencyKey(e) && { 'Idempotency-Replayed': ref('headers', 'IdempotencyReplayed') }),
  };
  const success: Json = { description: STATUS_TEXT[e.status], headers, ...successContent(e, schemas) };
  const errors = Object.entries(codesByStatus(e)).map(([status, codes]) => {
    return [status, ref('responses', responseName(status, codes, e))];
  });
  return {
    [e.status]: success,
    ...(e.region === 'forward' &&
      e.credentials !== 'public' && {
        [FORWARD_STATUS]: {
          description: 'Another region is the primary region of the tenant: repeat the request at `Location`.',
          headers,
        },
      }),
    ...(e.ifNoneMatch === true && { [NOT_MODIFIED_STATUS]: { description: 'Not modified.', headers } }),
    ...(e.approval !== NONE && { [PENDING_STATUS]: pendingResponse(e.approval, headers, schemas) }),
    ...Object.fromEntries(errors),
    [HEADERS_TOO_LARGE_STATUS]: ref('responses', TOO_LARGE),
  };
}
const TOO_LARGE = 'HeadersTooLarge';

function pendingResponse(approval: string, headers: Json, schemas: ComponentSchemas): Json {
  return {
    description: `Not done: approval of the kind \`${approval}\` is pending.`,
    headers,
    content: { 'application/json': { schema: schemas.of(PendingApproval) } },
  };
}

function successContent(e: EndpointDeclaration, schemas: ComponentSchemas): Json {
  if (e.output !== NONE) {
    const schema = schemas.namedBy(typeName(e, 'Output'), `The response of \`${e.name}\`.`, e.output);
    const events = e.events === true && { [EVENT_STREAM]: { schema: { type: 'string' } } };
    return { content: { ...contentIn(e.format, schema), ...events } };
  }
  if (e.raw === NONE) return {};
  const types = [e.raw, ...(e.otherRaw ?? [])].map((type) => type.split(';', 1).join());
  return { content: Object.fromEntries(types.map((type) => [type, { schema: rawSchema(e, type, schemas) }])) };
}

/** `binary` is the OpenAPI 3.0 notation for bytes. Generators support it, and most do not support `contentMediaType` of 3.1. */
function rawSchema(e: EndpointDeclaration, type: string, schemas: ComponentSchemas): Json {
  if (type === 'application/json' && e.rawSchema !== undefined) return schemas.of(e.rawSchema);
  return { type: 'string', ...(!isText(type) && { format: 'binary' }) };
}

function isText(type: string): boolean {
  return type.startsWith('text/') || type === 'application/x-pem-file' || type === 'application/x-ndjson';
}

function codesByStatus(e: EndpointDeclaration): Record<string, ErrorCode[]> {
  const grouped: Record<string, ErrorCode[]> = {};
  for (const code of errorCodes(e)) {
    const status = statusIn(e.format, code);
    grouped[status] = [...(grouped[status] ?? []), code];
  }
  return grouped;
}

/** Most endpoints share their error responses. Repeated at each endpoint, they would make up most of the document. */
function errorResponses(declarations: readonly EndpointDeclaration[], schemas: ComponentSchemas): Json {
  const found = new Map<string, Json>();
  for (const e of declarations) {
    for (const [status, codes] of Object.entries(codesByStatus(e))) {
      found.set(responseName(status, codes, e), errorResponse(Number(status), codes, schemas, e));
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function responseName(status: string, codes: readonly ErrorCode[], { format, raw }: EndpointDeclaration): string {
  const kind = format?.name ?? (isPage(raw) ? 'Page' : null);
  return [...(kind === null ? [] : [kind]), status, ...codes].join('.');
}

/** All error responses share one schema. Narrowing it for each status needs `allOf`, of which generators keep only the last part. */
function errorResponse(
  status: number,
  codes: readonly ErrorCode[],
  schemas: ComponentSchemas,
  { format, raw }: Partial<EndpointDeclaration> = {},
): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code][1]}`).join('\n\n'),
    headers: {
      'X-Request-Id': ref('headers', 'RequestId'),
      ...(status === 429 && RATE_HEADERS),
      ...((status === 429 || status === 503) && { 'Retry-After': ref('headers', 'RetryAfter') }),
    },
    content: {
      ...contentIn(format, schemas.of(format?.errorSchema ?? ErrorResponse)),
      // For browsers, which accept it.
      ...(isPage(raw) && { 'text/html': { schema: { type: 'string' } } }),
    },
    'x-coffer': { codes },
  };
}

const RATE_HEADERS = {
  'X-RateLimit-Limit': ref('headers', 'RateLimit'),
  'X-RateLimit-Remaining': ref('headers', 'RateRemaining'),
  'X-RateLimit-Reset': ref('headers', 'RateReset'),
};

function header(type: 'string' | 'integer', description: string): Json {
  return { description, schema: type === 'integer' ? withWidth({ type, minimum: 0 }) : { type } };
}

function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}
