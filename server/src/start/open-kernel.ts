import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { AUTHENTICATED_TABLES } from '../assembly/authenticated-tables.ts';
import { regionSettings } from '../features/regions/index.ts';
import { DamagedSegments } from '../kernel/audit/chain/damaged-segments.ts';
import { AuditLog } from '../kernel/audit/log/audit-log.ts';
import { Refusals } from '../kernel/audit/log/refusals.ts';
import { UnlistedReads } from '../kernel/audit/log/unlisted-reads.ts';
import { DpopGuard } from '../kernel/auth/dpop-guard.ts';
import { RegionGate } from '../kernel/auth/region-gate.ts';
import { SigningKeys } from '../kernel/auth/signing-keys.ts';
import { Activity } from '../kernel/base/activity.ts';
import type { Clock } from '../kernel/base/clock.ts';
import { COMMIT } from '../kernel/base/commit.ts';
import { newId } from '../kernel/base/ids.ts';
import { Addresses } from '../kernel/base/service-urls.ts';
import { KeySets } from '../kernel/external-identity/key-sets.ts';
import { BulkRequests } from '../kernel/fairness/bulk-requests.ts';
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
import type { Database } from '../kernel/storage/database.ts';
import { Epochs } from '../kernel/storage/epochs.ts';
import { SchemaFence } from '../kernel/storage/schema-fence.ts';
import { SCHEMA_VERSION } from '../kernel/storage/schema-version.ts';
import { ClockGuard } from '../kernel/time/clock-guard.ts';
import type { TimeSources } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { startWarnings } from '../settings/start-warnings.ts';
import { authenticateRows, tenantsToAuthenticate } from '../upgrade/from-0-4/authenticate-rows.ts';
import { type Installation, openInstallation } from './installation.ts';
import { openAudit } from './open-audit.ts';
import type { OpenedRoot } from './open-root-key.ts';

const FORGED =
  'Somebody wrote to the database directly, bypassing the service. Keep a copy of it, run "coffer server verify", which lists every such row, find out who could write, and restore the rows from a backup.';

export async function openKernel(parts: {
  config: Config;
  time: TimeSources;
  log: Logger;
  database: Database;
  /** A tenant whose rows an operator accepted although its audit log was changed. */
  acceptRowsOf?: string;
  /** The installation as it will be, where the stored row belongs to an unfinished restore. */
  installation?: Installation;
  /** The root key, if people have opened it before. */
  opened?: OpenedRoot;
}): Promise<KernelWithoutOperator> {
  const { config, time, database } = parts;
  const clock: Clock = time;
  const nodeId = newId('node', clock.now());
  const log = parts.log.child({ node_id: nodeId });
  const { installation, opened } = await openInstallation(config, database, clock, parts);
  const { root } = opened;
  for (const { reference, problem, message } of opened.failures)
    log.warn({ seal: reference, problem, what_to_do: message }, 'a seal does not open the root key');
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

  const { heads, store } = await openAudit(
    { config, clock, time, log, metrics, database, keyring, nodeId },
    // A restore has removed the anchor.
    { root, isRootCertain: opened.by === config.rootKey.provider },
    unauthenticated,
  );
  const regionGate = new RegionGate();
  const activity = new Activity();
  const audit = new AuditLog({ store, heads, log, regionGate, metrics, activity });
  const schemaVersion = SCHEMA_VERSION;
  const schemaFence = new SchemaFence(database, schemaVersion, log);
  const own = {
    node_id: nodeId,
    release: packageJson.version,
    commit_id: COMMIT,
    schema_version: schemaVersion,
    region: config.of(regionSettings)?.name ?? null,
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
