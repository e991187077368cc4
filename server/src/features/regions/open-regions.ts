import type { Counter } from 'prom-client';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { Contacts } from './contacts.ts';
import { Directory } from './directory.ts';
import { Exchange } from './exchange.ts';
import { Homes } from './homes.ts';
import { RegionIdentity } from './identity.ts';
import type { RegionKernel } from './links.ts';
import { Promotions } from './promotions.ts';
import { Publication } from './publication.ts';
import { RegionStatements } from './region-statements.ts';
import type { RegionConfig } from './settings.ts';
import { Synchronization } from './synchronization.ts';

export interface RegionMetrics {
  refused: Counter<'peer' | 'reason'>;
  conflicts: Counter;
}

/** Everything that a region needs, once its certificates are loaded. */
export interface OpenRegions {
  config: RegionConfig;
  identity: RegionIdentity;
  directory: Directory;
  contacts: Contacts;
  statements: RegionStatements;
  homes: Homes;
  promotions: Promotions;
  synchronization: Synchronization;
  /** What was not accepted from other regions. */
  refused: Counter<'peer' | 'reason'>;
}

/** Registered without regions too, so that dashboards and alerts need not know. */
export function regionMetrics({ metrics }: Pick<Kernel, 'metrics'>, opened: () => OpenRegions | null): RegionMetrics {
  const lags = async () => opened()?.contacts.lags() ?? [];
  metrics.collectBy({ name: 'cv_region_lag_seconds', help: LAG, labels: ['peer'] }, lags);
  metrics.collect('cv_region_lease', LEASE, async () => (opened()?.contacts.hasLease() === false ? 0 : 1));
  return {
    refused: metrics.counter('cv_region_refused_total', REFUSED, ['peer', 'reason']),
    conflicts: metrics.counter('cv_region_conflicts_total', CONFLICTS, []),
  };
}

export async function openRegions(
  kernel: RegionKernel,
  config: RegionConfig,
  { refused, conflicts }: RegionMetrics,
): Promise<OpenRegions> {
  const { database, clock, log, time } = kernel;
  const identity = new RegionIdentity(config);
  const onConflict = (tenant: string, regions: readonly string[]) => {
    conflicts.inc();
    log.error({ tenant, regions, what_to_do: CONFLICT_ADVICE }, 'two regions took the same epoch of a tenant');
  };
  const directory = new Directory({ region: config.name, database, clock, identity, onConflict });
  const contacts = new Contacts(config, time);
  const exchange = new Exchange(config, identity);
  const statements = new RegionStatements(config.name, identity, () => kernel.operatorTenantId);
  const homes = new Homes({ config, kernel, directory, contacts, statements });
  const promotions = new Promotions({ config, database, directory, contacts, statements, exchange, log, clock });
  const publication = new Publication(kernel, config, directory);
  const parts = { kernel, config, directory, contacts, exchange, promotions, publication };
  const synchronization = new Synchronization(parts);
  homes.onPutBack = () => synchronization.pullAll();
  directory.onLost = () => synchronization.pullAll();
  kernel.regionGate.use(homes);
  return {
    config,
    identity,
    directory,
    contacts,
    statements,
    homes,
    promotions,
    synchronization,
    refused,
  };
}

const CONFLICTS = 'Tenants of which two regions took the same epoch; the directory keeps one of them.';
const REFUSED = 'Requests of other regions that were refused, by region and reason.';
const LAG = 'Seconds since the directory of another region was last merged.';
const LEASE = '1 while enough other regions were reached to accept changes.';
const CONFLICT_ADVICE =
  'Operators promoted two regions while the regions could not reach each other. The directory keeps the one named last in alphabetical order; compare the data of the other one before it is replaced.';
