import { join, resolve } from 'node:path';

/** Set by test/run.ts: the folder where the service and the command line are as a few files, which load sooner than a thousand. */
export const BUNDLE_VARIABLE = 'COFFER_TEST_BUNDLE';

const ROOT = join(import.meta.dirname, '../..');

/** The programs in a bundle, by their path in the sources. */
export const BUNDLED: Readonly<Record<string, string>> = { 'server/main.js': 'server', 'cli/main.js': 'coffer' };

/** Where a program is: bundled, unless nobody bundled it or its packages must be those that a test takes hold of. */
export function programPath(source: string, options: { isFromSource: boolean }): string {
  const folder = process.env[BUNDLE_VARIABLE];
  const bundled = BUNDLED[source];
  const isBundled = folder !== undefined && bundled !== undefined && !options.isFromSource;
  return isBundled ? join(folder, `${bundled}.mjs`) : resolve(ROOT, source);
}
