import { hostname } from 'node:os';
import type { ExportedEntry } from '../exported-entry.ts';

/** rsyslog cuts a frame of over 8,096 bytes and reads the rest as a new message, which would let a caller's text forge one. */
export const FRAME_BYTES_MAX = 8000;

/** Facility 13 is "log audit". Severities: informational, warning, error. */
const FACILITY = 13;
const SEVERITIES = { allow: 6, deny: 4, error: 3 } as const;
const SEQUENCE_MAX = 2_147_483_647;
const HOST_CHARS_MAX = 255;
const ID_CHARS_MAX = 32;

/** RFC 5424, in the octet-counted framing of RFC 5425 and 6587. */
export function syslogFrame(entry: ExportedEntry, message: string, productVersion: string): Buffer {
  const header = [
    `<${FACILITY * 8 + SEVERITIES[entry.decision]}>1`,
    entry.timestamp,
    printable(hostname(), HOST_CHARS_MAX),
    'coffer',
    '-',
    printable(entry.action, ID_CHARS_MAX),
  ].join(' ');
  const origin = `[origin software="coffer" swVersion="${escapedParam(productVersion)}"]`;
  const meta = `[meta sequenceId="${sequenceId(entry.seq)}"]`;
  const text = Buffer.from(`${header} ${origin}${meta} ${message}`, 'utf8');
  return Buffer.concat([Buffer.from(`${text.length} `, 'ascii'), text]);
}

/** Counts from 1 and starts over at its end, as RFC 5424 demands. */
function sequenceId(seq: number | null): number {
  return seq === null || seq < 1 ? 1 : ((seq - 1) % SEQUENCE_MAX) + 1;
}

/** Header fields are printable ASCII without spaces; one that is empty is a dash. */
function printable(text: string, charsMax: number): string {
  return text.replace(/[^\x21-\x7e]/g, '_').slice(0, charsMax) || '-';
}

export function escapedParam(text: string): string {
  return text.replace(/["\\\]]/g, '\\$&');
}
