import { nextTurn } from './event-loop-turns.ts';

/** Entries processed before the loop yields to other requests. */
const ENTRIES_PER_TURN = 1000;

/** Yields to other requests while a long log is read. Call it with the number of entries processed since the last call. */
export function yielder(tenantId: string): (entries: number) => Promise<void> {
  let looked = 0;
  return async (entries) => {
    looked += entries;
    if (looked < ENTRIES_PER_TURN) return;
    looked = 0;
    await nextTurn(tenantId);
  };
}
