import type { Linked } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { sharedCounting } from '../rollups/index.ts';

/** What it needs of other features. */
export const anomalyNeeds = { counting: sharedCounting };
export type AnomalyParts = Linked<typeof anomalyNeeds>;

/** The services of the kernel that it uses. */
export type AnomalyKernel = Pick<
  Kernel,
  | 'activity'
  | 'audit'
  | 'clock'
  | 'clockGuard'
  | 'config'
  | 'database'
  | 'keyring'
  | 'log'
  | 'metrics'
  | 'nodeId'
  | 'outbound'
  | 'plans'
  | 'regionGate'
>;
