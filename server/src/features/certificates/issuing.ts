import { createPublicKey } from 'node:crypto';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import { type Authority, BACKDATED_MS, CLIENT_LIFE_MAX_MS } from './authorities.ts';
import { ACCEPTED_KEYS, isAcceptableKey } from './keys.ts';
import { type ClientName, clientUri, commonName } from './names.ts';
import type { CertificateRow } from './store.ts';
import * as x509 from './x509.ts';

export const CLIENT_LIFE_MIN_MS = 24 * HOUR_MS;
export const CSR_LENGTH_MAX = 16 * 1024;
const CSR_PEM =
  /^\s*-----BEGIN (NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (NEW )?CERTIFICATE REQUEST-----\s*$/;

export interface Subject {
  /** DER of the public key to certify. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly csrPem: string;
  /** Set only if the key was generated here. It is returned once and stored nowhere. */
  readonly privateKeyPem: string | null;
}

/** Generates a key here, with the request that a client would have sent for it. */
export async function newSubject({ clientId }: ClientName): Promise<Subject> {
  const keys = await crypto.subtle.generateKey(x509.KEY_ALGORITHM, true, ['sign', 'verify']);
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name([{ CN: [clientId] }]),
    keys,
    signingAlgorithm: x509.SIGNING_ALGORITHM,
  });
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey('pkcs8', keys.privateKey));
  const privateKeyPem = x509.pemOf('PRIVATE KEY', pkcs8);
  pkcs8.fill(0);
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('spki', keys.publicKey));
  return { publicKey, csrPem: x509.pemOf('CERTIFICATE REQUEST', new Uint8Array(csr.rawData)), privateKeyPem };
}

/**
 * Takes the public key out of a request whose signature proves that its sender has the private key. The requested subject and extensions are ignored.
 */
export async function requestedSubject(csrPem: string): Promise<Subject> {
  const refuse = (reason: string) => invalidField('/body/csr_pem', reason);
  const [, begins, base64, ends] = csrPem.length > CSR_LENGTH_MAX ? [] : (CSR_PEM.exec(csrPem) ?? []);
  if (base64 === undefined || begins !== ends) throw refuse('must be a single PKCS#10 certificate request in PEM');
  const der = Buffer.from(base64.replaceAll(/\s+/g, ''), 'base64');
  const csr = await verifiedRequest(new Uint8Array(der));
  if (csr === null) throw refuse('cannot be parsed, or is not signed by its own key');
  const key = readKey(new Uint8Array(csr.publicKey.rawData));
  if (key === null || !isAcceptableKey(key)) throw refuse(`must have a key of an accepted type: ${ACCEPTED_KEYS}`);
  return {
    publicKey: new Uint8Array(key.export({ format: 'der', type: 'spki' })),
    csrPem: x509.pemOf('CERTIFICATE REQUEST', new Uint8Array(csr.rawData)),
    privateKeyPem: null,
  };
}

async function verifiedRequest(der: Uint8Array<ArrayBuffer>): Promise<x509.Pkcs10CertificateRequest | null> {
  try {
    const csr = new x509.Pkcs10CertificateRequest(der);
    return (await csr.verify()) ? csr : null;
  } catch {
    return null;
  }
}

function readKey(spki: Uint8Array<ArrayBuffer>) {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}

/** Signs a client certificate. The requested lifetime is limited to bounds, and within the authority's own. */
export async function issue(
  authority: Authority,
  name: ClientName,
  facts: {
    publicKey: Uint8Array<ArrayBuffer>;
    connectionNo: number;
    ttlMs: number;
    source: string | null;
    crlUrl: string;
    now: number;
  },
): Promise<{ pem: string; row: CertificateRow }> {
  const { now, ttlMs, publicKey, source } = facts;
  const life = Math.min(source !== null ? ttlMs : Math.max(ttlMs, CLIENT_LIFE_MIN_MS), CLIENT_LIFE_MAX_MS);
  const not_before = x509.floorToSecond(Math.max(now - BACKDATED_MS, authority.certificate.notBefore));
  const not_after = x509.floorToSecond(Math.min(now + life, authority.certificate.notAfter));
  const serial = x509.newSerial();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: new x509.Name([{ CN: [commonName(name)] }]),
    issuer: authority.subject,
    notBefore: new Date(not_before),
    notAfter: new Date(not_after),
    publicKey,
    signingKey: authority.signingKey,
    signingAlgorithm: x509.SIGNING_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.CLIENT_AUTH]),
      new x509.SubjectAlternativeNameExtension([{ type: 'url', value: clientUri(name) }]),
      new x509.SubjectKeyIdentifierExtension(x509.keyIdOf(publicKey)),
      new x509.AuthorityKeyIdentifierExtension(authority.keyId),
      new x509.CRLDistributionPointsExtension([facts.crlUrl]),
    ],
  });
  const der = new Uint8Array(certificate.rawData);
  const row: CertificateRow = {
    tenant_id: name.tenantId,
    serial,
    ca_no: authority.caNo,
    client_id: name.clientId,
    connection_no: facts.connectionNo,
    thumbprint: x509.thumbprintOf(der),
    source,
    not_before,
    not_after,
    revoked_at: null,
    reason: '',
  };
  return { pem: x509.pemOf('CERTIFICATE', der), row };
}
