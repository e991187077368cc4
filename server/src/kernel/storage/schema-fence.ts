import type { Logger } from 'pino';
import { unavailable } from '../base/errors.ts';
import { type Database, OUTDATED } from './database.ts';
import { PostgresDatabase } from './postgres.ts';
import { PreparedQuery } from './prepared-query.ts';

const READ_OLDEST = new PreparedQuery<Record<never, never>, { oldest: number }>((db) =>
  db.selectFrom('schema_version').select('oldest').where('id', '=', 1),
);

/**
 * Ends the work of a node once a newer release has changed the schema in a way that this release does not know: it would read and write rows wrongly.
 * A migration raises every epoch, and each node checks the schema when an epoch has risen, so it handles no request of an authenticated caller that
 * begins after the migration. For all other work it looks every few seconds (nodes/node-list.ts). On SQLite no other process can change the schema.
 */
export class SchemaFence {
  readonly #database: PostgresDatabase | null;
  readonly #schemaVersion: number;
  readonly #log: Logger;
  #onOutdated: () => void = () => {};

  constructor(database: Database, schemaVersion: number, log: Logger) {
    this.#database = database instanceof PostgresDatabase ? database : null;
    this.#schemaVersion = schemaVersion;
    this.#log = log;
  }

  /** Called once, when this node has become too old. */
  onOutdated(listener: () => void): void {
    this.#onOutdated = listener;
  }

  /** From the moment that it finds a newer schema, every statement of this process is refused. */
  async check(): Promise<void> {
    if (this.#database === null) return;
    const [row] = await this.#database.query(READ_OLDEST, {});
    if (row !== undefined && row.oldest <= this.#schemaVersion) return;
    const error = unavailable(OUTDATED);
    if (this.#database.refuse(error)) {
      this.#log.error(
        { schema: this.#schemaVersion, oldest_allowed: row?.oldest, what_to_do: ADVICE },
        'a newer release has changed the database; this node serves nothing more',
      );
      this.#onOutdated();
    }
    throw error;
  }
}

const ADVICE = 'Start this node with the newer release.';
