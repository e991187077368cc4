import type { Config } from '../settings/config.ts';
import { withKernel } from './with-kernel.ts';

/**
 * After an upgrade, for a tenant whose audit log had been changed before it: the operator declares that its rows are trusted as they are. This is
 * recorded in the audit log.
 */
export function acceptRows(config: Config, tenantId: string): Promise<string> {
  return withKernel(
    config,
    async ({ kernel }) => {
      const row = await kernel.database.read
        .selectFrom('tenants')
        .select('row_mac')
        .where('tenant_id', '=', tenantId)
        .executeTakeFirst();
      if (row === undefined) return `There is no tenant ${tenantId}; nothing was changed.`;
      return row.row_mac === null
        ? `The rows of ${tenantId} do not predate the upgrade, so they cannot be accepted this way; nothing was changed.`
        : `The rows of ${tenantId} are accepted and authenticated.`;
    },
    { acceptRowsOf: tenantId },
  );
}
