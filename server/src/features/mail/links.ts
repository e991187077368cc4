import type { Kernel } from '../../kernel/request/kernel.ts';

/** The services of the kernel that it uses. */
export type MailKernel = Pick<
  Kernel,
  'clock' | 'config' | 'database' | 'keyring' | 'log' | 'metrics' | 'plans' | 'regionGate'
>;
