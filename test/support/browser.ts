import { installed } from './debian.ts';

/** A real browser, or why there is none. Where it is missing and may be installed, Debian's is. */
export function findBrowser(): { path: string } | { missing: string } {
  const found = installed(['chromium'], { chromium: '/usr/bin/{chromium,chromium-browser,google-chrome}' });
  return 'missing' in found ? found : { path: found.paths['chromium'] ?? '' };
}
