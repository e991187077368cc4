/** Castagnoli's polynomial, with its bits reversed (RFC 3720, 12.1). */
const POLYNOMIAL = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

/** A checksum against faults of transport, which Google Cloud KMS uses. It protects against nobody. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ Number(TABLE[(crc ^ byte) & 0xff]);
  return (crc ^ 0xffffffff) >>> 0;
}
