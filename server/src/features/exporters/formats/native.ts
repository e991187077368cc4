import type { ExportedEntry } from '../exported-entry.ts';

/** The entry as `GET /v1/audit` shows it, with its tenant. */
export function toNative(entry: ExportedEntry): object {
  return entry;
}
