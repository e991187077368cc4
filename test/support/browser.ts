import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const INSTALL = '/usr/bin/apt-get';
const PATIENCE_MS = 300_000;

/** A real browser, or why there is none. Where it is missing and this may be changed, Debian's is installed. */
export function findBrowser(): { path: string } | { missing: string } {
  const found = PLACES.find(existsSync);
  if (found !== undefined) return { path: found };
  if (!existsSync(INSTALL)) return { missing: 'there is no Chromium here, and no apt-get to install it with' };
  if (process.getuid?.() !== 0) return { missing: 'there is no Chromium here, and only root may install it' };
  try {
    install('update');
    install('install', '--no-install-recommends', 'chromium');
  } catch (error) {
    const { status } = error as { status?: number | null };
    return {
      missing: `there is no Chromium here, and apt-get could not install it (${status ?? 'no answer in time'})`,
    };
  }
  const path = PLACES.find(existsSync);
  return path === undefined ? { missing: 'apt-get installed Chromium where nobody looks for it' } : { path };
}

function install(...how: string[]): void {
  execFileSync(INSTALL, ['-qq', '-y', ...how], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: PATIENCE_MS,
  });
}
