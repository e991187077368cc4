import type { CofferError } from '@coffer/client';
import { signal } from '@preact/signals';

/** Since when the service does not respond; null while it does. */
export const unreachableSince = signal<Date | null>(null);
/** Counts up when it responds again: what could not be loaded is loaded then. */
export const reconnections = signal(0);

const FIRST_CHECK_MS = 2000;
const LAST_CHECK_MS = 30_000;
let waitMs = FIRST_CHECK_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

export function isUnreachable(error: CofferError | null): boolean {
  return error?.code === 'NO_ANSWER';
}

export function noteResponse(): void {
  if (unreachableSince.value === null) return;
  clearTimeout(timer);
  waitMs = FIRST_CHECK_MS;
  unreachableSince.value = null;
  reconnections.value++;
}

export function noteNoResponse(): void {
  if (unreachableSince.value !== null) return;
  unreachableSince.value = new Date();
  timer = setTimeout(check, waitMs);
}

/** Resolves to whether the service responds. Any response will do: it is there, or a proxy says what is wrong with it. */
export async function check(): Promise<boolean> {
  clearTimeout(timer);
  try {
    await fetch('/health', { cache: 'no-store', credentials: 'omit' });
    noteResponse();
    return true;
  } catch {
    unreachableSince.value ??= new Date();
    timer = setTimeout(check, waitMs);
    waitMs = Math.min(LAST_CHECK_MS, waitMs * 2);
    return false;
  }
}

addEventListener('online', () => {
  if (unreachableSince.value !== null) void check();
});
