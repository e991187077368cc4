import { type ExportedEntry, fitted } from './exported-entry.ts';
import { formatted } from './formats/format.ts';
import type { FormatName } from './schemas.ts';
import type { Encoded } from './transports/transport.ts';

/** Encodes entries for one receiver, none longer than it takes. */
export function encoder(
  format: FormatName,
  version: string,
  entryBytesMax: number,
): (entry: ExportedEntry) => Encoded & { bytes: number } {
  const encode = (entry: ExportedEntry) => {
    const made = formatted(format, entry, version);
    const text = typeof made === 'string' ? made : JSON.stringify(made);
    return { entry, text, bytes: Buffer.byteLength(text) };
  };
  return (entry) => fitted(entry, entryBytesMax, encode);
}
