import { join } from 'node:path';
import { issueToken } from '../features/tokens/index.ts';
import { insertToken } from '../features/tokens/storage/index.ts';
import { listActiveAdmins, lockUser } from '../features/users/storage/index.ts';
import { systemEntry } from '../kernel/audit/entry/system-entry.ts';
import { DAY_MS, timestamp } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { renameDurably, replaceDurably } from '../kernel/crypto/root-key.ts';
import type { Config } from '../settings/config.ts';
import { ADMIN_TOKEN_FILE, PENDING_SUFFIX } from '../start/first-start.ts';
import { withKernel } from './with-kernel.ts';

const TTL_MS = 365 * DAY_MS;
const ADMINS_MAX = 10_000;

/**
 * For an operator who lost the token but has the machine. As at the first start, the token is written to a pending file before the commit and renamed
 * after it; a start in between finds the file and finishes.
 */
export function newAdminToken(config: Config): Promise<string> {
  return withKernel(config, async ({ kernel, operator }) => {
    // Ids sort by time, so this is usually the owner created by the first start.
    const admins = await listActiveAdmins(kernel.database.read, operator.tenant_id, ADMINS_MAX);
    const owner = admins.find(({ role }) => role === 'owner');
    if (owner === undefined) {
      throw new StartError(`The tenant ${operator.name} has no active owner, so no token can be created.`);
    }
    const now = kernel.clock.now();
    const { token, row } = await issueToken(kernel, {
      tenantId: operator.tenant_id,
      userId: owner.user_id,
      kind: 'pat',
      name: 'made by coffer server new-admin-token',
      expiresAt: now + TTL_MS,
      isHandedOut: true,
    });
    const headKey = await kernel.audit.headKey(operator.tenant_id);
    const entry = systemEntry({
      tenantId: operator.tenant_id,
      actorId: 'operator',
      action: 'tokens:create',
      resource: `user/${owner.user_id}/tokens`,
      status: 201,
      details: { token: row.token_id, user: owner.user_id, name: row.name, expires_at: timestamp(row.expires_at) },
      now,
    });
    const file = join(config.dataDir, ADMIN_TOKEN_FILE);
    const pending = `${file}${PENDING_SUFFIX}`;
    replaceDurably(pending, `${token}\n`);
    await kernel.database.transaction(async (tx) => {
      const current = await lockUser(tx, operator.tenant_id, owner.user_id);
      if (current?.status !== 'active')
        throw new StartError(`${owner.email} was deleted or disabled during this command: run it again.`);
      await insertToken(tx, row, current);
      await kernel.audit.recordIn(tx, [entry], headKey);
    });
    renameDurably(pending, file);
    return (
      `A new token for ${owner.email}, an owner of the tenant ${operator.name}, is in ${file}, which only you can read. It is valid until ` +
      `${timestamp(row.expires_at)}. Earlier tokens stay valid: revoke those you lost with DELETE /auth/tokens/<id>.`
    );
  });
}
