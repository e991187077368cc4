import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const MIGRATIONS_FOLDER = join(import.meta.dirname, '../../../migrations');

/** The schema that this release knows: the number of its migrations. */
export const SCHEMA_VERSION = readdirSync(MIGRATIONS_FOLDER).length;

/** How the sessions of a node are named on PostgreSQL. Those of releases up to 0.4 have no number. */
export const SESSION_NAME = `coffer ${SCHEMA_VERSION}`;
/** In the syntax of PostgreSQL. Other commands of the service have other names, such as "coffer backup". */
export const SESSION_NAMES = '^coffer( [0-9]+)?$';
