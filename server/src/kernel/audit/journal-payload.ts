import type { Group } from './waiting.ts';

/** A batch as the journal holds it: JSON, a list of tenants, each with its entries as segments hold them. */
export function payloadOf(groups: readonly Group[]): string {
  return `[${groups.map(({ tenantId, texts }) => `[${JSON.stringify(tenantId)},[${texts.join(',')}]]`).join(',')}]`;
}
