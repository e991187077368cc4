import { type FailureKind, translate } from './database.ts';
import type { Execute } from './dialect.ts';
import type { Connection } from './sqlite-connection.ts';

/** Translates driver errors into our own. An error that a transaction may retry is passed on unchanged, so that the transaction recognizes it. */
export function executeOn(connection: Connection, { isRetried }: { isRetried: boolean }): Execute {
  return async (sql, parameters) => {
    try {
      return connection.execute(sql, parameters);
    } catch (error) {
      const kind = classifySqliteError(error);
      throw kind === 'retry' && isRetried ? error : translate(error, kind);
    }
  };
}

export const SQLITE = { BUSY: 5, LOCKED: 6, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, NOTADB: 26 };
const SQLITE_UNIQUE = new Set([1555, 2067, 2579]);

export function classifySqliteError(error: unknown): FailureKind {
  const { code, errcode } = (error ?? {}) as { code?: string; errcode?: number };
  if (code !== 'ERR_SQLITE_ERROR' || errcode === undefined) return 'other';
  if (SQLITE_UNIQUE.has(errcode)) return 'unique';
  const primary = errcode & 0xff;
  if (primary === SQLITE.BUSY || primary === SQLITE.LOCKED) return 'retry';
  const { READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB } = SQLITE;
  return [READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB].includes(primary) ? 'unavailable' : 'other';
}
