import { type Linked, port } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { assignNewTenant, claimSubscriptions } from '../tenants/index.ts';

/** Until when the tenant keeps its plan although a payment is overdue; null if none is. */
export const graceUntil = port<(db: Reader, tenantId: string, now: number) => Promise<number | null>>('graceUntil');

/** What it needs of other features. */
export const saasNeeds = { assignNewTenant, claimSubscriptions, graceUntil };
export type SaasParts = Linked<typeof saasNeeds>;

/** The services of the kernel that it uses. */
export type SaasKernel = Pick<Kernel, 'database' | 'log' | 'operatorTenantId' | 'plans'>;
