import { me, signOut } from './api.ts';

/** Whoever leaves the desk for this long has to sign in again. */
const IDLE_MS = 15 * 60_000;
const CHECK_MS = 10_000;
const STORED_EVERY_MS = 1000;
const EVENTS = ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const;
/** When somebody last did something, in any tab. It is stored, so that a machine that slept and a page that was closed count as idle too. */
const ACTIVE_AT = 'coffer-active-at';

export function isIdle(): boolean {
  return Date.now() - Number(localStorage.getItem(ACTIVE_AT) ?? 0) > IDLE_MS;
}

export function watchIdleness(): void {
  let isLeaving = false;
  const leaveIfIdle = () => {
    if (!me.value || isLeaving || !isIdle()) return;
    isLeaving = true;
    void signOut('idle');
  };
  let stored = 0;
  const onActivity = () => {
    // What was done after the limit does not count.
    leaveIfIdle();
    if (isLeaving || Date.now() - stored < STORED_EVERY_MS) return;
    stored = Date.now();
    localStorage.setItem(ACTIVE_AT, String(stored));
  };
  for (const name of EVENTS) addEventListener(name, onActivity, { passive: true, capture: true });
  setInterval(leaveIfIdle, CHECK_MS);
}
