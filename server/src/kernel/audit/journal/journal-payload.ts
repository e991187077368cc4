import { entryOf } from '../entry/entry.ts';
import { type Group, groupOf } from './waiting.ts';

/** The payload of a batch: a JSON list of tenants, each with its entries in the format of segments. */
export function payloadOf(groups: readonly Group[]): string {
  return `[${groups.map(({ tenantId, texts }) => `[${JSON.stringify(tenantId)},[${texts.join(',')}]]`).join(',')}]`;
}

export function groupsOf(payload: string): Group[] {
  return (JSON.parse(payload) as [string, unknown[][]][]).map(([tenantId, lists]) =>
    groupOf(
      tenantId,
      lists.map((fields) => entryOf(tenantId, fields)),
    ),
  );
}
