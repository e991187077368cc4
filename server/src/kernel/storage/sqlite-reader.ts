import { DatabaseSync } from 'node:sqlite';
import { type Reader, readerOver, translate } from './database.ts';
import { PreparedQuery } from './prepared-query.ts';
import type { RowKeys } from './row-keys.ts';
import { Connection } from './sqlite-connection.ts';
import { classifySqliteError, executeOn } from './sqlite-errors.ts';

export const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 32 * 1024;
export const SET_UP = `pragma busy_timeout = ${BUSY_TIMEOUT_MS}; pragma trusted_schema = off; pragma temp_store = memory;`;
const READER_SET_UP = `${SET_UP} pragma cache_size = -${CACHE_KIB};`;

/** A connection that reads what is committed. */
export class SqliteReader {
  readonly read: Reader;
  readonly #connection: Connection;

  constructor(file: string, rowKeys: RowKeys) {
    this.#connection = new Connection(new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS }));
    this.#connection.database.exec(READER_SET_UP);
    this.read = readerOver('sqlite', executeOn(this.#connection, { isRetried: false }), rowKeys);
  }

  async query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    const { sql, bind } = prepared.compile('sqlite', this.read);
    try {
      return this.#connection.all(sql, bind(parameters)) as R[];
    } catch (error) {
      throw translate(error, classifySqliteError(error));
    }
  }

  /** A number that is another one after each commit of another connection, in this process or not. */
  dataVersion(): number {
    const [row] = this.#connection.all('pragma data_version', []) as { data_version: number }[];
    return Number(row?.data_version);
  }

  async ping(): Promise<void> {
    await this.query(PING, {});
  }

  close(): void {
    this.#connection.close();
  }
}

/** Reads a page of the file, so that a lost or damaged file is detected. */
const PING = new PreparedQuery((db) => db.selectFrom('tenants').select('tenant_id').limit(1));
