import { type ParsedCertificate, parseCertificate } from './certificate.ts';
import { withinConstraints } from './name-constraints.ts';
import { CLIENT_AUTH, KeyUsageFlags } from './x509.ts';

/** Limits on the work that a client can cause. */
export const CHAIN_LENGTH_MAX = 8;
const SIGNATURES_MAX = 32;

/** The path from a leaf to an anchor and the time span in which every certificate on it is valid, or the reason why there is none. */
export type ChainVerdict =
  | {
      readonly reason: null;
      readonly notBefore: number;
      readonly notAfter: number;
      readonly path: readonly ParsedCertificate[];
    }
  | { readonly reason: string };

/**
 * Searches for a path from the leaf through the certificates that the client sent to one of the anchors, by names, keys and signatures. Every
 * certificate on it must be allowed to do what it does there (RFC 5280, 6). The current time is not checked here: the caller must compare it with the
 * verdict at every use.
 */
export function verifyChain(
  leaf: ParsedCertificate,
  sent: readonly Uint8Array[],
  anchors: readonly ParsedCertificate[],
  rules: { isUsageRequired: boolean },
): ChainVerdict {
  const problem = leafProblem(leaf, rules.isUsageRequired);
  if (problem !== null) return { reason: problem };
  if (sent.length > CHAIN_LENGTH_MAX) return { reason: 'the chain is too long' };
  const intermediates = sent.map(parseCertificate).filter((parsed) => parsed !== null);
  const search = new PathSearch(intermediates, anchors);
  const path = search.extend([leaf]);
  if (path === null) return { reason: search.lastProblem ?? 'no path to a trusted authority' };
  return {
    reason: null,
    path,
    notBefore: Math.max(...path.map(({ notBefore }) => notBefore)),
    notAfter: Math.min(...path.map(({ notAfter }) => notAfter)),
  };
}

function leafProblem(leaf: ParsedCertificate, isUsageRequired: boolean): string | null {
  if (leaf.defect !== null) return leaf.defect;
  if (leaf.isCa) return 'a CA certificate is not a client certificate';
  if (leaf.keyUsage === null ? isUsageRequired : (leaf.keyUsage & KeyUsageFlags.digitalSignature) === 0) {
    return 'the key usage does not allow signatures';
  }
  if (leaf.extendedKeyUsage === null ? isUsageRequired : !leaf.extendedKeyUsage.includes(CLIENT_AUTH)) {
    return 'not for client authentication';
  }
  return null;
}

/** Returns why this certificate may not have issued the last one of the path, or null. */
function authorityProblem(authority: ParsedCertificate, path: readonly ParsedCertificate[]): string | null {
  if (authority.defect !== null) return authority.defect;
  if (!authority.isCa) return 'the issuer is not a CA';
  if (authority.keyUsage !== null && (authority.keyUsage & KeyUsageFlags.keyCertSign) === 0) {
    return 'the CA may not sign certificates';
  }
  if (authority.extendedKeyUsage !== null && !authority.extendedKeyUsage.includes(CLIENT_AUTH)) {
    return 'the CA is not for client authentication';
  }
  // The leaf does not count towards the path length.
  if (authority.pathLength !== null && path.length - 1 > authority.pathLength) return 'too many intermediate CAs';
  if (!path.every((below) => withinConstraints(below, authority)))
    return 'the name constraints of the CA do not allow a name';
  return null;
}

class PathSearch {
  readonly #intermediates: readonly ParsedCertificate[];
  readonly #anchors: readonly ParsedCertificate[];
  #signatures = 0;
  /** Why the last certificate with a matching signature was not accepted as an issuer. */
  lastProblem: string | null = null;

  constructor(intermediates: readonly ParsedCertificate[], anchors: readonly ParsedCertificate[]) {
    this.#intermediates = intermediates;
    this.#anchors = anchors;
  }

  extend(path: readonly ParsedCertificate[]): readonly ParsedCertificate[] | null {
    for (const anchor of this.#anchors) {
      if (this.#hasIssued(anchor, path)) return [...path, anchor];
    }
    for (const candidate of this.#intermediates) {
      if (path.includes(candidate) || !this.#hasIssued(candidate, path)) continue;
      const found = this.extend([...path, candidate]);
      if (found !== null) return found;
    }
    return null;
  }

  #hasIssued(authority: ParsedCertificate, path: readonly ParsedCertificate[]): boolean {
    const child = path.at(-1) as ParsedCertificate;
    if (!child.native.checkIssued(authority.native)) return false;
    if (this.#signatures++ >= SIGNATURES_MAX || !child.native.verify(authority.native.publicKey)) return false;
    const problem = child.hasWeakSignature
      ? 'the signature algorithm is weak or unknown'
      : authorityProblem(authority, path);
    if (problem === null) return true;
    this.lastProblem = problem;
    return false;
  }
}
