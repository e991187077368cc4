import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { sql } from 'kysely';
import type { Clock } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import {
  newRootSalt,
  type RootKey,
  readRootKeyFile,
  renameDurably,
  rootKeyProvider,
} from '../kernel/crypto/root-key.ts';
import { Keyring } from '../kernel/keys/keyring.ts';
import { type Database, UniqueViolation } from '../kernel/storage/database.ts';
import type { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { ROW_PURPOSE } from '../kernel/storage/row-keys.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import type { Config } from '../settings/config.ts';

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

/** Loads the root key of the installation. On an empty database, sets one up. */
export async function openInstallation(
  config: Config,
  database: Database,
  clock: Clock,
  given: Installation | undefined,
): Promise<{ installation: Installation; root: RootKey }> {
  const found = given ?? (await findInstallation(database));
  const salt = found?.salt ?? newRootSalt();
  const root = loadRootKey(config, found, salt);
  if (found !== null) return { installation: found, root };
  const installation = await install(database, root, salt, clock);
  if (installation.rootKeyId === root.id) return { installation, root };
  // Another node was first, and a passphrase yields its key only with the stored salt.
  return { installation, root: loadRootKey(config, installation, installation.salt) };
}

/** Replaces the root key's id until a restore is recorded and finished, so that no server starts on a half-restored database. */
export const RESTORING = 'restoring';

/** Loads the root key that opens this database, or throws an error that says what to do. */
export function loadRootKey(config: Config, installation: Installation | null, salt: Uint8Array): RootKey {
  if (installation?.rootKeyId.startsWith(RESTORING)) {
    throw new StartError(
      'A restore into this database was interrupted: run "coffer server restore" with the same backup, or the same "coffer server copy", again, which finishes it.',
    );
  }
  if (installation !== null && config.rootKey.provider === 'file') finishRekey(config.rootKey.file, installation);
  const provider = rootKeyProvider(config.rootKey);
  const root = provider.load(salt, installation === null);
  if (installation !== null && root.id !== installation.rootKeyId) {
    throw new StartError(
      `The root key from ${provider.describes} (${root.id}) cannot decrypt this database, which requires ${installation.rootKeyId}. ` +
        'Provide the key that the database was created or last rekeyed with; nothing was changed.',
    );
  }
  return root;
}

export const NEXT_KEY_SUFFIX = '.next';

/**
 * A rekey that is killed after its commit leaves the new key beside the old one, and the database says which one is current. A new key that is not
 * the database's stays where it is: a rekey may be about to commit it at this moment, and the next rekey replaces it.
 */
function finishRekey(file: string, installation: Installation): void {
  const next = `${file}${NEXT_KEY_SUFFIX}`;
  if (existsSync(next) && readRootKeyFile(next).id === installation.rootKeyId) renameDurably(next, file);
}

/** Of several nodes that start on an empty database, one sets it up and the others load what it created. */
async function install(database: Database, root: RootKey, salt: Uint8Array, clock: Clock): Promise<Installation> {
  const installationId = randomBytes(16).toString('hex');
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
      await new Keyring(database, root, clock).createTenantKey(tx, SYSTEM_TENANT, ROW_PURPOSE);
    });
  } catch (error) {
    const other = error instanceof UniqueViolation ? await findInstallation(database) : null;
    if (other === null) throw error;
    return other;
  }
  return { installationId, rootKeyId: root.id, salt };
}
