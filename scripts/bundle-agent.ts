import { join } from 'node:path';
import { build } from 'esbuild';

/** Writes the agent as one file that needs nothing but Node: `npm run agent:bundle -- FILE`, or `agent/dist/coffer-agent.mjs`. */
const ROOT = join(import.meta.dirname, '..');
const NODE_MAJOR = 26;
const OLD_NODE = `#!/usr/bin/env node\nif(parseInt(process.versions.node,10)<${NODE_MAJOR}){process.stderr.write("The agent needs Node ${NODE_MAJOR} or later.\\n");process.exit(2)}`;

await build({
  absWorkingDir: ROOT,
  entryPoints: ['agent/src/main.ts'],
  outfile: process.argv[2] ?? 'agent/dist/coffer-agent.mjs',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: `node${NODE_MAJOR}`,
  legalComments: 'none',
  logLevel: 'warning',
  banner: { js: OLD_NODE },
});
