import type { PurposeKey } from '../crypto/keyring.ts';
import { entryOf } from './entry.ts';
import { type Group, groupOf } from './waiting.ts';

/** A batch as the journal holds it: JSON, a list of tenants, each with its entries as segments hold them. */
export function payloadOf(groups: readonly Group[]): string {
  return `[${groups.map(({ tenantId, texts }) => `[${JSON.stringify(tenantId)},[${texts.join(',')}]]`).join(',')}]`;
}

export async function groupsOf(payload: string, headKey: (tenantId: string) => Promise<PurposeKey>): Promise<Group[]> {
  const groups: Group[] = [];
  for (const [tenantId, lists] of JSON.parse(payload) as [string, unknown[][]][]) {
    const entries = lists.map((fields) => entryOf(tenantId, fields));
    groups.push(groupOf(tenantId, entries, await headKey(tenantId)));
  }
  return groups;
}
