import { createHash } from 'node:crypto';
import type { Compilable, Kysely } from 'kysely';
import { type DatabaseKind, type Execute, kindOf } from './dialect.ts';
import type { Tables } from './tables.ts';

/** Where a query runs: outside a transaction, or in one. */
type Executor = Kysely<Tables> & { readonly execute: Execute };
/** A transaction, with the statements that nobody waited for. */
type Sender = Executor & { readonly sent: Promise<unknown>[] };

/** Marks the position of a parameter in the built query. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export type Parameter<P> = <K extends keyof P & string>(name: K) => P[K];

/** A parameter for each of the columns, under its own name. */
export function parametersFor<R, K extends keyof R & string>(
  columns: readonly K[],
  parameter: Parameter<R>,
): Pick<R, K> {
  return Object.fromEntries(columns.map((column) => [column, parameter(column)])) as Pick<R, K>;
}

/** PostgreSQL cuts names off after 63 characters. */
const NAME_DIGITS = 32;
/**
 * Names of prepared statements by their SQL. Each PostgreSQL connection prepares its own. A name is the digest of the SQL, so that behind a pooler,
 * which lends a connection to one client after another, a name never stands for another statement.
 */
const NAMES = new Map<string, string>();

function digestName(sql: string): string {
  return `coffer_${createHash('sha256').update(sql).digest('hex').slice(0, NAME_DIGITS)}`;
}

export function nameOf(sql: string): string | undefined {
  return NAMES.get(sql);
}

/**
 * A query that Kysely builds once per kind of database and that is then run without building it again. It must list its columns: a statement
 * prepared with `*` fails once a newer release has added a column.
 */
export class PreparedQuery<P extends object, R> {
  readonly #build: (db: Kysely<Tables>, parameter: Parameter<P>) => Compilable<R>;
  readonly #compiled = new Map<DatabaseKind, CompiledText<P>>();

  constructor(build: (db: Kysely<Tables>, parameter: Parameter<P>) => Compilable<R>) {
    this.#build = build;
  }

  compile(kind: DatabaseKind, db: Kysely<Tables>): CompiledText<P> {
    let compiled = this.#compiled.get(kind);
    if (compiled === undefined) {
      const query = this.#build(db, ((name: string) => new Placeholder(name)) as Parameter<P>).compile();
      const constants = query.parameters;
      const bind = (parameters: P) =>
        constants.map((c) => (c instanceof Placeholder ? parameters[c.name as keyof P] : c));
      compiled = { sql: query.sql, bind };
      this.#compiled.set(kind, compiled);
      if (!NAMES.has(query.sql)) NAMES.set(query.sql, digestName(query.sql));
    }
    return compiled;
  }

  /** Runs in a transaction too. Kysely is not involved, because its part takes longer than SQLite takes to run a query. */
  async run(db: Executor, parameters: P): Promise<R[]> {
    const { sql, bind } = this.compile(kindOf(db), db);
    return (await db.execute(sql, bind(parameters))).rows as R[];
  }

  /** For a change whose result nobody needs. On PostgreSQL the next statement is sent right behind it. If it fails, the transaction fails. */
  send(tx: Sender, parameters: P): void {
    const { sql, bind } = this.compile(kindOf(tx), tx);
    tx.sent.push(unawaited(tx.execute(sql, bind(parameters))));
  }
}

/** Marks a promise that is awaited later, so that its failure meanwhile does not end the process. */
export function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

export interface CompiledText<P> {
  sql: string;
  bind(parameters: P): unknown[];
}
