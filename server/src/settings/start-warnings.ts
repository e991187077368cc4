import pg from 'pg';
import { isOnThisMachine } from '../kernel/base/host-name.ts';
import { parseDatabaseUrl } from '../kernel/storage/database-url.ts';
import type { Config } from './config.ts';

export const WARNING_CODES = ['plain_http', 'database_without_tls', 'expired_certificate'] as const;

/** A problem that the operator should fix, although the service can run with it. */
export interface StartWarning {
  code: (typeof WARNING_CODES)[number];
  message: string;
  /** Also shown on `/health/ready`, which anyone can read, so it must only say what a client can see for itself. */
  isPublic: boolean;
  /** Whether it is still so. Without this, it is as long as the process runs. */
  holds?(): boolean;
}

/** Warnings that are true now. */
export function presentWarnings(warnings: readonly StartWarning[]): StartWarning[] {
  return warnings.filter(({ holds }) => holds?.() ?? true);
}

/** A certificate of the operator's can expire while the process runs, and can be replaced without a restart. */
export function certificateWarning(hasExpired: () => boolean): StartWarning {
  return {
    code: 'expired_certificate',
    message:
      'The TLS certificate in CV_TLS_CERT_FILE has expired, and clients refuse it. Replace the files of CV_TLS_CERT_FILE and CV_TLS_KEY_FILE; no restart is needed.',
    isPublic: true,
    holds: hasExpired,
  };
}

/** Warnings about the settings, which are logged at startup and reported as long as the process runs. */
export function startWarnings(config: Config): StartWarning[] {
  const warnings: StartWarning[] = [];
  if (config.tls === null && !isOnThisMachine(config.host)) {
    warnings.push({
      code: 'plain_http',
      message:
        'The main port uses plain http on an address that other machines can reach, so tokens and secrets can be read in transit. Set CV_TLS_CERT_FILE and CV_TLS_KEY_FILE, or listen on ' +
        'loopback (CV_HOST=127.0.0.1) behind a proxy that terminates TLS.',
      isPublic: true,
    });
  }
  if (parseDatabaseUrl(config.databaseUrl ?? '')?.servers.some(isReadOnTheWay)) {
    warnings.push({
      code: 'database_without_tls',
      message:
        'The database is on another machine, and the connection to it has no TLS or does not verify the certificate, so it can be read and changed in transit. Add sslmode=verify-full, and ' +
        'sslrootcert=FILE for a CA of your own, to CV_DATABASE_URL.',
      isPublic: false,
    });
  }
  return warnings;
}

/** Uses the driver's own reading of the URL. A host that begins with a slash is a local socket. */
function isReadOnTheWay(url: string): boolean {
  const { host, ssl } = new pg.Client(url) as { host: string; ssl: boolean | pg.ClientConfig['ssl'] };
  if (host.startsWith('/') || isOnThisMachine(host)) return false;
  if (typeof ssl !== 'object') return ssl !== true;
  return ssl.rejectUnauthorized === false || ssl.checkServerIdentity !== undefined;
}
