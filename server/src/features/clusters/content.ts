import { sha256 } from '../../kernel/crypto/digest.ts';
import type { DesiredSecret, WithheldSecret } from './schemas.ts';

type Unsummed = Omit<DesiredSecret, 'checksum'>;

/** The form is part of the contract: the operator computes the same before it applies anything. */
export function checksumOf({ namespace, name, type, data }: Unsummed): string {
  const pairs = Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));
  return hex([namespace, name, type, pairs]);
}

/** Over the whole answer, so that a cut answer is never taken for one with fewer secrets. */
export function stateChecksum(
  clusterId: string,
  generation: number,
  secrets: readonly Pick<DesiredSecret, 'checksum'>[],
  withheld: readonly WithheldSecret[],
): string {
  return hex([clusterId, generation, secrets.map(({ checksum }) => checksum), withheldParts(withheld)]);
}

/** All that the content consists of, without its number. */
export function contentText(secrets: readonly DesiredSecret[], withheld: readonly WithheldSecret[]): string {
  return JSON.stringify([secrets.map(({ checksum }) => checksum), withheldParts(withheld)]);
}

function withheldParts(withheld: readonly WithheldSecret[]) {
  return withheld.map(({ namespace, name, reason }) => [namespace, name, reason]);
}

function hex(value: unknown): string {
  return sha256(JSON.stringify(value)).toString('hex');
}
