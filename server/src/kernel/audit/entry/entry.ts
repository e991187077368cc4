import { MAX_VAULT_NAME_CHARS } from '../../authz/limits.ts';
import type { RowRecord } from '../../storage/row-changes.ts';

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
  /** A JSON object, or empty. */
  details: string;
  /** The authenticated rows as the change left them; absent if it changed none. */
  rows?: readonly RowRecord[];
}

export type AuditDecision = 'allow' | 'deny' | 'error';

/**
 * An entry as it is stored and hashed: a JSON array of its fields in this order. The order must never change, because existing logs must still
 * verify. The rows, if any, come last. The tenant is not included: the segment stores it and the hash covers it.
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

/** The entry with these fields, in the order in which they are stored. Nothing is checked. */
export function entryOf(tenant_id: string, fields: readonly unknown[]): AuditEntry {
  const entry: AuditEntry = {
    tenant_id,
    id: fields[0] as string,
    at: fields[1] as number,
    actor_kind: fields[2] as string,
    actor_id: fields[3] as string,
    actor_name: fields[4] as string,
    actor_key: fields[5] as string,
    action: fields[6] as string,
    resource: fields[7] as string,
    vault: fields[8] as string,
    decision: fields[9] as AuditDecision,
    status: fields[10] as number,
    ip: fields[11] as string,
    user_agent: fields[12] as string,
    request_id: fields[13] as string,
    reason: fields[14] as string,
    details: fields[15] as string,
  };
  return fields.length > FIELDS ? { ...entry, rows: fields[FIELDS] as readonly RowRecord[] } : entry;
}

/** How many fields are stored before the rows. */
const FIELDS = 16;
const DECISIONS: ReadonlySet<unknown> = new Set(['allow', 'deny', 'error'] satisfies AuditDecision[]);
const TIME_MAX = 8.64e15;

/** Whether a stored entry has the form in which the service writes it. Somebody may have changed the row in the database. */
export function isEntry(entry: AuditEntry): boolean {
  const { at, status, decision, rows, details } = entry;
  if (!Number.isSafeInteger(at) || Math.abs(at) > TIME_MAX || !Number.isSafeInteger(status)) return false;
  return hasTexts(entry) && DECISIONS.has(decision) && (rows === undefined || isRows(rows)) && isDetails(details);
}

/** Field by field, because a page of the log may need thousands of entries. */
function hasTexts(e: AuditEntry): boolean {
  return (
    typeof e.id === 'string' &&
    typeof e.actor_kind === 'string' &&
    typeof e.actor_id === 'string' &&
    typeof e.actor_name === 'string' &&
    typeof e.actor_key === 'string' &&
    typeof e.action === 'string' &&
    typeof e.resource === 'string' &&
    typeof e.vault === 'string' &&
    typeof e.ip === 'string' &&
    typeof e.user_agent === 'string' &&
    typeof e.request_id === 'string' &&
    typeof e.reason === 'string' &&
    typeof e.details === 'string'
  );
}

function isRows(rows: unknown): boolean {
  return Array.isArray(rows) && rows.every((row) => Array.isArray(row));
}

function isDetails(details: string): boolean {
  if (details === '') return true;
  try {
    const parsed: unknown = JSON.parse(details);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

/** Length limits of stored texts. Caller input such as paths and user agents is truncated, never refused, because refusals are recorded too. */
const RESOURCE_MAX = 1200;
const REASON_MAX = 600;
/** An e-mail address, or the name of a connection. */
const ACTOR_MAX = 400;
const USER_AGENT_MAX = 256;
const DETAILS_MAX = 4096;
/** The parts of an entry that a request can make longer, plus its ids and numbers. */
export const ENTRY_CHARS_MAX = 8192;

/**
 * Makes text from a caller safe to store. PostgreSQL would reject a whole batch, with the entries of other requests, because of one NUL or half a
 * surrogate pair; control characters could forge lines in an export.
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

/** Details consist of names, ids and counts from our own code. Details that are too long are replaced by a marker. */
export function detailsText(details: Record<string, unknown> | undefined): string {
  if (details === undefined) return '';
  const plain = JSON.stringify(details);
  // A function for each value takes longer than the rest, and what is short and has none of these characters stays as it is.
  if (plain.length <= RESOURCE_MAX && !UNCLEAN_JSON.test(plain)) return plain;
  const text = JSON.stringify(details, (_, value) => (typeof value === 'string' ? cleanText(value) : value));
  return text.length > DETAILS_MAX ? '{"truncated":true}' : text;
}

/** JSON writes control characters with a backslash, except the last one. */
const UNCLEAN_JSON = /[\\\x7f\ud800-\udfff]/;

/** The vault of a resource, by which the log can be filtered. */
export function vaultOf(resource: string): string {
  if (!resource.startsWith('vault/')) return '';
  const end = resource.indexOf('/', 6);
  return resource.slice(6, Math.min(end === -1 ? resource.length : end, 6 + MAX_VAULT_NAME_CHARS));
}
