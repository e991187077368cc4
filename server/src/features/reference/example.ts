import { ANY_TOKEN, type CredentialKind, type EndpointDeclaration, NONE } from '../../kernel/endpoint/declaration.ts';
import { type JsonSchema, plainSchema } from './openapi.ts';
import { ID_PATTERN, mapValue } from './schema-fields.ts';

const ID_REST = '01k9z3v7m2x8q4w6t5r1n0p9ha';
const TIMESTAMP = '2026-11-14T10:00:00.000Z';

/**
 * Example values by field name; fields not listed here try `CANDIDATES`. Path parameters accept any text as an id, so ids of the right kind are
 * listed here.
 */
const KNOWN: Readonly<Record<string, string>> = {
  name: 'payments',
  vault: 'payments',
  path: 'database/password',
  to_path: 'database/main/password',
  secret: 'database/password',
  prefix: 'database',
  description: 'For the payment service',
  username: 'ada',
  shell: '/bin/bash',
  email: 'ada@example.com',
  user: 'ada@example.com',
  group: 'payments-team',
  otp: '123456',
  reason: 'Agreed in ticket 4711',
  note: 'Ticket 4711',
  password: 'correct horse battery staple',
  value: 's3cr3t',
  plaintext: '4111 1111 1111 1111',
  envelope: 'eaas:v1:payments:1:3q2+7w==:yv66vg==:AAECAw==',
  message: 'Release 1.4.2',
  digest: 'qg7dbD9L0Wc0XwYp3vR1sU8tZk2mNf5hJxBaLeQoVi4',
  wrapped: 'qg7dbD9L0Wc0Xw==',
  signature: 'qg7dbD9L0Wc0Xw==',
  id_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln',
  query: 'postgres',
  environment: 'production',
  tag: 'pci',
  allowed_path: 'database/*',
  scope: 'secrets:read',
  action: 'secrets:read',
  ip_allowlist: '10.0.0.0/8',
  vault_id: `vault_${ID_REST}`,
  key_name: 'DATABASE_PASSWORD',
  subject_pattern: 'repo:acme/payments:ref:refs/heads/main',
  id: `sec_${ID_REST}`,
  secret_id: `sec_${ID_REST}`,
  user_id: `user_${ID_REST}`,
  member_id: `user_${ID_REST}`,
  group_id: `group_${ID_REST}`,
  token_id: `token_${ID_REST}`,
  session_id: `token_${ID_REST}`,
  passkey_id: `passkey_${ID_REST}`,
  tenant_id: `tenant_${ID_REST}`,
  access_id: `access_${ID_REST}`,
  share_id: `share_${ID_REST}`,
  approval_id: `approval_${ID_REST}`,
  anomaly_id: `anom_${ID_REST}`,
  exporter_id: `exporter_${ID_REST}`,
  webhook_id: `webhook_${ID_REST}`,
  delivery_id: `delivery_${ID_REST}`,
  attack_path_id: `apath_${ID_REST}`,
  cluster_id: `cluster_${ID_REST}`,
  policy_id: `cpolicy_${ID_REST}`,
  account_id: `acct_${ID_REST}`,
  environment_id: '1',
  federation_id: '1',
  method_id: '1',
  connection: '1',
  job: 'verify-audit',
  key_id: 'Zm5mYzU4NzE2NGM1',
  client_id: 'f3b6d1c2-9a84-4c6e-8f0b-2d7e51a6c930',
  request_id: `req_${ID_REST}`,
};

/** Fields that are usually null in a response until something happens, such as a deletion or a next page. */
const NOT_YET = /_at$|^next_|^approval_id$/;

const SHA256 = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

const CANDIDATES = [
  'example',
  TIMESTAMP,
  '123456',
  '10.0.0.0/8',
  'ada@example.com',
  'https://example.com',
  'A',
  'a:b',
  SHA256,
];

/** A request that can be pasted into a shell. */
export function curlExample(e: EndpointDeclaration, serverUrl: string): string {
  const lines = [`curl ${e.method === 'GET' ? '' : `-X ${e.method} `}${quoted(`${serverUrl}${examplePath(e)}`)}`];
  lines.push(...credentialOptions(e));
  const body = e.body === NONE ? '{}' : jsonText(exampleOf(plainSchema(e.body), 'body', 'needed'));
  if (body !== '{}') lines.push("-H 'Content-Type: application/json'", `-d ${quoted(body.replaceAll('\n', '\n  '))}`);
  return lines.join(' \\\n  ');
}

