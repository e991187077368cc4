const RELOADED = 'coffer-reloaded';
const RELOAD_MS = 30_000;

/** After an upgrade of the service the files of the old console are gone, so the page is loaded again, once. */
export function reloadOnce(fail: () => void): void {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - last < RELOAD_MS) {
    fail();
    return;
  }
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
}
