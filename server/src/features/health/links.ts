import type { Kernel } from '../../kernel/request/kernel.ts';

/** The services of the kernel that it uses. */
export type HealthKernel = Pick<Kernel, 'audit' | 'clockGuard' | 'database' | 'shutdown'>;
