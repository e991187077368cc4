import type { Kernel } from '../../kernel/request/kernel.ts';

/** The services of the kernel that it uses. */
export type BillingKernel = Pick<Kernel, 'audit' | 'clock' | 'database' | 'operatorTenantId' | 'regionGate'>;
