import type { Kernel } from '../../kernel/request/kernel.ts';

/** The services of the kernel that it uses. */
export type WebhookKernel = Pick<
  Kernel,
  'activity' | 'audit' | 'clock' | 'database' | 'keyring' | 'log' | 'metrics' | 'regionGate'
>;
