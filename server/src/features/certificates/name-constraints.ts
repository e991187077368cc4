import type { GeneralName, GeneralSubtrees } from '@peculiar/asn1-x509';
import type { ParsedCertificate } from './certificate.ts';

/**
 * Whether the names of a certificate satisfy the name constraints of an authority above it (RFC 5280, 4.2.1.10). DNS names and URIs are compared. A
 * constraint on names of another kind refuses every certificate that has such names, and any constraint on subjects refuses all certificates: too
 * strict for some, but never too permissive.
 */
export function withinConstraints(leaf: ParsedCertificate, { nameConstraints }: ParsedCertificate): boolean {
  if (nameConstraints === null) return true;
  const permitted = nameConstraints.permittedSubtrees ?? [];
  const excluded = nameConstraints.excludedSubtrees ?? [];
  if ([...permitted, ...excluded].some(({ base }) => base.directoryName !== undefined)) return false;
  return leaf.subjectAltNames.every((name) => isPermitted(name, permitted) && !isExcluded(name, excluded));
}

type Name = ParsedCertificate['subjectAltNames'][number];
type Subtrees = GeneralSubtrees | readonly never[];

function isPermitted(name: Name, permitted: Subtrees): boolean {
  const ofKind = [...permitted].map(({ base }) => base).filter((base) => kindOf(base) === name.type);
  return ofKind.length === 0 || ofKind.some((base) => covers(name, base) === true);
}

function isExcluded(name: Name, excluded: Subtrees): boolean {
  const ofKind = [...excluded].map(({ base }) => base).filter((base) => kindOf(base) === name.type);
  return ofKind.some((base) => covers(name, base) !== false);
}

function kindOf(base: GeneralName): string {
  if (base.dNSName !== undefined) return 'dns';
  if (base.uniformResourceIdentifier !== undefined) return 'url';
  if (base.iPAddress !== undefined) return 'ip';
  if (base.rfc822Name !== undefined) return 'email';
  return 'other';
}

/** Returns null for names that cannot be compared. */
function covers({ type, value }: Name, base: GeneralName): boolean | null {
  if (type === 'dns') {
    const [host, limit] = [value.toLowerCase(), (base.dNSName ?? '').toLowerCase()];
    return limit === '' || host === limit || host.endsWith(limit.startsWith('.') ? limit : `.${limit}`);
  }
  if (type !== 'url') return null;
  const host = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#@:]+)(?:[:/?#]|$)/.exec(value)?.[1]?.toLowerCase();
  if (host === undefined) return null;
  const limit = (base.uniformResourceIdentifier ?? '').toLowerCase();
  return limit.startsWith('.') ? host.endsWith(limit) : host === limit;
}
