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

/** The former certificate stays valid for so long: its answer may be lost, and other processes may be using the files. */
const OVERLAP_SECONDS = 600;
const DAY_MS = 86_400_000;
const DAYS_MAX = 90;

/** Milliseconds until the certificate in a file should be renewed: 0 if that moment has passed. */
export function certificateRenewalMs({ certFile }: CertificateFiles, now: number = Date.now()): number {
  const { start, lifeMs } = validityOf(certFile);
  return Math.max(0, start + lifeMs * RENEW_AT * (1 - JITTER * Math.random()) - now);
}

function validityOf(certFile: string): { start: number; lifeMs: number } {
  const { validFromDate, validToDate } = new (cryptography().X509Certificate)(readCredential(certFile));
  return { start: validFromDate.getTime(), lifeMs: validToDate.getTime() - validFromDate.getTime() };
}

/**
 * Has the service issue a new certificate and key for a connection, with a life as long as before, and replaces the files. If this is interrupted between the two, the new
 * certificate lies beside the old one, and `identityFromFiles` puts it in place.
 */
export async function renewCertificateFiles(
  coffer: Coffer,
  connection: string | number,
  { certFile, keyFile }: CertificateFiles,
  options: CallOptions = {},
): Promise<void> {
  const days = Math.min(DAYS_MAX, Math.max(1, Math.round(validityOf(certFile).lifeMs / DAY_MS)));
  const body = { certificate: true, certificate_ttl_days: days, overlap_seconds: OVERLAP_SECONDS };
  const rotated = await coffer.call(
    'POST /v1/app-connections/{connection}/rotate',
    { path: { connection: String(connection) }, body },
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
