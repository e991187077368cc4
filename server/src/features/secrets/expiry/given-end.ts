import { invalidField } from '../../../kernel/base/errors.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';

const POINTER = '/body/expires_at';

/** Whether the end of a value of this type is given by requests. The service reads that of a certificate, unless only clients can open it. */
export function takesGivenEnd({ is_zero_knowledge }: Pick<VaultRow, 'is_zero_knowledge'>, type: string): boolean {
  return type !== 'certificate' || is_zero_knowledge === 1;
}

/** The end that a request gives to a value, or null if it removes the end. Undefined if it says nothing about it. */
export function givenEnd<T extends string | null | undefined>(
  ctx: Context,
  vault: VaultRow,
  type: string,
  given: T,
): number | Extract<T, null | undefined>;
export function givenEnd(ctx: Context, vault: VaultRow, type: string, given: string | null | undefined) {
  if (given === undefined) return undefined;
  if (!takesGivenEnd(vault, type)) {
    throw invalidField(POINTER, 'must be omitted: the service reads the end of a certificate from its value');
  }
  if (given === null) return null;
  const end = Date.parse(given);
  if (!(end > ctx.now)) throw invalidField(POINTER, 'must be a time in the future');
  return end;
}
