import type { Kernel } from '../../kernel/request/kernel.ts';

/** The services of the kernel that it uses. */
export type ExporterKernel = Pick<
  Kernel,
  'activity' | 'clock' | 'damagedSegments' | 'database' | 'keyring' | 'log' | 'nodeId' | 'regionGate'
>;
