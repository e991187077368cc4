import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Clock } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { newRootSalt } from '../kernel/crypto/root-key.ts';
import { Keyring } from '../kernel/keys/keyring.ts';
import { listCopies, saveCopy } from '../kernel/seals/sealed-copies.ts';
import { type Database, UniqueViolation } from '../kernel/storage/database.ts';
import type { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { ROW_PURPOSE } from '../kernel/storage/row-keys.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import type { Config } from '../settings/config.ts';
import { type Locked, newRoot, type OpenedRoot, openRootKey } from './open-root-key.ts';

/** The id of an installation and of the root key that opens it. */
export interface Installation {
  installationId: string;
  rootKeyId: string;
  salt: Uint8Array;
}

export async function findInstallation(database: Database): Promise<Installation | null> {
  const row = await database.read.selectFrom('installation').selectAll().executeTakeFirst();
  if (row === undefined) return null;
  return { installationId: row.installation_id, rootKeyId: row.root_key_id, salt: row.root_key_salt };
}

/** Does the same for a PostgreSQL database that may have no tables yet. */
export async function installationThere(database: PostgresDatabase): Promise<Installation | null> {
  const tables = sql`select 1 from pg_tables where schemaname = current_schema() and tablename = 'installation'`;
  const { rows } = await tables.execute(database.read);
  return rows.length === 0 ? null : findInstallation(database);
}

/** Opens the root key of the installation. On an empty database, sets one up. */
export async function openInstallation(
  config: Config,
  database: Database,
  clock: Clock,
  { installation: given, opened }: { installation?: Installation; opened?: OpenedRoot },
): Promise<{ installation: Installation; opened: OpenedRoot }> {
  const found = given ?? (await findInstallation(database));
  // A rekey may have replaced the key that was opened before.
  const isCurrent = opened !== undefined && opened.root.id === found?.rootKeyId;
  if (found !== null)
    return { installation: found, opened: isCurrent ? opened : await openRootOf(config, database, found) };
  const installed = await install(config, database, clock);
  if (installed !== null) return installed;
  // Another node was first, and this one opens what it created.
  const other = await findInstallation(database);
  if (other === null) throw new Error('the installation is gone');
  return { installation: other, opened: await openRootOf(config, database, other) };
}

/** Replaces the root key's id until a restore is recorded and finished, so that no server starts on a half-restored database. */
export const RESTORING = 'restoring';

/** Opens the root key of this database, or throws an error that says what to do. */
export async function openRootOf(config: Config, database: Database, installation: Installation): Promise<OpenedRoot> {
  return openRootKey(config, await lockedOf(database, installation));
}

/** What is needed to open its root key. */
export async function lockedOf(database: Database, installation: Installation): Promise<Locked> {
  if (installation.rootKeyId.startsWith(RESTORING)) {
    throw new StartError(
      'A restore into this database was interrupted: run "coffer server restore" with the same backup, or the same "coffer server copy", again, which finishes it.',
    );
  }
  return { ...installation, copies: await listCopies(database.read) };
}

/** Of several nodes that start on an empty database, one sets it up. Null if another one did. */
async function install(
  config: Config,
  database: Database,
  clock: Clock,
): Promise<{ installation: Installation; opened: OpenedRoot } | null> {
  const installationId = randomBytes(16).toString('hex');
  const salt = newRootSalt();
  const { root, copies } = await newRoot(config, { installationId, salt, now: clock.now() });
  try {
    await database.transaction(async (tx) => {
      await tx
        .insertInto('installation')
        .values({
          tenant_id: SYSTEM_TENANT,
          installation_id: installationId,
          root_key_id: root.id,
          root_key_salt: salt,
          created_at: clock.now(),
          last_backup_at: null,
        })
        .execute();
      for (const copy of copies) await saveCopy(tx, copy);
      await new Keyring(database, root, clock).createTenantKey(tx, SYSTEM_TENANT, ROW_PURPOSE);
    });
  } catch (error) {
    if (error instanceof UniqueViolation && (await findInstallation(database)) !== null) return null;
    throw error;
  }
  const by = copies[0]?.reference ?? config.rootKey.provider;
  return { installation: { installationId, rootKeyId: root.id, salt }, opened: { root, by, failures: [] } };
}
