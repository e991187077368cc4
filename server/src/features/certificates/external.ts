import { type ParsedCertificate, parseCertificate } from './certificate.ts';
import { type ClientName, parseClientUri } from './names.ts';
import { KeyUsageFlags } from './x509.ts';

export const EXTERNAL_PEM_LENGTH_MAX = 64 * 1024;
const AUTHORITIES_MAX = 16;
const BLOCK = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g;

/** The certificates of an external authority that may sign others. */
export function externalAnchors(pem: string): ParsedCertificate[] {
  return certificatesIn(pem)?.filter(mayVouch) ?? [];
}

/** Returns what is wrong with the PEM of an external authority, worded for the caller who sent it, or null. */
export function externalCaProblem(pem: string): string | null {
  const certificates = certificatesIn(pem);
  if (certificates === null) return `must be 1 to ${AUTHORITIES_MAX} certificates in PEM without other content`;
  const bad = certificates.find((certificate) => !mayVouch(certificate));
  if (bad === undefined) return null;
  return bad.defect === null
    ? 'must contain only CA certificates (basicConstraints CA:TRUE, keyUsage keyCertSign)'
    : `contains a certificate that cannot be used: ${bad.defect}`;
}

function mayVouch({ defect, isCa, keyUsage }: ParsedCertificate): boolean {
  return defect === null && isCa && (keyUsage === null || (keyUsage & KeyUsageFlags.keyCertSign) !== 0);
}

function certificatesIn(pem: string): ParsedCertificate[] | null {
  if (pem.length > EXTERNAL_PEM_LENGTH_MAX || pem.replaceAll(BLOCK, '').trim() !== '') return null;
  const blocks = [...pem.matchAll(BLOCK)];
  if (blocks.length === 0 || blocks.length > AUTHORITIES_MAX) return null;
  const parsed = blocks.map(([, base64 = '']) =>
    parseCertificate(Buffer.from(base64.replaceAll(/\s+/g, ''), 'base64')),
  );
  return parsed.every((certificate) => certificate !== null) ? parsed : null;
}

/**
 * Whether an external certificate belongs to this connection: by our URI, or by the client id as a DNS name or as its only common name. A certificate
 * with the URI of another connection belongs to that one, whatever else it contains. Name constraints do not apply to common names (RFC 5280,
 * 4.2.1.10), so under an authority that has some a common name does not count.
 */
export function namesClient(
  leaf: ParsedCertificate,
  name: ClientName,
  { isConstrained }: { isConstrained: boolean },
): boolean {
  const ours = leaf.subjectAltNames.filter(
    ({ type, value }) => type === 'url' && value.toLowerCase().startsWith('coffer:'),
  );
  if (ours.length > 0) {
    const said = ours.map(({ value }) => parseClientUri(value));
    return said.every((one) => one?.tenantId === name.tenantId && one.clientId === name.clientId);
  }
  if (leaf.subjectAltNames.some(({ type, value }) => type === 'dns' && value === name.clientId)) return true;
  return !isConstrained && leaf.commonNames.length === 1 && leaf.commonNames[0] === name.clientId;
}
