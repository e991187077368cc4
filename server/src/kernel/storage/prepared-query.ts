import type { Compilable, Kysely } from 'kysely';
import type { DatabaseKind } from './database.ts';
import type { Tables } from './tables.ts';

/** Stands in the built query where a parameter will be. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export type Parameter<P> = <K extends keyof P & string>(name: K) => P[K];

/** A query built by Kysely once for each kind of database, and then run without building it again. */
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
    }
    return compiled;
  }
}

export interface CompiledText<P> {
  sql: string;
  bind(parameters: P): unknown[];
}
