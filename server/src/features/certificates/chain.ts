import { type Parsed, parseCertificate } from './certificate.ts';
import { withinConstraints } from './name-constraints.ts';
import { CLIENT_AUTH, KeyUsageFlags } from './x509.ts';

/** Limits on the work that a client can cause. */
export const CHAIN_LENGTH_MAX = 8;
const SIGNATURES_MAX = 32;

/** The path from a leaf to an anchor and the time span in which every certificate on it is valid, or the reason why there is none. */
export type ChainVerdict =
  | { readonly reason: null; readonly notBefore: number; readonly notAfter: number; readonly path: readonly Parsed[] }
  | { readonly reason: string };

/**
 * Searches a path from the leaf to one of the anchors over the certificates the client sent, by names, keys and signatures. Every certificate on it
 * must be allowed to do what it does there (RFC 5280, 6). The caller must compare the time whenever it uses the verdict.
 */
export function verifyChain(
  leaf: Parsed,
  sent: readonly Uint8Array[],
  anchors: readonly Parsed[],
  rules: { isUsageRequired: boolean },
): ChainVerdict {
  const problem = leafProblem(leaf, rules.isUsageRequired);
  if (problem !== null) return { reason: problem };
  if (sent.length > CHAIN_LENGTH_MAX) return { reason: 'the chain is too long' };
  const between = sent.map(parseCertificate).filter((parsed) => parsed !== null);
  const search = new PathSearch(between, anchors);
  const path = search.from([leaf]);
  if (path === null) return { reason: search.nearMiss ?? 'no path to a trusted authority' };
  return {
    reason: null,
    path,
    notBefore: Math.max(...path.map(({ notBefore }) => notBefore)),
    notAfter: Math.min(...path.map(({ notAfter }) => notAfter)),
  };
}

function leafProblem(leaf: Parsed, isUsageRequired: boolean): string | null {
  if (leaf.defect !== null) return leaf.defect;
  if (leaf.isCa) return 'an authority is no client';
  if (leaf.keyUsage === null ? isUsageRequired : (leaf.keyUsage & KeyUsageFlags.digitalSignature) === 0) {
    return 'the key may not sign';
  }
  if (leaf.extendedKeyUsage === null ? isUsageRequired : !leaf.extendedKeyUsage.includes(CLIENT_AUTH)) {
    return 'not for client authentication';
  }
  return null;
}

/** Returns why this certificate may not have issued the last one of the path, or null. */
function authorityProblem(authority: Parsed, path: readonly Parsed[]): string | null {
  if (authority.defect !== null) return authority.defect;
  if (!authority.isCa) return 'issued by what is no authority';
  if (authority.keyUsage !== null && (authority.keyUsage & KeyUsageFlags.keyCertSign) === 0) {
    return 'the authority may not sign certificates';
  }
  if (authority.extendedKeyUsage !== null && !authority.extendedKeyUsage.includes(CLIENT_AUTH)) {
    return 'the authority is not for client authentication';
  }
  // The leaf does not count towards the path length.
  if (authority.pathLength !== null && path.length - 1 > authority.pathLength) return 'too many authorities in between';
  if (!path.every((below) => withinConstraints(below, authority))) return 'a name the authority may not speak for';
  return null;
}

class PathSearch {
  readonly #between: readonly Parsed[];
  readonly #anchors: readonly Parsed[];
  #signatures = 0;
  /** Why a path that would otherwise have reached an anchor was refused. */
  nearMiss: string | null = null;

  constructor(between: readonly Parsed[], anchors: readonly Parsed[]) {
    this.#between = between;
    this.#anchors = anchors;
  }

  from(path: readonly Parsed[]): readonly Parsed[] | null {
    for (const anchor of this.#anchors) {
      if (this.#hasIssued(anchor, path)) return [...path, anchor];
    }
    for (const candidate of this.#between) {
      if (path.includes(candidate) || !this.#hasIssued(candidate, path)) continue;
      const found = this.from([...path, candidate]);
      if (found !== null) return found;
    }
    return null;
  }

  #hasIssued(authority: Parsed, path: readonly Parsed[]): boolean {
    const child = path.at(-1) as Parsed;
    if (!child.native.checkIssued(authority.native)) return false;
    if (this.#signatures++ >= SIGNATURES_MAX || !child.native.verify(authority.native.publicKey)) return false;
    const problem = child.hasWeakSignature
      ? 'the signature is of a weak or unknown kind'
      : authorityProblem(authority, path);
    if (problem === null) return true;
    this.nearMiss = problem;
    return false;
  }
}
