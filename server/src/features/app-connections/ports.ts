import type { Certificates, Prepared } from '../certificates/index.ts';

/** What this feature needs from certificates. */
export type ConnectionCertificates = Pick<
  Certificates,
  'prepare' | 'insert' | 'ofClient' | 'revoke' | 'check' | 'claimed' | 'issued'
>;
export type PreparedCertificate = Prepared;
