import type { Logger } from 'pino';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Heads } from '../audit/heads.ts';
import type { Refusals } from '../audit/refusals.ts';
import type { UnlistedReads } from '../audit/unlisted-reads.ts';
import type { DpopGuard } from '../auth/dpop-guard.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { KeySets } from '../external-identity/key-sets.ts';
import type { BulkRequests } from '../fairness/bulk-requests.ts';
import type { AnyAuthenticatedTable } from '../integrity/authenticated-table.ts';
import type { Idempotency } from '../limits/idempotency.ts';
import type { Plans } from '../limits/plans.ts';
import type { RateLimiter } from '../limits/rate-limiter.ts';
import type { NodeList } from '../nodes/node-list.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { TraceExporter } from '../observability/trace-exporter.ts';
import type { AddressGuard } from '../outbound/address-guard.ts';
import type { HttpClient } from '../outbound/http-client.ts';
import type { RegionGate } from '../request/region-gate.ts';
import type { Database } from '../storage/database.ts';
import type { Epochs } from '../storage/epochs.ts';
import type { SchemaFence } from '../storage/schema-fence.ts';
import type { ClockGuard } from '../time/clock-guard.ts';
import type { TimeSources } from '../time/sources.ts';
import type { Addresses } from './addresses.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { StartWarning } from './start-warnings.ts';

/** The services every feature is built on. Created once, in open-kernel.ts. */
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
  warnings: readonly StartWarning[];
  nodeId: string;
  /** The nodes that use the same database. */
  nodes: NodeList;
  /** The release of the service. */
  version: string;
  /** Aborted when the process begins to stop, while requests in flight are still served. */
  shutdown: AbortController;
}

/** The kernel before the operator tenant is known: at the first start, which creates it, and while a restore is being finished. */
export type KernelWithoutOperator = Omit<Kernel, 'operatorTenantId'>;
