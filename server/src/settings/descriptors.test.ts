import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../assembly/settings.ts';
import { connectionsWithin, descriptorLimit } from './descriptors.ts';

const sqlite = loadConfig({});
const postgres = loadConfig({ CV_DATABASE_URL: 'postgres://u:p@localhost/coffer', CV_DATABASE_POOL: '20' });

test('descriptors are left for files, outgoing calls and the database', () => {
  assert.equal(connectionsWithin(1024, sqlite), 1024 - 80);
  assert.equal(connectionsWithin(1024, postgres), 1024 - 100);
  assert.equal(connectionsWithin(Number.POSITIVE_INFINITY, sqlite), Number.POSITIVE_INFINITY);
});

test('too few of them do not start, and the error says how many are needed', () => {
  assert.equal(connectionsWithin(96, sqlite), 16);
  assert.throws(
    () => connectionsWithin(95, sqlite),
    /95 files open \(ulimit -n\), and at least 96 are needed: raise it/,
  );
});

test('the limit of this process is known', () => {
  assert.ok(descriptorLimit() > 0);
});
