import { existsSync, renameSync } from 'node:fs';
import type { Coffer } from '../coffer.ts';
import type { CallOptions } from '../connection.ts';
import { CofferError } from '../errors.ts';
import { readCredential, stampOf, writePrivateFile } from './files.ts';

export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Loaded where there is a certificate: most programs have none. */
const cryptography = () => process.getBuiltinModule('node:crypto');

/** Renewed at two thirds of its life, up to a tenth earlier, like tokens. */
const RENEW_AT = 2 / 3;
const JITTER = 0.1;

/** Milliseconds until the certificate in a file should be renewed: 0 if that moment has passed. */
export function certificateRenewalMs({ certFile }: CertificateFiles, now: number = Date.now()): number {
  const { validFromDate, validToDate } = new (cryptography().X509Certificate)(readCredential(certFile));
  const life = validToDate.getTime() - validFromDate.getTime();
  const renewAt = validFromDate.getTime() + life * RENEW_AT * (1 - JITTER * Math.random());
  return Math.max(0, renewAt - now);
}

/**
 * Has the service issue a new certificate and key for a connection, and replaces the files. If this is interrupted between the two, the new
 * certificate lies beside the old one, and `identityFromFiles` puts it in place.
 */
export async function renewCertificateFiles(
  coffer: Coffer,
  connection: string | number,
  { certFile, keyFile }: CertificateFiles,
  options: CallOptions = {},
): Promise<void> {
  const rotated = await coffer.call(
    'POST /v1/app-connections/{connection}/rotate',
    { path: { connection: String(connection) }, body: { certificate: true } },
    { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() },
  );
  const { certificate, private_key, ca_chain } = rotated;
  if (certificate === null || private_key === null) {
    throw new CofferError('The service issued no certificate.', { code: 'UNEXPECTED_ANSWER' });
  }
  writePrivateFile(newCertFile(certFile), `${certificate.trim()}\n${(ca_chain ?? '').trim()}\n`);
  writePrivateFile(keyFile, private_key);
  renameSync(newCertFile(certFile), certFile);
}

/** A client certificate and its key in PEM files. They are read again when one of them was changed. */
export function identityFromFiles({ certFile, keyFile }: CertificateFiles): () => { cert: string; key: string } {
  let read: { stamp: string; cert: string; key: string } | null = null;
  return () => {
    const stamp = [certFile, keyFile].map(stampOf).join(' ');
    if (read?.stamp === stamp) return read;
    const key = readCredential(keyFile);
    if (!fits(readCredential(certFile), key)) completeRenewal(certFile, key);
    read = { stamp, cert: readCredential(certFile), key };
    return read;
  };
}

/** A renewal was interrupted after the key was replaced. */
function completeRenewal(certFile: string, key: string): void {
  const next = newCertFile(certFile);
  if (!existsSync(next) || !fits(readCredential(next), key)) {
    throw new CofferError(`The key does not belong to the certificate in ${certFile}.`, { code: 'INVALID_ARGUMENT' });
  }
  renameSync(next, certFile);
}

function fits(cert: string, key: string): boolean {
  try {
    const { X509Certificate, createPrivateKey } = cryptography();
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function newCertFile(certFile: string): string {
  return `${certFile}.new`;
}
