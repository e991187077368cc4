import { nextTurn } from './fairness/event-loop-turns.ts';

/** Entries looked at before other requests get their turn. */
const ENTRIES_PER_TURN = 1000;

/** Lets others in between when reading a long log; call it with how many entries were looked at since. */
export function yielder(tenantId: string): (entries: number) => Promise<void> {
  let looked = 0;
  return async (entries) => {
    looked += entries;
    if (looked < ENTRIES_PER_TURN) return;
    looked = 0;
    await nextTurn(tenantId);
  };
}
