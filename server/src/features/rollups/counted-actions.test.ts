import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { READING_ACTIONS } from './counted-entries.ts';

/** Actions of endpoints that see plaintext and return no secret's value, each with the reason. */
const NOT_READS: Record<string, string> = {
  'secrets:create': 'the caller sends the value',
  'secrets:update': 'the caller sends the value',
  'secrets:change': 'each change has an entry of its own, and the caller sends the values',
  'secrets:rotate': 'the new value is not returned',
  'secrets:import': 'the caller sends the values',
  'secrets:search': 'returns names of secrets, not their values',
  'secrets:tokenize': 'the caller sends the value',
  'clusters:sync': 'each secret that is delivered has an entry of its own, secrets:read',
  'eaas:encrypt': 'the caller sends the plaintext, which is no secret of a vault',
  'eaas:decrypt': 'the plaintext is the caller’s own data, not a secret of a vault',
  'eaas:rewrap': 'the plaintext stays inside',
  'pqc:wrap': 'the caller sends the key',
  'pqc:unwrap': 'the key is the caller’s own data, not a secret of a vault',
};

test('every endpoint that sees plaintext is counted as a read, or listed with the reason why not', () => {
  const seen = DECLARATIONS.filter(({ plaintext }) => plaintext !== false).map(({ audit }) => audit);
  assert.deepEqual([...new Set(seen)].sort(), [...Object.keys(READING_ACTIONS), ...Object.keys(NOT_READS)].sort());
});
