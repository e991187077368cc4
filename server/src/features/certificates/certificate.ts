import { X509Certificate as NodeCertificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import { id_ce_nameConstraints, NameConstraints } from '@peculiar/asn1-x509';
import { isAcceptableKey } from './keys.ts';
import * as x509 from './x509.ts';

/** No real certificate is larger, and parsing a larger one would only cost time. */
export const CERTIFICATE_BYTES_MAX = 16 * 1024;

/** Extensions that are evaluated or that restrict nothing. Any other critical extension must be refused (RFC 5280, 4.2). */
const SUPPORTED_EXTENSIONS = new Set([
  '2.5.29.14', // subject key identifier
  '2.5.29.15', // key usage
  '2.5.29.17', // subject alternative name
  '2.5.29.19', // basic constraints
  '2.5.29.30', // name constraints
  '2.5.29.31', // CRL distribution points
  '2.5.29.32', // certificate policies
  '2.5.29.35', // authority key identifier
  '2.5.29.37', // extended key usage
]);
const STRONG_HASHES = ['SHA-256', 'SHA-384', 'SHA-512'];

/** The parts of a certificate that decide whether it is accepted. */
export interface ParsedCertificate {
  readonly der: Uint8Array;
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly isCa: boolean;
  /** The maximum number of CA certificates between this one and the leaf; null if there is no limit. */
  readonly pathLength: number | null;
  /** Null if the certificate lacks the extension and so does not restrict the usage; the same for `extendedKeyUsage`. */
  readonly keyUsage: number | null;
  readonly extendedKeyUsage: readonly string[] | null;
  readonly commonNames: readonly string[];
  readonly subjectAltNames: readonly { readonly type: string; readonly value: string }[];
  readonly nameConstraints: NameConstraints | null;
  /** Whether its signature uses a weak algorithm. This does not matter for a trust anchor, whose signature is not checked. */
  readonly hasWeakSignature: boolean;
  /** Why it is refused for any use, or null. */
  readonly defect: string | null;
  /** The same certificate as parsed by OpenSSL, which compares issuers and verifies signatures. */
  readonly native: NodeCertificate;
}

/** Returns null unless the bytes are exactly one complete certificate. */
export function parseCertificate(der: Uint8Array): ParsedCertificate | null {
  if (der.length === 0 || der.length > CERTIFICATE_BYTES_MAX) return null;
  try {
    const native = new NodeCertificate(der);
    // Trailing bytes would give the same certificate another thumbprint.
    if (!native.raw.equals(der)) return null;
    const certificate = new x509.X509Certificate(der);
    const basic = certificate.getExtension(x509.BasicConstraintsExtension);
    const constraints = certificate.getExtension(id_ce_nameConstraints);
    return {
      der,
      serial: native.serialNumber.toLowerCase(),
      notBefore: certificate.notBefore.getTime(),
      notAfter: certificate.notAfter.getTime(),
      isCa: basic?.ca ?? false,
      pathLength: basic?.pathLength ?? null,
      keyUsage: certificate.getExtension(x509.KeyUsagesExtension)?.usages ?? null,
      extendedKeyUsage: certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages.map(String) ?? null,
      commonNames: certificate.subjectName.getField('CN'),
      subjectAltNames: certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [],
      nameConstraints: constraints === null ? null : AsnConvert.parse(constraints.value, NameConstraints),
      hasWeakSignature: isWeak(certificate.signatureAlgorithm),
      defect: defectOf(certificate, native),
      native,
    };
  } catch {
    return null;
  }
}

function defectOf(certificate: x509.X509Certificate, native: NodeCertificate): string | null {
  const types = certificate.extensions.map(({ type }) => type);
  if (new Set(types).size !== types.length) return 'an extension is given twice';
  if (certificate.extensions.some(({ critical, type }) => critical && !SUPPORTED_EXTENSIONS.has(type))) {
    return 'a critical extension is not understood';
  }
  if (!isAcceptableKey(native.publicKey)) return 'the key is of a weak or unknown kind';
  if (!Number.isFinite(certificate.notBefore.getTime()) || !Number.isFinite(certificate.notAfter.getTime())) {
    return 'the validity cannot be read';
  }
  return null;
}

function isWeak(algorithm: object): boolean {
  const { name, hash } = algorithm as { name?: string; hash?: { name?: string } };
  return name !== 'Ed25519' && !STRONG_HASHES.includes(hash?.name ?? '');
}
