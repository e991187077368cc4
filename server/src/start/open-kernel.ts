import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { AUTHENTICATED_TABLES } from '../assembly/authenticated-tables.ts';
import { ANCHOR_FILE, Anchor } from '../kernel/audit/chain/anchor.ts';
import { DamagedSegments } from '../kernel/audit/chain/damaged-segments.ts';
import { Heads } from '../kernel/audit/chain/heads.ts';
import { MISSING_JOURNAL, missingJournalEntry } from '../kernel/audit/journal/journal-recovery.ts';
import { JournalKeys } from '../kernel/audit/journal/journal-state.ts';
import { SqliteAuditStore } from '../kernel/audit/journal/sqlite-audit-store.ts';
import { AuditLog } from '../kernel/audit/log/audit-log.ts';
import { Refusals } from '../kernel/audit/log/refusals.ts';
import { UnlistedReads } from '../kernel/audit/log/unlisted-reads.ts';
import { PostgresAuditStore } from '../kernel/audit/postgres/postgres-audit-store.ts';
import { DpopGuard } from '../kernel/auth/dpop-guard.ts';
import { RegionGate } from '../kernel/auth/region-gate.ts';
import { SigningKeys } from '../kernel/auth/signing-keys.ts';
import { Activity } from '../kernel/base/activity.ts';
import type { Clock } from '../kernel/base/clock.ts';
import { COMMIT } from '../kernel/base/commit.ts';
import { lockDataFolder, makeDataFolder, refuseFullDisk, StartError } from '../kernel/base/data-folder.ts';
import { newId } from '../kernel/base/ids.ts';
import { Addresses } from '../kernel/base/service-urls.ts';
import {
  newRootSalt,
  type RootKey,
  readRootKeyFile,
  renameDurably,
  rootKeyProvider,
} from '../kernel/crypto/root-key.ts';
import { KeySets } from '../kernel/external-identity/key-sets.ts';
import { BulkRequests } from '../kernel/fairness/bulk-requests.ts';
import { findUncheckedOperator } from '../kernel/integrity/tenant-rows.ts';
import { JobList } from '../kernel/jobs/job-list.ts';
import { Keyring } from '../kernel/keys/keyring.ts';
import { Plans } from '../kernel/limits/plans.ts';
import { RateLimiter } from '../kernel/limits/rate-limiter.ts';
import { NodeList } from '../kernel/nodes/node-list.ts';
import { Metrics } from '../kernel/observability/metrics.ts';
import { AddressGuard } from '../kernel/outbound/address-guard.ts';
import { HttpClient } from '../kernel/outbound/http-client.ts';
import { TraceExporter } from '../kernel/outbound/trace-exporter.ts';
import { Idempotency } from '../kernel/request/idempotency.ts';
import type { KernelWithoutOperator } from '../kernel/request/kernel.ts';
import { type Database, UniqueViolation } from '../kernel/storage/database.ts';
import { Epochs } from '../kernel/storage/epochs.ts';
import {
  endingMigration,
  listMigrations,
  type Migration,
  migrate,
  requireMigrated,
} from '../kernel/storage/migrate.ts';
import { refuseOlderNodes } from '../kernel/storage/node-sessions.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { ROW_PURPOSE } from '../kernel/storage/row-keys.ts';
import { SchemaFence } from '../kernel/storage/schema-fence.ts';
import { SqliteDatabase } from '../kernel/storage/sqlite.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import { refuseTransactionPooling } from '../kernel/storage/transaction-pooling.ts';
import { ClockGuard } from '../kernel/time/clock-guard.ts';
import type { TimeSources } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { startWarnings } from '../settings/start-warnings.ts';
import { authenticateRows, tenantsToAuthenticate } from '../upgrade/from-0-4/authenticate-rows.ts';

export const DATABASE_FILE = 'coffer.db';
export const JOURNAL_FILE = 'audit.journal';
const FORGED =
  'Somebody wrote to the database directly, bypassing the service. Keep a copy of it, run "coffer server verify", which lists every such row, find out who could write, and restore the rows from a backup.';

export interface OpenedStorage {
  database: Database;
  /** The migrations that this call ran, in order. */
  applied: readonly string[];
  schemaVersion: number;
  close(): Promise<void>;
}

