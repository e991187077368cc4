import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import type { RootKey } from '../../kernel/crypto/root-key.ts';
import { listCopies, type SealedCopy } from '../../kernel/seals/sealed-copies.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { Config } from '../../settings/config.ts';
import { lockedOf } from '../../start/installation.ts';
import { type Locked, type OpenedRoot, openRootKey } from '../../start/open-root-key.ts';
import { type Opened, withKernel } from '../with-kernel.ts';

/** What a change of the seals works with: the root key, opened by the seals that the settings name now. */
export interface OpenSeals extends Opened {
  readonly locked: Locked;
  readonly root: RootKey;
  /** The seal that opened it. */
  readonly by: string;
  readonly failures: OpenedRoot['failures'];
}

export function withSeals<T>(config: Config, act: (open: OpenSeals) => Promise<T>): Promise<T> {
  return withKernel(config, async (opened) => {
    const locked = await lockedOf(opened.kernel.database, opened.installation);
    const { root, by, failures } = await openRootKey(config, locked);
    return act({ ...opened, locked, root, by, failures });
  });
}

/** Changes the copies and records it for the operator in one transaction, unless the root key was replaced meanwhile. */
export async function changeSeals(
  { kernel, operator, root, locked }: OpenSeals,
  { action, reference, details }: { action: string; reference: string; details?: Record<string, string | number> },
  write: (tx: Tx) => Promise<void>,
): Promise<void> {
  const headKey = await kernel.audit.headKey(operator.tenant_id);
  const entry = systemEntry({
    tenantId: operator.tenant_id,
    actorId: 'operator',
    action,
    resource: 'root-key',
    status: 200,
    details: { seal: reference, root_key: root.id, ...details },
    now: kernel.clock.now(),
  });
  await kernel.database.transaction(async (tx) => {
    const row = await tx.selectFrom('installation').select('root_key_id').forUpdate().executeTakeFirstOrThrow();
    if (row.root_key_id !== root.id)
      throw new StartError('A rekey replaced the root key meanwhile: run this again. Nothing was changed.');
    if (!isSame(await listCopies(tx), locked.copies)) throw new StartError(CHANGED);
    await write(tx);
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}

export const CHANGED = 'Another command changed the seals meanwhile: run this again. Nothing was changed.';

/** What was decided outside of a transaction is decided on what is there in it. */
export function isSame(now: readonly SealedCopy[], before: readonly SealedCopy[]): boolean {
  const marks = (copies: readonly SealedCopy[]) =>
    copies.map(({ reference, sealed }) => `${reference}\n${Buffer.from(sealed).toString('base64')}`).sort();
  return JSON.stringify(marks(now)) === JSON.stringify(marks(before));
}
