#!/usr/bin/env node
import { requireNode } from './required-node.js';

requireNode('use `npm start`, or `node_modules/.bin/node --disable-sigusr1 server/main.js`.');
await import('./src/main.ts');
