import { ROTATIONS } from '../../server/src/features/secrets/rotation/index.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { asTheService } from './rows.ts';
import type { Service } from './service.ts';

/** A rotation through a backend, as it is stored once its outcome is known. Returns when it ended. */
export async function storeRotation(
  { app: { kernel }, clock }: Service,
  secretId: string,
  status: 'failed' | 'completed',
): Promise<number> {
  const now = clock.now();
  const { tenant_id } = await kernel.database.read
    .selectFrom('secrets')
    .select('tenant_id')
    .where('secret_id', '=', secretId)
    .executeTakeFirstOrThrow();
  const row = {
    tenant_id,
    rotation_id: newId('rotation', now),
    secret_id: secretId,
    status,
    backend: 'postgres_role',
    reason: '',
    author_kind: 'user',
    author_id: '',
    author_name: '',
    sealed_next: null,
    data_key_next: null,
    failure: status === 'failed' ? 'unreachable' : '',
    started_at: now,
    lease_until: 0,
    finished_at: now,
  };
  await asTheService(kernel.database, (tx) => ROTATIONS.insert(tx, row));
  return now;
}
