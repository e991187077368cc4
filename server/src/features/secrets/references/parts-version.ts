import { sha256 } from '../../../kernel/crypto/digest.ts';
import type { Named } from './template-problem.ts';

const CHARS = 16;

/** Of the versions of all parts. It tells nothing but that one of them changed. */
export function versionOfParts(
  parts: readonly (Named & { secret_id: string | null; version: number | null })[],
): string {
  const texts = parts.map(({ vault, path, secret_id, version }) => JSON.stringify([vault, path, secret_id, version]));
  return sha256(JSON.stringify(texts.toSorted())).toString('hex').slice(0, CHARS);
}
