import { Counting } from '../../server/src/features/rollups/counting.ts';
import { Countries } from '../../server/src/features/rollups/countries.ts';
import { buildChangeFilter } from '../../server/src/features/rollups/hourly-activity.ts';
import type { RollupKernel } from '../../server/src/features/rollups/links.ts';
import type { Kernel } from '../../server/src/kernel/request/kernel.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';

/** As another node would count. */
export function countingOf(kernel: RollupKernel & Pick<Kernel, 'config'>): Counting {
  return new Counting(kernel, new Countries(kernel), buildChangeFilter(DECLARATIONS));
}

/** Counts everything that is recorded when it is called. */
export function catchUp(
  kernel: RollupKernel & Pick<Kernel, 'config'>,
  tenantId: string,
  signal: AbortSignal,
): Promise<void> {
  return countingOf(kernel).catchUp(tenantId, signal);
}
