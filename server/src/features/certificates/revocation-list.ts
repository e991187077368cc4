import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  CertificateList,
  CRLReason,
  CRLReasons,
  Extension,
  Extensions,
  id_ce_cRLReasons,
  Name,
  RevokedCertificate,
  TBSCertList,
  Time,
  Version,
} from '@peculiar/asn1-x509';
import type { Authority } from './authorities.ts';
import type { RevokedRow } from './store.ts';
import * as x509 from './x509.ts';

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

/** The reason codes of RFC 5280, 5.3.1. A certificate revoked for any other reason is listed without a reason code. */
export const REVOCATION_REASONS: Readonly<Record<string, number>> = {
  key_compromise: CRLReasons.keyCompromise,
  affiliation_changed: CRLReasons.affiliationChanged,
  superseded: CRLReasons.superseded,
  cessation_of_operation: CRLReasons.cessationOfOperation,
  privilege_withdrawn: CRLReasons.privilegeWithdrawn,
};

/**
 * Builds a revocation list (RFC 5280, 5). The library's own generator is not used: it takes quadratic time, because it compares every entry with
 * every other, and for an entry without a reason it writes an empty list of extensions, which is not a valid encoding.
 */
export async function buildRevocationList(
  authority: Authority,
  revoked: readonly RevokedRow[],
  facts: { number: number; thisUpdate: number; nextUpdate: number },
): Promise<Uint8Array> {
  const signatureAlgorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const tbsCertList = new TBSCertList({
    version: Version.v2,
    signature: signatureAlgorithm,
    issuer: AsnConvert.parse(authority.subject.toArrayBuffer(), Name),
    thisUpdate: new Time(new Date(facts.thisUpdate)),
    nextUpdate: new Time(new Date(facts.nextUpdate)),
    ...(revoked.length > 0 && { revokedCertificates: revoked.map(entryOf) }),
    crlExtensions: new Extensions(
      [new x509.AuthorityKeyIdentifierExtension(authority.keyId), x509.crlNumber(facts.number)].map((extension) =>
        AsnConvert.parse(extension.rawData, Extension),
      ),
    ),
  });
  const rawSignature = await crypto.subtle.sign(
    x509.SIGNING_ALGORITHM,
    authority.signingKey,
    AsnConvert.serialize(tbsCertList),
  );
  const derSignature = new x509.AsnEcSignatureFormatter().toAsnSignature(x509.KEY_ALGORITHM, rawSignature);
  if (derSignature === null) throw new Error('the signature of a revocation list cannot be encoded');
  const list = new CertificateList({ tbsCertList, signatureAlgorithm, signature: derSignature });
  return new Uint8Array(AsnConvert.serialize(list));
}

function entryOf({ serial, revoked_at, reason }: RevokedRow): RevokedCertificate {
  const code = REVOCATION_REASONS[reason];
  return new RevokedCertificate({
    userCertificate: new Uint8Array(Buffer.from(serial, 'hex')).buffer,
    revocationDate: new Time(new Date(x509.floorToSecond(revoked_at))),
    ...(code !== undefined && {
      crlEntryExtensions: [
        new Extension({
          extnID: id_ce_cRLReasons,
          critical: false,
          extnValue: new OctetString(AsnConvert.serialize(new CRLReason(code))),
        }),
      ],
    }),
  });
}
