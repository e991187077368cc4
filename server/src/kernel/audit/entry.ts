import { MAX_VAULT_NAME_CHARS } from '../authz/limits.ts';
import type { RowRecord } from '../integrity/row-changes.ts';

/** One entry of the audit log. */
export interface AuditEntry {
  tenant_id: string;
  id: string;
  at: number;
  actor_kind: string;
  actor_id: string;
  actor_name: string;
  actor_key: string;
  action: string;
  resource: string;
  vault: string;
  decision: AuditDecision;
  status: number;
  ip: string;
  user_agent: string;
  request_id: string;
  reason: string;
  /** JSON object, or empty. */
  details: string;
  /** The authenticated rows that the change left behind; absent where there is none. */
  rows?: readonly RowRecord[];
}

export type AuditDecision = 'allow' | 'deny' | 'error';

/**
 * An entry as it is stored and hashed: a JSON list of its fields in this order, which never changes, since logs already written must go
 * on verifying. The rows come last, where there are any. The tenant is not part of it: the segment has it, and the hash covers it.
 */
export function entryText(e: AuditEntry): string {
  const fields = [
    e.id,
    e.at,
    e.actor_kind,
    e.actor_id,
    e.actor_name,
    e.actor_key,
    e.action,
    e.resource,
    e.vault,
    e.decision,
    e.status,
    e.ip,
    e.user_agent,
    e.request_id,
    e.reason,
    e.details,
  ];
  return JSON.stringify(e.rows === undefined ? fields : [...fields, e.rows]);
}

const FIELDS = [
  'id',
  'at',
  'actor_kind',
  'actor_id',
  'actor_name',
  'actor_key',
  'action',
  'resource',
  'vault',
  'decision',
  'status',
  'ip',
  'user_agent',
  'request_id',
  'reason',
  'details',
] as const satisfies readonly (keyof AuditEntry)[];

export function entryOf(tenantId: string, fields: readonly unknown[]): AuditEntry {
  const entry: Record<string, unknown> = { tenant_id: tenantId };
  FIELDS.forEach((name, i) => {
    entry[name] = fields[i];
  });
  if (fields.length > FIELDS.length) entry['rows'] = fields[FIELDS.length];
  return entry as unknown as AuditEntry;
}

/** Longest texts the log keeps: what a caller sends (paths, agents) is cut, never refused, since refusals are logged too. */
const RESOURCE_MAX = 1200;
const REASON_MAX = 600;
/** An e-mail address, or the name of a connection. */
const ACTOR_MAX = 400;
const USER_AGENT_MAX = 256;
const DETAILS_MAX = 4096;
/** All of an entry that a request can make longer, and the ids and numbers beside it. */
export const ENTRY_CHARS_MAX = 8192;

/**
 * Makes caller-made text fit to store: a NUL or half a surrogate pair would make PostgreSQL refuse the whole batch, and with it the
 * requests of others; control characters could forge lines in an export.
 */
export function cleanText(text: string, max: number = RESOURCE_MAX): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  const safe = /[\x00-\x1f\x7f\ud800-\udfff]/.test(text) ? text.toWellFormed().replace(CONTROL, '\ufffd') : text;
  return safe.length > max ? safe.slice(0, max).toWellFormed() : safe;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const CONTROL = /[\x00-\x1f\x7f]/g;

export function cleanReason(text: string): string {
  return cleanText(text, REASON_MAX);
}

export function cleanActor(text: string): string {
  return cleanText(text, ACTOR_MAX);
}

export function cleanUserAgent(text: string | undefined): string {
  return text === undefined ? '' : cleanText(text, USER_AGENT_MAX);
}

/** Details are made by our own code from names, ids and counts; a text too long to keep is replaced by saying so. */
export function detailsText(details: Record<string, unknown> | undefined): string {
  if (details === undefined) return '';
  const text = JSON.stringify(details, (_, value) => (typeof value === 'string' ? cleanText(value) : value));
  return text.length > DETAILS_MAX ? '{"truncated":true}' : text;
}

/** The vault a resource is in, by which the log can be filtered. */
export function vaultOf(resource: string): string {
  if (!resource.startsWith('vault/')) return '';
  const end = resource.indexOf('/', 6);
  return resource.slice(6, Math.min(end === -1 ? resource.length : end, 6 + MAX_VAULT_NAME_CHARS));
}
