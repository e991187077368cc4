import type { Tables } from '../storage/tables.ts';

/** One entry of the audit log before it has its place in the chain. */
export type AuditEntry = Omit<Tables['audit_entries'], 'seq' | 'hash'>;

export type AuditDecision = AuditEntry['decision'];

/** Longest texts the log keeps: what a caller sends (paths, agents) is cut, never refused, since refusals are logged too. */
const TEXT_MAX = 1200;
const USER_AGENT_MAX = 256;
const DETAILS_MAX = 4096;

/**
 * Makes caller-made text fit to store: a NUL or half a surrogate pair would make PostgreSQL refuse the whole batch, and with it the
 * requests of others; control characters could forge lines in an export.
 */
export function cleanText(text: string, max: number = TEXT_MAX): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  const safe = /[\x00-\x1f\x7f\ud800-\udfff]/.test(text) ? text.toWellFormed().replace(CONTROL, '\ufffd') : text;
  return safe.length > max ? safe.slice(0, max).toWellFormed() : safe;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const CONTROL = /[\x00-\x1f\x7f]/g;

export function cleanUserAgent(text: string | undefined): string {
  return text === undefined ? '' : cleanText(text, USER_AGENT_MAX);
}

/** Details are made by our own code from names, ids and counts; a text too long to keep is replaced by saying so. */
export function detailsText(details: Record<string, unknown> | undefined): string {
  if (details === undefined) return '';
  const text = JSON.stringify(details, (_, value) => (typeof value === 'string' ? cleanText(value) : value));
  return text.length > DETAILS_MAX ? '{"truncated":true}' : text;
}
