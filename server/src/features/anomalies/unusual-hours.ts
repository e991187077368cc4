import type { Reader } from '../../kernel/storage/database.ts';
import { unusualWindows } from './store.ts';

export interface Hours {
  from: number;
  to: number;
}

/** The hours, by secret, that an open or acknowledged anomaly is about. They are not part of what is usual. */
export async function unusualHours(
  db: Reader,
  tenantId: string,
  resources: readonly string[],
): Promise<Map<string, Hours[]>> {
  const rows = await unusualWindows(db, tenantId, 'unusual_access_pattern', resources);
  const byResource = Map.groupBy(rows, ({ resource }) => resource);
  const hoursOf = ({ window_from, window_to }: (typeof rows)[number]) => ({
    from: Number(window_from),
    to: Number(window_to),
  });
  return new Map([...byResource].map(([resource, windows]) => [resource, windows.map(hoursOf)]));
}
