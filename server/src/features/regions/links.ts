import type { Kernel } from '../../kernel/request/kernel.ts';

/** The services of the kernel that it uses. */
export type RegionKernel = Pick<
  Kernel,
  | 'audit'
  | 'clock'
  | 'config'
  | 'database'
  | 'heads'
  | 'log'
  | 'operatorTenantId'
  | 'regionGate'
  | 'signingKeys'
  | 'time'
>;
