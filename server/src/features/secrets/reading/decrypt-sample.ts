import type { Kernel } from '../../../kernel/request/kernel.ts';
import { SECRETS } from '../storage/tables.ts';
import { openValue } from '../value/sealing.ts';

/** About this many values of each tenant. */
const SAMPLE = 100;

/** Decrypts values spread over the whole table and returns how many; throws if one cannot be decrypted. No value leaves this function. */
export async function decryptSample(kernel: Pick<Kernel, 'database' | 'keyring'>, tenantId: string): Promise<number> {
  const { read } = kernel.database;
  let total = 0;
  for await (const rows of SECRETS.walk(read, tenantId)) total += rows.length;
  const step = Math.ceil(total / SAMPLE);
  let [at, decrypted] = [0, 0];
  for await (const rows of SECRETS.walk(read, tenantId)) {
    for (const row of rows) {
      if (at++ % step !== 0) continue;
      await openValue(kernel, tenantId, row.vault_id, row);
      decrypted++;
    }
  }
  return decrypted;
}
