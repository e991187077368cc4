import type { MacKey } from '../../keys/keyring.ts';

/** Each frame begins on its own page, so that a torn write never damages another frame and the next frame is found after a damaged one. */
export const PAGE_BYTES = 4096;
export const JOURNAL_ID_BYTES = 16;
const MAC_BYTES = 32;
const MAGIC = 0x43_56_4a_31;
/** The maximum size of a frame, more than what the entries of one segment need. */
export const FRAME_BYTES_MAX = 2 * 1024 * 1024;
const AT = { magic: MAC_BYTES, length: 36, seq: 40, keyVersion: 48, id: 52, payload: 52 + JOURNAL_ID_BYTES };
export const PAYLOAD_BYTES_MAX = FRAME_BYTES_MAX - AT.payload;

/** One batch in the journal. The MAC covers everything after itself: format, length, number, key version, journal id and payload. */
export interface Frame {
  seq: number;
  keyVersion: number;
  id: Buffer;
  payload: Buffer;
  mac: Buffer;
  covered: Buffer;
  pages: number;
}

export function pagesOf(payloadBytes: number): number {
  return Math.ceil((AT.payload + payloadBytes) / PAGE_BYTES);
}

/**
 * Writes a frame to the beginning of `into`, which must have room for its pages, and pads the last page with zeros. Returns the number of pages.
 */
export function writeFrame(
  into: Buffer,
  { id, seq, payload }: { id: Buffer; seq: number; payload: string },
  key: MacKey,
): number {
  const length = into.write(payload, AT.payload, 'utf8');
  const end = AT.payload + length;
  into.writeUInt32BE(MAGIC, AT.magic);
  into.writeUInt32BE(length, AT.length);
  into.writeBigUInt64BE(BigInt(seq), AT.seq);
  into.writeUInt32BE(key.version, AT.keyVersion);
  id.copy(into, AT.id);
  key.mac(into.subarray(MAC_BYTES, end)).copy(into);
  const pages = pagesOf(length);
  into.fill(0, end, pages * PAGE_BYTES);
  return pages;
}

/** Parses the frame that begins at this page. Only its MAC can tell whether it is genuine. */
export function frameAt(bytes: Buffer, page: number): Frame | null {
  const start = page * PAGE_BYTES;
  if (start + AT.payload > bytes.length || bytes.readUInt32BE(start + AT.magic) !== MAGIC) return null;
  const length = bytes.readUInt32BE(start + AT.length);
  const pages = pagesOf(length);
  if (start + pages * PAGE_BYTES > bytes.length) return null;
  const end = start + AT.payload + length;
  return {
    seq: Number(bytes.readBigUInt64BE(start + AT.seq)),
    keyVersion: bytes.readUInt32BE(start + AT.keyVersion),
    id: bytes.subarray(start + AT.id, start + AT.payload),
    payload: bytes.subarray(start + AT.payload, end),
    mac: bytes.subarray(start, start + MAC_BYTES),
    covered: bytes.subarray(start + MAC_BYTES, end),
    pages,
  };
}
