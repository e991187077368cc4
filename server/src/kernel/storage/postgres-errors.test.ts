import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translate } from './database.ts';
import { classifyPostgresError, isRefusedByServer, RolledBack } from './postgres-errors.ts';
import { NotReplicated } from './scram-client.ts';

const withCode = (code: string, severity = 'ERROR') => Object.assign(new Error('of the driver'), { code, severity });
/** As a statement of a transaction reports it. */
const translated = (error: Error) => translate(error, classifyPostgresError(error));

test('a commit is known not to be made if the server refused it, or a statement before it', () => {
  for (const code of ['23505', '23502', '40001', '55P03', '57014', '25006', 'XX001', '53100', '58030']) {
    assert.equal(isRefusedByServer(withCode(code)), true, code);
    assert.equal(isRefusedByServer(translated(withCode(code))), true, code);
  }
  assert.equal(isRefusedByServer(new RolledBack()), true);
  assert.equal(isRefusedByServer(withCode('53100', 'FEHLER')), true, 'in another language');
  assert.equal(isRefusedByServer(withCode('28P01', 'FATAL')), true, 'nothing was sent');
});

test('whether it was made is unknown if the connection or the server ended, whatever a statement before it reports', () => {
  for (const code of ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_SSL_BAD_RECORD', '08006', '08P01', '57P01']) {
    assert.equal(isRefusedByServer(withCode(code)), false, code);
    assert.equal(isRefusedByServer(translated(withCode(code))), false, code);
  }
  for (const severity of ['PANIC', 'PANIK', 'FATAL']) {
    for (const code of ['53100', '58030', 'XX000']) {
      assert.equal(isRefusedByServer(withCode(code, severity)), false, `${severity} ${code}`);
      assert.equal(isRefusedByServer(translated(withCode(code, severity))), false, `${severity} ${code}`);
    }
  }
  for (const error of [
    new Error('Connection terminated unexpectedly'),
    new Error('Query read timeout'),
    new NotReplicated(),
  ])
    assert.equal(isRefusedByServer(translated(error)), false, error.message);
});
