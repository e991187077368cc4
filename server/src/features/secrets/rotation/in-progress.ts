import { CofferError } from '../../../kernel/base/errors.ts';
import type { SecretRow } from '../storage/tables.ts';

export function refuseWhileRotating(row: Pick<SecretRow, 'rotation_id'>): void {
  if (row.rotation_id === null) return;
  throw new CofferError(
    'ROTATION_IN_PROGRESS',
    'A rotation of this secret is in progress: retry when it has finished.',
    {
      details: { rotation_id: row.rotation_id },
    },
  );
}
