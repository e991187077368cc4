import type { FailureKind } from './database.ts';
import { NO_WRITABLE_SERVER } from './database-servers.ts';
import { SILENCE } from './pipelined-connection.ts';
import { RECORDING_FENCE } from './recording-fence.ts';
import { NOT_REPLICATED, UNSAFE_LOGIN } from './scram-client.ts';

/** The server answered the commit with a rollback, because a statement before it had failed. */
export class RolledBack extends Error {
  constructor() {
    super('the transaction was rolled back');
  }
}

/**
 * Whether the server said that it does not commit. Everything else, such as a lost connection, leaves that open. Errors of ours have its error as
 * cause.
 */
export function isRefusedByServer(error: unknown): boolean {
  if (error instanceof RolledBack) return true;
  const { cause } = (error ?? {}) as { cause?: unknown };
  const refusal = [error, cause]
    .map((one) => (one ?? {}) as ServerError)
    .find(({ code }) => SQL_STATE.test(String(code)));
  if (refusal === undefined || LEAVES_OPEN.test(String(refusal.code))) return false;
  return ENDS_NOTHING.has(String(refusal.severity)) || !MAY_END_SERVER.test(String(refusal.code));
}

interface ServerError {
  code?: unknown;
  severity?: unknown;
}

const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** The connection, or the server, ended: whether before or after the commit nobody knows. */
const LEAVES_OPEN = /^(?:08|57P)/;
/**
 * Resources, errors of the system, internal errors. If one of them occurs while the server writes its own log, it ends (`PANIC`), and the commit
 * may have been written before.
 */
const MAY_END_SERVER = /^(?:53|58|XX)/;
/** What `ERROR` is in the languages of PostgreSQL: the transaction failed, and the server goes on. */
const ENDS_NOTHING = new Set(
  'ERROR FEHLER ERREUR ERRORE ERRO ОШИБКА ПОМИЛКА BŁĄD CHYBA FEL HATA エラー 오류 错误 錯誤'.split(' '),
);

const RETRY_STATES = new Set(['40001', '40P01']);
/** Connection, login, missing database, resources, shutdown, system error, read-only standby, cancelled by a time limit, damaged pages. */
const UNAVAILABLE_STATES = /^(08|28|3D000|53|57P|58|25006|57014|55P03|XX001|XX002)/;
/** What the certificate of the server can be refused for. */
const REFUSED_CERTIFICATE = /^(?:ERR_TLS_CERT_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/;
/** The driver's error if TLS is demanded and the server has none. */
export const NO_TLS_MESSAGE = 'The server does not support SSL connections';
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  UNSAFE_LOGIN,
  NO_WRITABLE_SERVER,
  NOT_REPLICATED,
]);
/** The driver's own errors have no code. */
const UNAVAILABLE_MESSAGES = new RegExp(
  `^(Connection terminated|${NO_TLS_MESSAGE}|Client has encountered a connection error|Client was closed|timeout e|${SILENCE}|the connection is closed)`,
);

/** Violated only by a node whose change took so long that another node has declared it lost. */
const SEGMENT_KEY = 'audit_segments_key';

export function classifyPostgresError(error: unknown): FailureKind {
  const { code, message, constraint } = (error ?? {}) as { code?: unknown; message?: unknown; constraint?: unknown };
  if (constraint === RECORDING_FENCE) return 'outdated';
  if (constraint === SEGMENT_KEY) return 'unavailable';
  if (typeof code === 'string') {
    if (RETRY_STATES.has(code)) return 'retry';
    if (code === '23505') return 'unique';
    const isUnavailable =
      UNAVAILABLE_CODES.has(code) || UNAVAILABLE_STATES.test(code) || REFUSED_CERTIFICATE.test(code);
    return isUnavailable ? 'unavailable' : 'other';
  }
  return typeof message === 'string' && UNAVAILABLE_MESSAGES.test(message) ? 'unavailable' : 'other';
}
