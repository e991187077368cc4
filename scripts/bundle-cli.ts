import { chmodSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { RELEASE } from '../server/src/operator/release.ts';

/** Writes the command line as one file that needs nothing but Node: `npm run build:cli -- FILE`, or `dist/coffer.mjs`. */
const ROOT = join(import.meta.dirname, '..');
const TARGET = resolve(ROOT, process.argv[2] ?? 'dist/coffer.mjs');
const NODE_MAJOR = 26;
const HEAD = `#!/usr/bin/env node
if(parseInt(process.versions.node,10)<${NODE_MAJOR}){process.stderr.write("coffer needs Node ${NODE_MAJOR} or later.\\n");process.exit(1)}`;

/** The verbs for the installation on this machine are the service's own code, with its database drivers: they stay where that is. */
const withoutServer: Plugin = {
  name: 'without-server',
  setup({ onLoad }) {
    onLoad({ filter: /cli\/src\/commands\/server\.ts$/ }, () => ({
      resolveDir: join(ROOT, 'cli/src/commands'),
      loader: 'ts',
      contents: `import { CommandError } from '../failure.ts';
export function register() {
  throw new CommandError('coffer server is in the package @coffer/cli and in a checkout, not in this file.');
}`,
    }));
    // The file has neither git's files nor the migrations beside it.
    onLoad({ filter: /server\/src\/operator\/release\.ts$/ }, () => ({
      loader: 'ts',
      contents: `export const RELEASE = ${JSON.stringify(RELEASE)};`,
    }));
  },
};

await build({
  absWorkingDir: ROOT,
  entryPoints: ['cli/src/main.ts'],
  outfile: TARGET,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: `node${NODE_MAJOR}`,
  legalComments: 'none',
  logLevel: 'warning',
  banner: { js: HEAD },
  plugins: [withoutServer],
});
chmodSync(TARGET, 0o755);
