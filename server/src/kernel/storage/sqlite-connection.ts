import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Executed } from './dialect.ts';

const STATEMENT_CACHE_SIZE = 512;

/** A statement, with what is determined once, because it takes longer than most statements. */
interface Prepared {
  statement: StatementSync;
  hasRows: boolean;
  /** Makes a row of the array that SQLite returns; null if the statement returns rows as objects. */
  rowOf: ((values: readonly unknown[]) => unknown) | null;
}

/**
 * Makes rows with these columns from arrays. SQLite returns arrays faster than objects, and copies of one object have their shape from the start.
 */
function rowMaker(columns: readonly string[]): (values: readonly unknown[]) => unknown {
  const empty: Record<string, unknown> = Object.fromEntries(columns.map((column) => [column, null]));
  return (values) => {
    const row = { ...empty };
    let at = 0;
    for (const column of columns) row[column] = values[at++];
    return row;
  };
}

/** A connection with its prepared statements, of which the oldest is evicted first. */
export class Connection {
  readonly database: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  prepare(sql: string): StatementSync {
    return this.#prepare(sql).statement;
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = this.database.prepare(sql);
      const columns = statement.columns().map(({ name }) => name);
      // SQLite prepares a statement again after a change of the schema, and `*` has other columns then.
      const isFixed = columns.length > 0 && !sql.includes('*');
      if (isFixed) statement.setReturnArrays(true);
      prepared = { statement, hasRows: columns.length > 0, rowOf: isFixed ? rowMaker(columns) : null };
      if (this.#prepared.size >= STATEMENT_CACHE_SIZE) {
        const oldest = this.#prepared.keys().next().value;
        if (oldest !== undefined) this.#prepared.delete(oldest);
      }
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  execute(sql: string, parameters: readonly unknown[]): Executed {
    if (this.#prepare(sql).hasRows) return { rows: this.all(sql, parameters), affected: 0 };
    return { rows: [], affected: this.run(sql, parameters) };
  }

  all(sql: string, parameters: readonly unknown[]): unknown[] {
    const { statement, rowOf } = this.#prepare(sql);
    const rows: unknown[] = statement.all(...(parameters as SQLInputValue[]));
    return rowOf === null ? rows : rows.map((values) => rowOf(values as unknown[]));
  }

  run(sql: string, parameters: readonly unknown[]): number {
    return Number(this.prepare(sql).run(...(parameters as SQLInputValue[])).changes);
  }

  close(): void {
    this.#prepared.clear();
    this.database.close();
  }
}
