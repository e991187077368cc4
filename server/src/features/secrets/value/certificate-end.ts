import { X509Certificate } from 'node:crypto';
import { readPem } from './pem.ts';

/** When the first certificate of a value ends, in epoch milliseconds. Null if there is none, or its end is no time. */
export function certificateEnd(value: string): number | null {
  const leaf = readPem(value)?.blocks.find(({ label }) => label === 'CERTIFICATE');
  if (leaf === undefined) return null;
  try {
    // OpenSSL also accepts a certificate whose end is no time: it says so in words, while the date is whatever was in memory.
    const { validTo, validToDate } = new X509Certificate(leaf.text);
    const end = validToDate.getTime();
    return Number.isNaN(Date.parse(validTo)) || Number.isNaN(end) ? null : end;
  } catch {
    return null;
  }
}