/** In double quotes, so that the shell expands the variable with the credential. */
function credentialOptions({ credentials }: EndpointDeclaration): string[] {
  if (credentials === 'public') return [];
  if (credentials.includes('cluster')) return ['-H "X-Cluster-Token: $COFFER_CLUSTER_TOKEN"'];
  if (credentials.includes('scim')) return ['-H "Authorization: Bearer $COFFER_SCIM_TOKEN"'];
  if (credentials.some((kind) => BEARER_KINDS.includes(kind))) return ['-H "Authorization: Bearer $COFFER_TOKEN"'];
  return ['-H "X-Client-Id: $COFFER_CLIENT_ID"', '-H "X-Client-Secret: $COFFER_CLIENT_SECRET"'];
}

const BEARER_KINDS: readonly CredentialKind[] = [...ANY_TOKEN, 'federation', 'workload'];

/** A response with every field, or null if it is not JSON. */
export function answerExample(e: EndpointDeclaration): string | null {
  return e.output === NONE ? null : jsonText(exampleOf(plainSchema(e.output), 'answer', 'all'));
}

/** Indented, except that arrays of plain values stay on one line. */
function jsonText(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return text.replaceAll(/\[\n\s+([^[\]{}]*?)\n\s+\]/g, (_, items: string) => `[${items.replaceAll(/\n\s+/g, ' ')}]`);
}

function examplePath(e: EndpointDeclaration): string {
  const params = e.params === NONE ? {} : (plainSchema(e.params).properties ?? {});
  const path = e.path.replaceAll(/\{([a-z_]+)(\*?)\}/g, (_, name: string, star: string) => {
    const text = String(exampleOf(params[name] ?? {}, name, 'needed'));
    return star === '*' ? text.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(text);
  });
  if (e.query === NONE) return path;
  const { properties = {}, required = [] } = plainSchema(e.query);
  const pairs = required.map((name) => [name, String(exampleOf(properties[name] ?? {}, name, 'needed'))]);
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}

/** `needed` includes only the required fields, or the first field if none is required. */
export function exampleOf(schema: JsonSchema, name: string, extent: 'needed' | 'all'): unknown {
  const given = schema.examples?.[0] ?? schema.default ?? schema.const ?? schema.enum?.[0];
  if (given !== undefined) return given;
  if (schema.anyOf !== undefined) {
    const hasNull = schema.anyOf.some((choice) => choice.type === 'null');
    return extent === 'all' && hasNull && NOT_YET.test(name) ? null : exampleOf(schema.anyOf[0] ?? {}, name, extent);
  }
  if (schema.type === 'null') return null;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'integer' || schema.type === 'number') return inRange(1, schema.minimum, schema.maximum);
  if (schema.items !== undefined) return [exampleOf(schema.items, singular(name), extent)];
  if (schema.type === 'object') return exampleObject(schema, extent);
  return exampleText(schema, name);
}

function exampleObject(schema: JsonSchema, extent: 'needed' | 'all'): Record<string, unknown> {
  const valueSchema = mapValue(schema);
  if (valueSchema !== null) return { example: exampleOf(valueSchema, 'example', extent) };
  const { properties = {}, required = [] } = schema;
  const all = Object.keys(properties);
  const needed = required.length > 0 ? all.filter((key) => required.includes(key)) : all.slice(0, 1);
  const keys = extent === 'all' ? all : needed;
  return Object.fromEntries(keys.map((key) => [key, exampleOf(properties[key] ?? {}, key, extent)]));
}

function exampleText(schema: JsonSchema, name: string): string {
  const idPrefix = ID_PATTERN.exec(schema.pattern ?? '')?.[1];
  const isTime = schema.format === 'date-time' || name.endsWith('_at') || name === 'timestamp';
  const candidates = [idPrefix === undefined ? undefined : `${idPrefix}${ID_REST}`, isTime ? TIMESTAMP : undefined];
  candidates.push(Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined, ...CANDIDATES);
  // A made-up text that the service would refuse misleads; a word in angle brackets asks to be replaced.
  return candidates.find((text) => text !== undefined && isAllowed(text, schema)) ?? `<${name}>`;
}

function isAllowed(text: string, schema: JsonSchema): boolean {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = schema;
  if (text.length < minLength || text.length > maxLength) return false;
  return pattern === undefined || new RegExp(pattern, 'u').test(text);
}

function inRange(wanted: number, low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(wanted, low), high);
}

function singular(name: string): string {
  return name.endsWith('ies') ? `${name.slice(0, -3)}y` : name.replace(/s$/, '');
}

/** Quotes for a POSIX shell. Plain words stay unquoted, as people write them. */
function quoted(text: string): string {
  return /^[\w:/.@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
