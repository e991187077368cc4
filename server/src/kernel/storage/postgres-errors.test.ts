import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translate } from './database.ts';
import { classifyPostgresError, isRefusedByServer, RolledBack } from './postgres-errors.ts';
import { NotReplicated } from './scram-client.ts';

const withCode = (code: string) => Object.assign(new Error('of the driver'), { code });
/** As a statement of a transaction reports it. */
const translated = (error: Error) => translate(error, classifyPostgresError(error));

test('a commit is known not to be made if the server refused it, or a statement before it', () => {
  for (const code of ['23505', '23502', '40001', '55P03', '57014', '25006', 'XX001']) {
    assert.equal(isRefusedByServer(withCode(code)), true, code);
    assert.equal(isRefusedByServer(translated(withCode(code))), true, code);
  }
  assert.equal(isRefusedByServer(new RolledBack()), true);
});

test('whether it was made is unknown if the connection or the server ended, whatever a statement before it reports', () => {
  for (const code of ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_SSL_BAD_RECORD', '08006', '08P01', '57P01']) {
    assert.equal(isRefusedByServer(withCode(code)), false, code);
    assert.equal(isRefusedByServer(translated(withCode(code))), false, code);
  }
  for (const error of [
    new Error('Connection terminated unexpectedly'),
    new Error('Query read timeout'),
    new NotReplicated(),
  ])
    assert.equal(isRefusedByServer(translated(error)), false, error.message);
});
