import type { Logger } from 'pino';
import type { Config } from '../../settings/config.ts';
import type { StartWarning } from '../../settings/start-warnings.ts';
import type { DamagedSegments } from '../audit/chain/damaged-segments.ts';
import type { Heads } from '../audit/chain/heads.ts';
import type { AuditLog } from '../audit/log/audit-log.ts';
import type { Refusals } from '../audit/log/refusals.ts';
import type { UnlistedReads } from '../audit/log/unlisted-reads.ts';
import type { DpopGuard } from '../auth/dpop-guard.ts';
import type { RegionGate } from '../auth/region-gate.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { Activity } from '../base/activity.ts';
import type { Clock } from '../base/clock.ts';
import type { Addresses } from '../base/service-urls.ts';
import type { KeySets } from '../external-identity/key-sets.ts';
import type { BulkRequests } from '../fairness/bulk-requests.ts';
import type { AnyAuthenticatedTable } from '../integrity/authenticated-table.ts';
import type { JobList } from '../jobs/job-list.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { Plans } from '../limits/plans.ts';
import type { RateLimiter } from '../limits/rate-limiter.ts';
import type { NodeList } from '../nodes/node-list.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AddressGuard } from '../outbound/address-guard.ts';
import type { HttpClient } from '../outbound/http-client.ts';
import type { TraceExporter } from '../outbound/trace-exporter.ts';
import type { Database } from '../storage/database.ts';
import type { Epochs } from '../storage/epochs.ts';
import type { SchemaFence } from '../storage/schema-fence.ts';
import type { ClockGuard } from '../time/clock-guard.ts';
import type { TimeSources } from '../time/sources.ts';
import type { Idempotency } from './idempotency.ts';

/** The services every feature is built on. Created once, in start/open-kernel.ts. */
export interface Kernel {
  config: Config;
  clock: Clock;
  /** The clock with the sources that it is compared with. */
  time: TimeSources;
  clockGuard: ClockGuard;
  log: Logger;
  metrics: Metrics;
  /** Null if requests are not traced. */
  traces: TraceExporter | null;
  database: Database;
  epochs: Epochs;
  schemaFence: SchemaFence;
  keyring: Keyring;
  signingKeys: SigningKeys;
  audit: AuditLog;
  /** The last linked entry of each audit log. */
  heads: Heads;
  damagedSegments: DamagedSegments;
  refusals: Refusals;
  unlistedReads: UnlistedReads;
  rates: RateLimiter;
  /** The limits of each plan. */
  plans: Plans;
  bulkRequests: BulkRequests;
  idempotency: Idempotency;
  dpop: DpopGuard;
  /** Decides whether this region may handle a request, or change a tenant. */
  regionGate: RegionGate;
  /** The URLs of this service. */
  addresses: Addresses;
  /** Decides which addresses outgoing calls may connect to. */
  outbound: AddressGuard;
  /** Makes outgoing calls, to such addresses only. */
  http: HttpClient;
  /** The public keys of external issuers. */
  keySets: KeySets;
  /** Every table with authenticated rows, of the kernel and of the features. */
  authenticatedTables: readonly AnyAuthenticatedTable[];
  /** The operator's tenant. Refusals that belong to no tenant are recorded in its audit log. */
  operatorTenantId: string;
  /** Problems found at startup that the operator should fix. */
  warnings: StartWarning[];
  nodeId: string;
  /** Wakes loops of this process that wait because nothing happens. */
  activity: Activity;
  jobs: JobList;
  /** The nodes that use the same database. */
  nodes: NodeList;
  /** The release of the service. */
  version: string;
  /** The commit that the release was made from, or "unknown". */
  commit: string;
  /** Aborted when the process begins to stop, while requests in flight are still served. */
  shutdown: AbortController;
}

/** The kernel before the operator tenant is known: at the first start, which creates it, and while a restore is being finished. */
export type KernelWithoutOperator = Omit<Kernel, 'operatorTenantId'>;
