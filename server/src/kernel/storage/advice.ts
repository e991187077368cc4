import { NO_FREE_CONNECTION } from './connection-shares.ts';
import { NO_WRITABLE_SERVER } from './database-servers.ts';
import { isSilence } from './pipelined-connection.ts';
import { classifyPostgresError, NO_TLS_MESSAGE } from './postgres-errors.ts';
import { NOT_REPLICATED, UNSAFE_LOGIN } from './scram-client.ts';
import { SQLITE } from './sqlite-errors.ts';

const FULL =
  'The disk with the data folder is full: free some space. The service then continues by itself; nothing that was acknowledged is lost.';
const READ_ONLY =
  'The disk with the data folder is read-only: check it, mount it for writing again, then restart the service.';
const FAILING = 'The disk with the data folder reports errors: check it, and the system log, before anything else.';
const DAMAGED =
  'The database in the data folder cannot be used: its file is damaged. Stop the service, keep a copy of the whole folder, check the disk, and restore a backup.';
const STANDBY =
  'PostgreSQL accepts no writes: it is a standby, or read-only. Promote it, or point CV_DATABASE_URL to the primary.';
const POSTGRES_FULL = 'The disk of PostgreSQL is full: free some space. The service then continues by itself.';
const POSTGRES_CONNECTIONS =
  'PostgreSQL has no connection left: raise its max_connections, or lower CV_DATABASE_POOL on the nodes.';
const NO_CONNECTION =
  'Requests waited too long for a connection of this node to the database. If PostgreSQL has little to do, raise CV_DATABASE_POOL; if it is busy, look for slow statements and locks in pg_stat_activity.';
const TIMED_OUT =
  'PostgreSQL did not finish a statement within 10 seconds, or did not get a lock: look for slow statements and for who holds locks in pg_stat_activity, and at its load.';
const POSTGRES_DAMAGED =
  'PostgreSQL reports that its data is damaged: stop every node, keep a copy, check its disk, and restore a backup.';
const UNSAFE =
  'The database server requested the password in clear text or as MD5, or did not prove that it knows it; no password was sent. On that server, set password_encryption to scram-sha-256, set the password of the role ' +
  'again, and use scram-sha-256 in pg_hba.conf; and check that CV_DATABASE_URL points to the right server.';
const NO_PRIMARY =
  'None of the servers in CV_DATABASE_URL accepts writes: each is a standby, or cannot be reached. Check that one of them is the primary. The service then continues by itself.';
const NO_STANDBY =
  'No synchronous standby of PostgreSQL confirms commits, so no change is acknowledged: start a standby, or correct synchronous_standby_names. The service then continues by itself.';
const WRONG_PASSWORD =
  'PostgreSQL refused the user or the password in CV_DATABASE_URL: correct it, or set the password of the role again.';
const NOT_ALLOWED =
  'PostgreSQL does not let this user connect: add a line for the user, the database and the address of this machine to pg_hba.conf, or correct CV_DATABASE_URL.';
const NO_DATABASE =
  'The database that CV_DATABASE_URL names does not exist on the server: create it, or correct the name.';
const NO_PRIVILEGE =
  'The user in CV_DATABASE_URL may not do this in the database: make it the owner of the database and of its tables.';
const NO_HOST =
  'The host name in CV_DATABASE_URL cannot be resolved: check its spelling, and the name service of this machine.';
const NO_TLS =
  'CV_DATABASE_URL demands TLS, and the PostgreSQL server offers none: set ssl = on and a certificate in postgresql.conf, or remove sslmode from CV_DATABASE_URL.';
const OTHER_HOST =
  'The certificate of the PostgreSQL server is not for the host in CV_DATABASE_URL: use a host name that the certificate has, or give the server a certificate for this one.';
const UNKNOWN_CA =
  'The certificate of the PostgreSQL server is signed by an authority that is not trusted: add sslrootcert=FILE with the CA of the server to CV_DATABASE_URL.';
