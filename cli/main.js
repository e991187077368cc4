#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { requireNode, startWithInstalledNode } from '../server/required-node.js';

await startWithInstalledNode(fileURLToPath(import.meta.url));
requireNode('use `npm run coffer -- …`, or put node_modules/.bin first in your PATH.');
module.enableCompileCache?.();
await import('./src/main.ts');
