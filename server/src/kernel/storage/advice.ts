import { NO_FREE_CONNECTION } from './connection-shares.ts';
import { NO_WRITABLE_SERVER } from './database-servers.ts';
import { classifyPostgresError } from './postgres.ts';
import { NOT_REPLICATED, UNSAFE_LOGIN } from './scram-client.ts';
import { SQLITE } from './sqlite.ts';

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
const UNREACHABLE = 'The database cannot be reached. Check that it is running, and check CV_DATABASE_URL.';

const BY_SQLITE_CODE = new Map([
  [SQLITE.FULL, FULL],
  [SQLITE.READONLY, READ_ONLY],
  [SQLITE.CORRUPT, DAMAGED],
  [SQLITE.NOTADB, DAMAGED],
  [SQLITE.IOERR, FAILING],
]);
const BY_CODE = new Map([
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
  if (cause !== undefined && causes > 0) return adviceFor(cause, causes - 1);
  // An error with a path is about a file. An unreachable server has an address instead.
  const isOfFile = typeof (error as { path?: unknown } | null)?.path === 'string';
  return !isOfFile && classifyPostgresError(error) === 'unavailable' ? UNREACHABLE : null;
}
