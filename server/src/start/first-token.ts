import { existsSync } from 'node:fs';
import { segmentsFrom } from '../kernel/audit/chain/chain-walk.ts';
import type { Kernel } from '../kernel/request/kernel.ts';

/**
 * Whether nobody has used the service yet, so that the operator who starts it again needs to know where the token of the first start is. The beginning of the
 * audit log tells: until a person does something, only the service itself has entries there.
 */
export async function isFirstTokenUnused(
  { database, damagedSegments, operatorTenantId }: Pick<Kernel, 'database' | 'damagedSegments' | 'operatorTenantId'>,
  tokenFile: string,
): Promise<boolean> {
  if (!existsSync(tokenFile)) return false;
  const segments = await segmentsFrom(database.read, operatorTenantId, 1);
  if (segments[0]?.first_seq !== 1) return false;
  const entries = segments.flatMap((segment) => damagedSegments.entriesIn(segment));
  return entries.every((entry) => entry !== null && entry.actor_kind === 'system');
}