/** Opens the data folder and the database, and brings its schema up to date, unless another worker has done so. */
export async function openStorage(
  config: Config,
  { isMigrated = false, mayBeNewer = false, endsOlderNodes = false, needsRoom = false } = {},
): Promise<OpenedStorage> {
  makeDataFolder(config.dataDir);
  const lock = config.databaseUrl === null ? lockDataFolder(config.dataDir) : null;
  let database: Database | undefined;
  const close = async () => {
    await database?.close();
    lock?.release();
  };
  try {
    if (needsRoom && lock !== null) refuseFullDisk(config.dataDir);
    if (config.databaseUrl !== null) await refuseTransactionPooling(config.databaseUrl);
    database =
      config.databaseUrl === null
        ? new SqliteDatabase(join(config.dataDir, DATABASE_FILE))
        : new PostgresDatabase(config.databaseUrl, config.databasePool);
    if (database instanceof PostgresDatabase) await refuseEmptyBesideUsed(config, database);
    const migrations = await listMigrations();
    if (isMigrated) await requireMigrated(database, migrations);
    else if (database instanceof PostgresDatabase && !endsOlderNodes) await refuseOlderNodesOn(database, migrations);
    const { applied } = isMigrated ? { applied: [] } : await migrate(database, migrations, { mayBeNewer });
    return { database, applied, schemaVersion: migrations.length, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The schema would refuse their statements (recording-fence.ts), so callers would get errors from then on. */
async function refuseOlderNodesOn(database: PostgresDatabase, migrations: readonly Migration[]): Promise<void> {
  const ending = await endingMigration(database, migrations);
  if (ending !== undefined) await refuseOlderNodes((text) => sql.raw<never>(text).execute(database.read), ending);
}

/** An operator who sets CV_DATABASE_URL for the first time expects their data to be there. An empty installation would look as if all were lost. */
async function refuseEmptyBesideUsed({ dataDir }: Config, database: PostgresDatabase): Promise<void> {
  const file = join(dataDir, DATABASE_FILE);
  if (!existsSync(file) || (await installationThere(database)) !== null) return;
  throw new StartError(
    `There is a Coffer database in ${dataDir}, and the PostgreSQL database in CV_DATABASE_URL is empty. To continue with the existing data, run ` +
      `"coffer server copy --to URL" without CV_DATABASE_URL; to start a new installation, move ${file} out of the folder. Nothing was changed.`,
  );
}

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

export async function openKernel(parts: {
  config: Config;
  time: TimeSources;
  log: Logger;
  database: Database;
  /** A tenant whose rows an operator accepted although its audit log was changed. */
  acceptRowsOf?: string;
  /** The installation as it will be, where the stored row belongs to an unfinished restore. */
  installation?: Installation;
}): Promise<KernelWithoutOperator> {
  const { config, time, database } = parts;
  const clock: Clock = time;
  const nodeId = newId('node', clock.now());
  const log = parts.log.child({ node_id: nodeId });
  let installation = parts.installation ?? (await findInstallation(database));
  const salt = installation?.salt ?? newRootSalt();
  let root = loadRootKey(config, installation, salt);
  if (installation === null) {
    installation = await install(database, root, salt, clock);
    // Another node was first, and a passphrase yields its key only with the stored salt.
    if (installation.rootKeyId !== root.id) root = loadRootKey(config, installation, installation.salt);
  }
  const keyring = new Keyring(database, root, clock);
  const metrics = new Metrics();
  metrics.watchDatabase(() => database.queues);
  database.rowKeys.use(keyring, ({ table, row }) => {
    metrics.forgedRows.labels(table).inc();
    log.error(
      { table, row, what_to_do: FORGED },
      'a row was not written by the service or was changed outside it, and is refused',
    );
  });
  const unauthenticated = await tenantsToAuthenticate(database.read, root);
  for (const tenantId of unauthenticated) keyring.setAuthenticated(tenantId, false);

  const anchor = Anchor.open({ file: join(config.dataDir, ANCHOR_FILE), root, log, metrics });
  refuseOlderRelease(anchor, unauthenticated);
  const heads = new Heads(keyring, anchor);
  const store =
    database instanceof SqliteDatabase
      ? await openJournaled({ config, clock, log, database, heads, keyring })
      : new PostgresAuditStore({ database: database as PostgresDatabase, heads, keyring, time, log, metrics, nodeId });
  const regionGate = new RegionGate();
  const activity = new Activity();
  const audit = new AuditLog({ store, heads, log, regionGate, metrics, activity });
  const schemaVersion = (await listMigrations()).length;
  const schemaFence = new SchemaFence(database, schemaVersion, log);
  const own = {
    node_id: nodeId,
    release: packageJson.version,
    commit_id: COMMIT,
    schema_version: schemaVersion,
    region: config.region?.name ?? null,
    started_at: clock.now(),
  };
  const { acceptRowsOf } = parts;
  await authenticateRows({ database, root, keyring, heads, audit, clock, log, acceptRowsOf }, unauthenticated);
  const signingKeys = new SigningKeys(database, keyring, clock, installation.installationId);
  await signingKeys.rotate();
  const addresses = new Addresses(config);
  const outbound = new AddressGuard(config.outboundAllow);
  const http = new HttpClient(outbound);
  return {
    // Of its own, and not frozen: SIGHUP replaces what can be loaded again (reload.ts).
    config: { ...config },
    clock,
    time,
    clockGuard: new ClockGuard({ time, database, log, metrics }),
    log,
    database,
    keyring,
    signingKeys,
    audit,
    heads,
    damagedSegments: new DamagedSegments({ log, metrics }),
    metrics,
    traces:
      config.otlpUrl === null
        ? null
        : new TraceExporter({ url: config.otlpUrl, log, metrics, version: packageJson.version, nodeId }),
    epochs: new Epochs(database),
    schemaFence,
    refusals: new Refusals((entry) => audit.record(entry)),
    unlistedReads: new UnlistedReads((entry) => audit.record(entry), clock),
    rates: new RateLimiter(),
    plans: new Plans(),
    bulkRequests: new BulkRequests(),
    idempotency: new Idempotency(database, keyring, clock),
    regionGate,
    addresses,
    dpop: new DpopGuard({ database, keyring, addresses, isNonceRequired: config.isDpopNonceRequired }),
    outbound,
    http,
    keySets: new KeySets(http, clock),
    authenticatedTables: AUTHENTICATED_TABLES,
    warnings: startWarnings(config),
    nodeId,
    activity,
    jobs: new JobList(),
    nodes: new NodeList({ database, clock, log, fence: schemaFence, own }),
    version: packageJson.version,
    commit: COMMIT,
    shutdown: new AbortController(),
  };
}

/** Rows that were authenticated once are not authenticated anew: somebody put back an older database, perhaps with forged rows. */
function refuseOlderRelease(anchor: Anchor, unauthenticated: readonly string[]): void {
  const [tenantId] = unauthenticated.filter((id) => anchor.seen(id) !== undefined);
  if (tenantId === undefined) return;
  throw new StartError(
    `The database is older than before: the rows of ${tenantId} were authenticated, and are not any more. Restore the newer database, or restore a backup ` +
      `with "coffer server restore"; or, to continue with this one, move ${ANCHOR_FILE} out of the data folder. Nothing was changed.`,
  );
}

/** Writes the entries in the last process's journal to the database before anything else happens. */
async function openJournaled(parts: {
  config: Config;
  clock: Clock;
  log: Logger;
  database: SqliteDatabase;
  heads: Heads;
  keyring: Keyring;
}): Promise<SqliteAuditStore> {
  const { config, clock, database, heads, keyring, log } = parts;
  const file = join(config.dataDir, JOURNAL_FILE);
  const store = new SqliteAuditStore({ database, heads, keys: new JournalKeys(keyring), file, log, clock });
  await store.recover(async () => {
    log.warn({ file }, MISSING_JOURNAL);
    const operator = await findUncheckedOperator(database.read);
    if (operator === undefined) return async () => {};
    const headKey = await heads.key(operator.tenant_id);
    const entry = missingJournalEntry(operator.tenant_id, clock.now());
    return (tx) => store.appendIn(tx, [entry], headKey);
  });
  return store;
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
