import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';

export const PEM_BLOCKS_MAX = 32;
const BLOCK = /-----BEGIN (CERTIFICATE|PUBLIC KEY)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;

export interface BundleEntry {
  readonly key: KeyObject;
  readonly certificate: X509Certificate | null;
}

/** Every certificate and public key of a PEM text, or null if it contains anything else. */
export function readBundle(pem: string): BundleEntry[] | null {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0 || blocks.length > PEM_BLOCKS_MAX || pem.replace(BLOCK, '').trim() !== '') return null;
  try {
    return blocks.map((block) => {
      if (block.startsWith('-----BEGIN PUBLIC KEY')) return { key: createPublicKey(block), certificate: null };
      const certificate = new X509Certificate(block);
      return { key: certificate.publicKey, certificate };
    });
  } catch {
    return null;
  }
}
