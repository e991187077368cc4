import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Tables } from './tables.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

/** SQLite has one writer at a time and needs no row locks: `for update` is left out there, so that the same stores work on both databases. */
class SqliteWithoutRowLocks extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === undefined || !ROW_LOCKS.has(node.modifier)) super.visitSelectModifier(node);
  }
}
const ROW_LOCKS = new Set(['ForUpdate', 'ForShare', 'SkipLocked', 'NoWait']);

export interface Executed {
  rows: unknown[];
  affected: number;
}
export type Execute = (sql: string, parameters: readonly unknown[]) => Promise<Executed>;

/**
 * Kysely over one function that runs SQL. Connections, transactions and retries are our own (see sqlite.ts and postgres.ts); Kysely only builds and
 * types the queries.
 */
export function kyselyOver(kind: DatabaseKind, execute: Execute): Kysely<Tables> {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const { rows, affected } = await execute(query.sql, query.parameters);
      return { rows: rows as R[], numAffectedRows: BigInt(affected) };
    },
    // biome-ignore lint/correctness/useYield: lists use keyset pages; nothing streams
    async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
      throw new Error('streaming is not used: read pages by key');
    },
  };
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    destroy: async () => {},
  };
  return new Kysely<Tables>({ dialect: { ...DIALECTS[kind], createDriver: () => driver } });
}

export function kindOf(db: Kysely<Tables>): DatabaseKind {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres';
}

async function refuse(): Promise<void> {
  throw new Error('use Database.transaction, which retries and guards');
}

const DIALECTS: Record<DatabaseKind, Omit<Dialect, 'createDriver'>> = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteWithoutRowLocks(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
};