const EXPIRED =
  'The certificate of the PostgreSQL server is not valid now: renew it, and check the clocks of both machines.';
const REFUSED_PARAMETER =
  'PostgreSQL, or a pooler before it, refused a parameter of the connection. The service sets statement_timeout, lock_timeout, idle_in_transaction_session_timeout and options: connect to PostgreSQL itself, or let the pooler ' +
  'accept them, and check the parameters in CV_DATABASE_URL.';
const STARTING =
  'PostgreSQL is starting or recovering, and accepts no connections yet. The service continues by itself once it does.';
const SILENT =
  'PostgreSQL did not respond within 15 seconds, although it can be reached: look at its load and its disk, and at firewalls that drop connections. The service continues by itself.';
const UNREACHABLE = 'The database cannot be reached. Check that it is running, and check CV_DATABASE_URL.';

const BY_SQLITE_CODE = new Map([
  [SQLITE.FULL, FULL],
  [SQLITE.READONLY, READ_ONLY],
  [SQLITE.CORRUPT, DAMAGED],
  [SQLITE.NOTADB, DAMAGED],
  [SQLITE.IOERR, FAILING],
]);
/** Each code is tested against the fault it is shown for: `advice.test.ts` says where. */
export const BY_CODE: ReadonlyMap<string, string> = new Map([
  ['28P01', WRONG_PASSWORD],
  ['28000', NOT_ALLOWED],
  ['3D000', NO_DATABASE],
  ['42501', NO_PRIVILEGE],
  ['08P01', REFUSED_PARAMETER],
  ['42704', REFUSED_PARAMETER],
  ['22023', REFUSED_PARAMETER],
  ['57P03', STARTING],
  ['ENOTFOUND', NO_HOST],
  ['EAI_AGAIN', NO_HOST],
  ['ERR_TLS_CERT_ALTNAME_INVALID', OTHER_HOST],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNKNOWN_CA],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNKNOWN_CA],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNKNOWN_CA],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNKNOWN_CA],
  ['CERT_HAS_EXPIRED', EXPIRED],
  ['CERT_NOT_YET_VALID', EXPIRED],
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
  ['EROFS', READ_ONLY],
  ['EIO', FAILING],
  ['25006', STANDBY],
  ['53100', POSTGRES_FULL],
  ['53300', POSTGRES_CONNECTIONS],
  ['55P03', TIMED_OUT],
  ['57014', TIMED_OUT],
  [NO_FREE_CONNECTION, NO_CONNECTION],
  ['XX001', POSTGRES_DAMAGED],
  ['XX002', POSTGRES_DAMAGED],
  [UNSAFE_LOGIN, UNSAFE],
  [NO_WRITABLE_SERVER, NO_PRIMARY],
  [NOT_REPLICATED, NO_STANDBY],
]);
const CAUSES_MAX = 4;

/** Tells the operator what to do about a failing database or disk; null if the error has another cause. */
export function adviceFor(error: unknown, causes = CAUSES_MAX): string | null {
  const { code, errcode, cause } = (error ?? {}) as { code?: unknown; errcode?: unknown; cause?: unknown };
  const known =
    code === 'ERR_SQLITE_ERROR' ? BY_SQLITE_CODE.get(Number(errcode) & 0xff) : BY_CODE.get(String(code ?? ''));
  if (known !== undefined) return known;
  if (isSilence(error)) return SILENT;
  if ((error as { message?: unknown } | null)?.message === NO_TLS_MESSAGE) return NO_TLS;
  if (cause !== undefined && causes > 0) return adviceFor(cause, causes - 1);
  // An error with a path is about a file. An unreachable server has an address instead.
  const isOfFile = typeof (error as { path?: unknown } | null)?.path === 'string';
  return !isOfFile && classifyPostgresError(error) === 'unavailable' ? UNREACHABLE : null;
}
