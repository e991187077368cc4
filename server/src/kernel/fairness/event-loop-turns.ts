import { RoundRobin } from './round-robin.ts';

const waiting = new RoundRobin<() => void>();
let isScheduled = false;

/**
 * Yields between the pieces of long work. Each iteration of the event loop resumes one waiter, and tenants take turns, so that at most one piece
 * delays any request, however many searches and exports run. Do not use it inside a transaction, which would hold its locks for as long as others
 * take.
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
