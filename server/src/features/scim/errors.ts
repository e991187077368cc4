import { CofferError } from '../../kernel/base/errors.ts';
import type { ScimType } from './schemas.ts';

/** A request that cannot be carried out as it is. Nothing of it is repeated in the message, except names of attributes that are known here. */
export function badRequest(scimType: ScimType, message: string): CofferError {
  return new CofferError('VALIDATION_FAILED', message, { details: { scimType }, auditReason: scimType });
}

/** No provider can lock out an owner, neither by a change of the account nor by a group that a policy denies something. */
export function isOwner(who = 'This user'): CofferError {
  return new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    `${who} is an owner. No provider can change, deactivate or delete an owner, or add one to a group: another owner changes the role first, with PATCH /v1/users/{user_id}.`,
    { auditReason: 'the user is an owner' },
  );
}
