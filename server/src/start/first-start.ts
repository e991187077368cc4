import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { prepareTenant } from '../features/tenants/index.ts';
import { findTokenByText } from '../features/tokens/index.ts';
import { systemEntry } from '../kernel/audit/entry/system-entry.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { renameDurably, writeDurably } from '../kernel/crypto/root-key.ts';
import { findOperatorTenant } from '../kernel/integrity/tenant-rows.ts';
import type { KernelWithoutOperator } from '../kernel/request/kernel.ts';
import { UniqueViolation } from '../kernel/storage/database.ts';

export const ADMIN_TOKEN_FILE = 'admin.token';
export const PENDING_SUFFIX = '.pending';
const OPERATOR_TENANT_NAME = 'default';

export interface Bootstrapped {
  operatorTenantId: string;
  isFirstStart: boolean;
  tokenFile: string;
}

/**
 * The first start creates the tenant `default`, an owner and one token for it, and nothing else. The token is written to a file before the tenant is
 * committed, and the file is renamed afterwards: a kill in between never leaves a tenant whose only token is lost.
 */
export async function bootstrap(kernel: KernelWithoutOperator): Promise<Bootstrapped> {
  const tokenFile = join(kernel.config.dataDir, ADMIN_TOKEN_FILE);
  const pending = `${tokenFile}${PENDING_SUFFIX}`;
  let operator = await findOperatorTenant(kernel.database.read);
  if (existsSync(pending)) {
    const isCommitted = operator !== undefined && (await findTokenByText(kernel, readFileSync(pending, 'utf8').trim()));
    if (isCommitted) renameDurably(pending, tokenFile);
    else unlinkSync(pending);
  }
  let isFirstStart = false;
  if (operator === undefined) {
    refuseOtherToken(tokenFile);
    isFirstStart = await makeOperatorTenant(kernel, pending, tokenFile);
    operator = await findOperatorTenant(kernel.database.read);
  }
  return { operatorTenantId: operator?.tenant_id ?? '', isFirstStart, tokenFile };
}

/** For a worker that is started later than the first one of its command, which leaves the files of the data folder alone. */
export async function alreadyBootstrapped(kernel: KernelWithoutOperator): Promise<Bootstrapped> {
  const operator = await findOperatorTenant(kernel.database.read);
  if (operator === undefined) throw new StartError('The operator tenant is gone from the database: restore a backup.');
  return {
    operatorTenantId: operator.tenant_id,
    isFirstStart: false,
    tokenFile: join(kernel.config.dataDir, ADMIN_TOKEN_FILE),
  };
}

/** That file is the only way into its installation, since a token is shown once. */
function refuseOtherToken(tokenFile: string): void {
  if (!existsSync(tokenFile)) return;
  throw new StartError(
    `${tokenFile} contains the token of another installation, and the database is empty. Check CV_DATABASE_URL and CV_DATA_DIR; to start a new installation, move the file out of the folder.`,
  );
}

/** Returns whether this node created the tenant. */
async function makeOperatorTenant(kernel: KernelWithoutOperator, pending: string, tokenFile: string): Promise<boolean> {
  const made = await prepareTenant(kernel, {
    name: OPERATOR_TENANT_NAME,
    plan: 'enterprise',
    rates: {},
    isOperator: true,
    ownerEmail: kernel.config.adminEmail,
  });
  writeDurably(pending, `${made.ownerToken}\n`);
  const entry = systemEntry({
    tenantId: made.row.tenant_id,
    actorId: 'first-start',
    action: 'tenants:create',
    resource: `tenant/${made.row.tenant_id}`,
    status: 201,
    details: { owner: made.owner.user_id },
    now: kernel.clock.now(),
  });
  try {
    await kernel.database.transaction(async (tx) => {
      const { headKey } = await made.insert(tx);
      await kernel.audit.recordIn(tx, [entry], headKey);
    });
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    // Another node was first, and the token is in its data folder.
    unlinkSync(pending);
    return false;
  }
  renameDurably(pending, tokenFile);
  return true;
}
