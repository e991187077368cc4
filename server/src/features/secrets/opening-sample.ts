import type { Kernel } from '../../kernel/kernel.ts';
import { openValue } from './sealing.ts';
import { SECRETS } from './store.ts';

/** About so many of each tenant. */
const SAMPLE = 100;

/** Opens values from everywhere in the table, and says how many. One that does not open fails; nothing of them leaves this function. */
export async function openSample(kernel: Kernel, tenantId: string): Promise<number> {
  const { read } = kernel.database;
  let total = 0;
  for await (const rows of SECRETS.walk(read, tenantId)) total += rows.length;
  const step = Math.ceil(total / SAMPLE);
  let [at, opened] = [0, 0];
  for await (const rows of SECRETS.walk(read, tenantId)) {
    for (const row of rows) {
      if (at++ % step !== 0) continue;
      await openValue(kernel, tenantId, row.vault_id, row);
      opened++;
    }
  }
  return opened;
}
