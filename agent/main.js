#!/usr/bin/env node
import { requireNode } from '../server/required-node.js';

requireNode('use `npm run agent`, or put node_modules/.bin first in your PATH.');
await import('./src/main.ts');
