import type { Output } from '../../kernel/endpoint/declaration.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { countRecoveryCodes, factorsOf } from '../mfa/factors/index.ts';
import type * as contract from './contract.ts';

type Method = Output<typeof contract.stepUpOptions>['methods'][number];

/** How a person can show a second factor. */
export async function factorMethods(db: Reader, tenantId: string, userId: string): Promise<Method[]> {
  const { totp, passkeys } = await factorsOf(db, tenantId, userId);
  const codes = await countRecoveryCodes(db, tenantId, userId);
  return [
    ...(passkeys.length === 0 ? [] : (['passkey'] as const)),
    ...(totp === null ? [] : (['totp'] as const)),
    ...(codes === 0 ? [] : (['recovery_code'] as const)),
  ];
}
