import type { webcrypto } from 'node:crypto';
import * as x509 from '../../server/src/features/certificates/x509.ts';
import { type PeerCertificate, peerCertificate } from '../../server/src/kernel/auth/peer-certificate.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';

/** What a certificate may say; everything that is wrong on purpose is wrong here. */
export interface TestCertificateFacts {
  cn?: string;
  /** In place of a name with that CN alone. */
  subject?: x509.Name;
  names?: { type: 'url' | 'dns' | 'ip' | 'email'; value: string }[];
  isCa?: boolean;
  pathLength?: number;
  keyUsage?: number | null;
  extendedKeyUsage?: string[] | null;
  notBefore?: number;
  notAfter?: number;
  serial?: string;
  more?: x509.Extension[];
  keys?: webcrypto.CryptoKeyPair;
  hash?: 'SHA-1' | 'SHA-256';
}

/** A certificate somebody else made, with its key. */
export class TestCertificate {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;

  constructor(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.certificate = certificate;
    this.keys = keys;
  }

  get der(): Uint8Array {
    return new Uint8Array(this.certificate.rawData);
  }

  get pem(): string {
    return x509.pemOf('CERTIFICATE', this.der);
  }

  async keyPem(): Promise<string> {
    return x509.pemOf('PRIVATE KEY', new Uint8Array(await crypto.subtle.exportKey('pkcs8', this.keys.privateKey)));
  }

  peer(...chain: TestCertificate[]): PeerCertificate {
    return peerCertificate(
      this.der,
      chain.map(({ der }) => der),
    );
  }

  issue(facts: TestCertificateFacts): Promise<TestCertificate> {
    return certify(facts, this);
  }
}

export function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(x509.KEY_ALGORITHM, true, ['sign', 'verify']);
}

export function testAuthority(facts: TestCertificateFacts = {}): Promise<TestCertificate> {
  const usage = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  return certify({ cn: 'Test CA', isCa: true, keyUsage: usage, extendedKeyUsage: null, ...facts }, null);
}

async function certify(facts: TestCertificateFacts, issuer: TestCertificate | null): Promise<TestCertificate> {
  const keys = facts.keys ?? (await newKeys());
  const now = Date.now();
  const { isCa = false, keyUsage = x509.KeyUsageFlags.digitalSignature, extendedKeyUsage = [x509.CLIENT_AUTH] } = facts;
  const subject = facts.subject ?? new x509.Name([{ CN: [facts.cn ?? 'nobody'] }]);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: facts.serial ?? x509.newSerial(),
    subject,
    issuer: issuer?.certificate.subjectName ?? subject,
    notBefore: new Date(facts.notBefore ?? now - DAY_MS),
    notAfter: new Date(facts.notAfter ?? now + 30 * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: { name: 'ECDSA', hash: facts.hash ?? 'SHA-256' } as typeof x509.SIGNING_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(isCa, facts.pathLength, true),
      ...(keyUsage === null ? [] : [new x509.KeyUsagesExtension(keyUsage, true)]),
      ...(extendedKeyUsage === null ? [] : [new x509.ExtendedKeyUsageExtension(extendedKeyUsage)]),
      ...(facts.names === undefined ? [] : [new x509.SubjectAlternativeNameExtension(facts.names)]),
      ...(facts.more ?? []),
    ],
  });
  return new TestCertificate(certificate, keys);
}
