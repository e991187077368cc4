import { type Linked, port } from '../../kernel/feature/links.ts';
import type { TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';

/** Makes this region the primary region of a tenant that is created here. */
export const assignNewTenant = port<(tx: Tx, tenant: TenantRow, now: number) => Promise<void>>('assignNewTenant');

/** Gives a new tenant what was bought for it before it was created. */
export const claimSubscriptions = port<(ctx: Context, tx: Tx, tenantId: string) => Promise<void>>('claimSubscriptions');

/** What it needs of other features. */
export const tenantNeeds = { assignNewTenant, claimSubscriptions };
export type TenantParts = Linked<typeof tenantNeeds>;
