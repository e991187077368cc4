import { entryOf } from '../entry/entry.ts';
import { type Group, groupEntries } from './waiting-batches.ts';

/** The payload of a batch: a JSON list of groups, each the id of a tenant and its entries in the format of segments. */
export function payloadOf(groups: readonly Group[]): string {
  return `[${groups.map(({ tenantId, texts }) => `[${JSON.stringify(tenantId)},[${texts.join(',')}]]`).join(',')}]`;
}

export function parsePayload(payload: string): Group[] {
  return (JSON.parse(payload) as [string, unknown[][]][]).flatMap(([tenantId, lists]) =>
    groupEntries(
      tenantId,
      lists.map((fields) => entryOf(tenantId, fields)),
    ),
  );
}
