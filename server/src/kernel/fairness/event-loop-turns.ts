import { RoundRobin } from './round-robin.ts';

const waiting = new RoundRobin<() => void>();
let isScheduled = false;

/**
 * Called between the pieces of long work. Each turn of the event loop resumes one of those who wait, and tenants take turns: so the piece of one is
 * all that stands before anybody's request, however many searches and exports run. Not for use inside a transaction, which would hold its locks for
 * as long as others take.
 */
export function nextTurn(tenantId: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(tenantId, resolve);
  if (!isScheduled) schedule();
  return promise;
}

function schedule(): void {
  isScheduled = true;
  setImmediate(() => {
    waiting.shift()?.();
    isScheduled = false;
    if (waiting.size > 0) schedule();
  });
}
