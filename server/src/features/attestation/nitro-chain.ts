import type { KeyObject } from 'node:crypto';
import { BoundedCache, KEY_PAIR_BYTES } from '../../kernel/base/bounded-cache.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { KeyUsageFlags, type ParsedCertificate, parseCertificate } from '../certificates/index.ts';
import { type Finding, fatal } from './format.ts';

const CURVE = 'secp384r1';

/** Parsing a certificate costs more than checking its signature, and all enclaves of a region share their authorities. */
const authorities = new BoundedCache<string, ParsedCertificate>({
  bytesMax: 8 * 1024 * 1024,
  bytesOf: () => 4 * KEY_PAIR_BYTES,
});

function readAuthority(der: Uint8Array): ParsedCertificate | null {
  const key = sha256(der).toString('latin1');
  const cached = authorities.get(key);
  if (cached !== undefined) return cached;
  // The bytes are copied, because they are a view of a whole request that the cache would otherwise keep in memory.
  const parsed = parseCertificate(Buffer.from(der));
  if (parsed !== null) authorities.set(key, parsed);
  return parsed;
}

export interface NitroChainVerdict {
  /** The public key of the leaf; null if the chain is invalid for another reason than its validity periods. */
  readonly key: KeyObject | null;
  readonly findings: readonly Finding[];
  /** Whether the chain is valid except that a certificate has expired. */
  readonly isExpired: boolean;
  /** Whether that time is within the validity period of every certificate. */
  isValidAt(time: number): boolean;
}

/**
 * Verifies the chain from the pinned root through the bundle, in the order given, to the leaf: AWS Nitro Enclaves, attestation process, 3.2.3, and
 * RFC 5280, 6. The bundle must be a path in order, not a set to search: a certificate that did not issue the next one is an error.
 */
export function verifyNitroChain(
  leafDer: Uint8Array,
  bundle: readonly Uint8Array[],
  rootFingerprint: string,
  now: number,
): NitroChainVerdict {
  const read = [...bundle.map(readAuthority), parseCertificate(leafDer)];
  const chain = read.filter((parsed) => parsed !== null);
  if (chain.length !== read.length)
    return refused('bad_certificate', 'A certificate of the document cannot be parsed.');
  if (new Set(chain.map(fingerprintOf)).size !== chain.length) {
    return refused('bad_chain', 'A certificate of the document occurs twice.');
  }
  const [root] = chain as [ParsedCertificate, ...ParsedCertificate[]];
  if (fingerprintOf(root) !== rootFingerprint) {
    return refused('untrusted_root', 'The first certificate of cabundle is not the root of AWS Nitro Enclaves.');
  }
  for (const [at, certificate] of chain.entries()) {
    const problem = problemOf(certificate, chain, at);
    if (problem !== null) return refused('bad_chain', `Certificate ${at + 1} of ${chain.length}: ${problem}.`);
  }
  const key = (chain.at(-1) as ParsedCertificate).native.publicKey;
  const isValidAt = (time: number) => chain.every(({ notBefore, notAfter }) => notBefore <= time && time <= notAfter);
  const isExpired = chain.some(({ notAfter }) => now > notAfter);
  return { key, findings: isValidAt(now) ? [] : [validityFinding(isExpired)], isExpired, isValidAt };
}

function validityFinding(isExpired: boolean): Finding {
  if (isExpired) return fatal('certificate_expired', 'A certificate has expired.');
  return fatal('certificate_not_yet_valid', 'A certificate is not valid yet.');
}

function problemOf(certificate: ParsedCertificate, chain: readonly ParsedCertificate[], at: number): string | null {
  const isLeaf = at === chain.length - 1;
  if (certificate.defect !== null) return certificate.defect;
  if (certificate.native.publicKey.asymmetricKeyDetails?.namedCurve !== CURVE) return 'the key is not on P-384';
  if (certificate.isCa === isLeaf) return isLeaf ? 'the leaf is a CA certificate' : 'it is not a CA certificate';
  const needed = isLeaf ? KeyUsageFlags.digitalSignature : KeyUsageFlags.keyCertSign;
  if (((certificate.keyUsage ?? 0) & needed) === 0)
    return `the key usage does not include ${isLeaf ? 'digitalSignature' : 'keyCertSign'}`;
  // The number of CA certificates between this one and the leaf.
  const below = chain.length - 2 - at;
  if (certificate.pathLength !== null && below > certificate.pathLength) return 'too many CA certificates follow it';
  // AWS uses no name constraints, and they do not apply to common names, so a certificate that has some is rejected.
  if (certificate.nameConstraints !== null) return 'name constraints are not allowed';
  const issuer = chain[at - 1];
  // The root is identified by its fingerprint; checking that it signed itself would prove nothing more.
  if (issuer === undefined) return null;
  if (certificate.hasWeakSignature) return 'the signature algorithm is weak';
  if (!certificate.native.checkIssued(issuer.native)) return 'it was not issued by the certificate before it';
  return certificate.native.verify(issuer.native.publicKey) ? null : 'the signature is invalid';
}

function fingerprintOf({ native }: ParsedCertificate): string {
  return native.fingerprint256.replaceAll(':', '').toLowerCase();
}

function refused(code: string, message: string): NitroChainVerdict {
  return { key: null, findings: [fatal(code, message)], isExpired: false, isValidAt: () => false };
}
