import assert from 'node:assert/strict';
import type { WhatWasDone } from '../clients/what-was-done.ts';

/** What every generated client must have done. */
export function expectRoundTrip(name: string, { vault, missing, invalid, text, binary, ...rest }: WhatWasDone): void {
  assert.match(vault.id, /^vault_/);
  assert.deepEqual([vault.name, vault.environment], [name, 'staging']);
  assert.deepEqual(rest, {
    secret: { path: 'db/password', version: 1, value: 'hunter2' },
    tags: ['new'],
    listed: ['db/password'],
    deleted: true,
  });
  assert.deepEqual([missing.status, missing.code, missing.pointers], [404, 'SECRET_NOT_FOUND', []]);
  assert.deepEqual([invalid.status, invalid.code, invalid.pointers], [422, 'VALIDATION_FAILED', ['/body/name']]);
  for (const refused of [missing, invalid]) {
    assert.match(refused.request_id, /^req_/);
    assert.match(refused.message, /\.$/);
  }
  if (text !== null) assert.equal(text, '-----BEGIN CERTIFICATE-----');
  if (binary !== null) assert.equal(binary.first, 0x30, 'a DER sequence');
}
