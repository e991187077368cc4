import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../kernel/base/data-folder.ts';
import { CofferError } from '../kernel/base/errors.ts';
import { findOperatorTenant, findUncheckedOperator, type TenantRow } from '../kernel/integrity/tenant-rows.ts';
import { createLogger } from '../kernel/observability/log.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import type { Database } from '../kernel/storage/database.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { findInstallation, type Installation } from '../start/installation.ts';
import { openKernel } from '../start/open-kernel.ts';
import { DATABASE_FILE, openStorage } from '../start/open-storage.ts';

export function requireDatabase({ databaseUrl, dataDir }: Config): void {
  if (databaseUrl !== null || existsSync(join(dataDir, DATABASE_FILE))) return;
  throw new StartError(
    `There is no Coffer database in ${dataDir}. Set CV_DATA_DIR or CV_DATABASE_URL to the same value as for the service.`,
  );
}

/** Runs `act` on existing storage: a wrong setting must not make an operator's command create a new, empty database. */
export async function withStorage<T>(
  config: Config,
  act: (database: Database, applied: readonly string[]) => Promise<T>,
  options: { endsOlderNodes?: boolean } = {},
): Promise<T> {
  requireDatabase(config);
  const storage = await openStorage(config, options);
  try {
    return await act(storage.database, storage.applied);
  } finally {
    await storage.close();
  }
}

export interface Opened {
  kernel: Kernel;
  installation: Installation;
  operator: TenantRow;
}

/** Runs `act` with the same kernel as the service, but without listening for requests or running jobs. */
export function withKernel<T>(
  config: Config,
  act: (opened: Opened) => Promise<T>,
  options: { acceptRowsOf?: string } = {},
): Promise<T> {
  return withStorage(config, async (database) => {
    const installation = await findInstallation(database);
    if (installation === null || (await findUncheckedOperator(database.read)) === undefined) {
      throw new StartError('The database is empty: start the service once to initialize it.');
    }
    const log = createLogger({ level: 'error', format: 'auto', ownErrors: [CofferError, StartError] });
    const kernel = await openKernel({ config, time: systemTime, log, database, ...options });
    const operator = await findOperatorTenant(database.read);
    if (operator === undefined)
      throw new StartError('The operator tenant, which runs the installation, does not exist: restore a backup.');
    return act({ kernel: { ...kernel, operatorTenantId: operator.tenant_id }, installation, operator });
  });
}
