import { UnsealError } from '../../../kernel/crypto/sealing.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import { endOf, openValue } from '../value/sealing.ts';
import * as store from './expiry-store.ts';

/** A value may have a MiB, so this bounds the memory. */
const AT_ONCE = 50;

/** Reads the ends of certificates that earlier releases stored. Each batch commits by itself, so a run that is killed loses little. */
export async function readStoredEnds(
  kernel: Pick<Kernel, 'database' | 'keyring' | 'log'>,
  tenantId: string,
  signal: AbortSignal,
): Promise<void> {
  const database = kernel.database.forTenant(tenantId, 'bulk');
  while (!signal.aborted) {
    const rows = await store.unreadEnds(database.read, tenantId, AT_ONCE);
    if (rows.length === 0) return;
    const read = await Promise.all(rows.map(async (row) => ({ row, end: await storedEnd(kernel, row) })));
    await database.transaction(async (tx) => {
      for (const { row, end } of read) await store.storeEnd(tx, row, end);
    });
    await nextTurn(tenantId);
  }
}

/** A value that cannot be decrypted has no end; otherwise it would be tried again forever, before all others. */
async function storedEnd(kernel: Pick<Kernel, 'keyring' | 'log'>, row: store.UnreadRow): Promise<number | null> {
  try {
    return endOf(row, row, await openValue(kernel, row.tenant_id, row.vault_id, row));
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    kernel.log.error(
      { err: error, secret: row.secret_id, what_to_do: 'restore the secret from a backup, or set its value again' },
      'a value cannot be decrypted; the end of its certificate is not announced',
    );
    return null;
  }
}
