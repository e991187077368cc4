#!/usr/bin/env node
import module from 'node:module';
import { requireNode } from '../server/required-node.js';

requireNode('use `npm run coffer -- …`, or put node_modules/.bin first in your PATH.');
module.enableCompileCache?.();
await import('./src/main.ts');
