import { shared } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Counting } from './counting.ts';

/** Counts what is recorded; features share it, so that they can wait until it has counted. */
export const sharedCounting = shared<Counting>('counting');

/** The services of the kernel that it uses. */
export type RollupKernel = Pick<
  Kernel,
  'activity' | 'audit' | 'clock' | 'damagedSegments' | 'database' | 'log' | 'nodeId' | 'regionGate'
>;
