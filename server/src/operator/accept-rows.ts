import type { Config } from '../kernel/config.ts';
import { withKernel } from './with-kernel.ts';

/**
 * After an upgrade, for a tenant whose audit log was changed before it: the operator says that its rows are to be trusted as they are. The log
 * tells that it was so.
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
        ? `The rows of ${tenantId} are not from before the upgrade, so they are not authenticated anew; nothing was changed.`
        : `The rows of ${tenantId} are authenticated.`;
    },
    { acceptRowsOf: tenantId },
  );
}
