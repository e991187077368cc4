import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { prepareTenant } from './features/tenants/index.ts';
import { findTokenByText } from './features/tokens/index.ts';
import type { AuditEntry } from './kernel/audit/entry.ts';
import { renameDurably, writeDurably } from './kernel/crypto/root-key.ts';
import { newId } from './kernel/ids.ts';
import type { Kernel } from './kernel/kernel.ts';
import { UniqueViolation } from './kernel/storage/database.ts';
import { findOperatorTenant } from './kernel/storage/tenant-rows.ts';

export const ADMIN_TOKEN_FILE = 'admin.token';
const OPERATOR_TENANT_NAME = 'default';

/**
 * The first start makes the tenant `default`, an owner and one token for it, and nothing else. The token is written to a file before the
 * tenant is committed and gets its name after: a kill in between never leaves a tenant whose only token nobody has.
 */
export async function bootstrap(kernel: Kernel): Promise<{ isFirstStart: boolean; tokenFile: string }> {
  const tokenFile = join(kernel.config.dataDir, ADMIN_TOKEN_FILE);
  const pending = `${tokenFile}.pending`;
  let operator = await findOperatorTenant(kernel.database.read);
  if (existsSync(pending)) {
    const isCommitted = operator !== undefined && (await findTokenByText(kernel, readFileSync(pending, 'utf8').trim()));
    if (isCommitted) renameDurably(pending, tokenFile);
    else unlinkSync(pending);
  }
  const isFirstStart = operator === undefined;
  if (isFirstStart) {
    await makeOperatorTenant(kernel, pending, tokenFile);
    operator = await findOperatorTenant(kernel.database.read);
  }
  kernel.operatorTenantId = operator?.tenant_id ?? '';
  return { isFirstStart, tokenFile };
}

async function makeOperatorTenant(kernel: Kernel, pending: string, tokenFile: string): Promise<void> {
  const made = await prepareTenant(kernel, {
    name: OPERATOR_TENANT_NAME,
    plan: 'enterprise',
    rates: {},
    isOperator: true,
    ownerEmail: kernel.config.adminEmail,
  });
  writeDurably(pending, `${made.ownerToken}\n`);
  await kernel.database.transaction((tx) => made.insertKey(tx));
  const headKey = await kernel.audit.headKey(made.row.tenant_id);
  try {
    await kernel.database.transaction(async (tx) => {
      await made.insert(tx);
      await kernel.audit.recordIn(
        tx,
        creationEntry(made.row.tenant_id, made.owner.user_id, kernel.clock.now()),
        headKey,
      );
    });
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    // Another node was first; its token is in its own folder.
    unlinkSync(pending);
    return;
  }
  renameDurably(pending, tokenFile);
}

function creationEntry(tenantId: string, ownerId: string, now: number): AuditEntry {
  return {
    tenant_id: tenantId,
    id: newId('audit', now),
    at: now,
    actor_kind: 'system',
    actor_id: 'first-start',
    actor_name: '',
    actor_key: '',
    action: 'tenants:create',
    resource: `tenant/${tenantId}`,
    vault: '',
    decision: 'allow',
    status: 201,
    ip: '',
    user_agent: '',
    request_id: '',
    reason: '',
    details: JSON.stringify({ owner: ownerId }),
  };
}
