import { type ExportedEntry, fitted } from './exported-entry.ts';
import { formatted } from './formats/format.ts';
import type { FormatName } from './schemas.ts';
import type { Encoded, Transport } from './transports/transport.ts';

/** Encodes entries for one receiver, none longer than it takes. */
export function encoder(
  format: FormatName,
  version: string,
  { limits, timeField }: Pick<Transport, 'limits' | 'timeField'>,
): (entry: ExportedEntry) => Encoded & { bytes: number } {
  const encode = (entry: ExportedEntry) => {
    const made = formatted(format, entry, version);
    const timed =
      timeField === undefined || typeof made === 'string' ? made : { [timeField]: entry.timestamp, ...made };
    const text = typeof timed === 'string' ? timed : JSON.stringify(timed);
    return { entry, text, bytes: Buffer.byteLength(text) };
  };
  return (entry) => fitted(entry, limits.entryBytesMax, encode);
}
