import { CofferError, invalidField, tooLarge } from '../../../kernel/base/errors.ts';
import { envelopeProblem } from '../../../kernel/crypto/zero-knowledge-envelope.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { VALUE_BYTES_MAX } from '../contract.ts';
import { TEMPLATE } from './reference-text.ts';
import { valueProblem } from './secret-types.ts';

/** Refuses a value that does not fit its type or, in a zero-knowledge vault, is not an envelope. */
export function refuseBadValue(
  vault: Pick<VaultRow, 'is_zero_knowledge'>,
  type: string,
  value: string,
  pointer: string,
): void {
  if (type === TEMPLATE) refuseInZeroKnowledge(vault, 'A template');
  if (Buffer.byteLength(value) > VALUE_BYTES_MAX) throw tooLarge(pointer, VALUE_BYTES_MAX);
  const problem = vault.is_zero_knowledge === 1 ? envelopeProblem(value) : valueProblem(type, value);
  if (problem !== null) throw invalidField(pointer, problem);
}

export function refuseInZeroKnowledge(vault: Pick<VaultRow, 'is_zero_knowledge'>, what: string): void {
  if (vault.is_zero_knowledge !== 1) return;
  throw new CofferError(
    'ZkBoundaryViolation',
    `${what} is not available in a zero-knowledge vault, because it needs the plaintext.`,
  );
}
