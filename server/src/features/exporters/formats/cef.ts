import type { ExportedEntry } from '../exported-entry.ts';

/** From 0 to 10, in CEF's scale. */
const SEVERITIES = { allow: 3, deny: 6, error: 8 } as const;

/** ArcSight's Common Event Format. Fields that CEF has no key for use its labelled custom strings. */
export function toCef(entry: ExportedEntry, productVersion: string): string {
  const header = [
    'CEF:0',
    'Coffer',
    'Coffer',
    productVersion,
    entry.action,
    entry.action,
    String(SEVERITIES[entry.decision]),
  ];
  const extension: [string, string][] = [
    ['rt', String(Date.parse(entry.timestamp))],
    ['externalId', entry.id],
    ['suid', entry.actor.id],
    ['suser', entry.actor.name],
    ['src', entry.ip],
    ['outcome', entry.decision],
    ['reason', entry.reason ?? ''],
    ['requestClientApplication', entry.user_agent],
    ...labelled('cs1', 'resource', entry.resource),
    ...labelled('cs2', 'vault', entry.vault ?? ''),
    ...labelled('cs3', 'request_id', entry.request_id),
    ...labelled('cs4', 'hash', entry.hash ?? ''),
    ...labelled('cs5', 'actor', `${entry.actor.kind} ${entry.actor.key}`.trim()),
    ...labelled('cs6', 'details', detailsOf(entry)),
    ...labelled('cn1', 'seq', entry.seq === null ? '' : String(entry.seq)),
    ...labelled('cn2', 'status', String(entry.status)),
    ...labelled('flexString1', 'tenant', entry.tenant_id),
    ...(entry.truncated === true ? labelled('flexString2', 'truncated', 'true') : []),
  ];
  const pairs = extension.filter(([, value]) => value !== '').map(([key, value]) => `${key}=${escapedValue(value)}`);
  return `${header.map(escapedHeader).join('|')}|${pairs.join(' ')}`;
}

function labelled(key: string, label: string, value: string): [string, string][] {
  return value === ''
    ? []
    : [
        [`${key}Label`, label],
        [key, value],
      ];
}

function detailsOf({ details, rows }: ExportedEntry): string {
  const all = rows === undefined ? details : { ...details, rows };
  return Object.keys(all).length === 0 ? '' : JSON.stringify(all);
}

/** A header is one line, and CEF gives it no way to write a line break. */
function escapedHeader(text: string): string {
  return text.replace(/[\\|]/g, '\\$&').replace(/[\r\n]/g, ' ');
}

function escapedValue(text: string): string {
  return text.replace(/[\\=]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r');
}
