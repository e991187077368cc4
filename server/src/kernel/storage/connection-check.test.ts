import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DATABASES, type Service, startService } from '../../../../test/support/service.ts';
import { connectionShortage } from './connection-check.ts';

const skip = DATABASES.includes('postgres') ? false : 'PostgreSQL was left out of this run';
describe('the connections that PostgreSQL allows', () => {
  let service: Service;
  before(async () => {
    service = await startService(skip ? 'sqlite' : 'postgres');
  });
  after(() => service.close());

  test('what fits says nothing, on either database', async () => {
    const { database } = service.app.kernel;
    assert.equal(await connectionShortage(database, { workers: 1, databasePool: 8 }), null);
  });

  test('what PostgreSQL does not allow is one line with the numbers and what to set', { skip }, async () => {
    const { database } = service.app.kernel;
    const text = await connectionShortage(database, { workers: 64, databasePool: 100 });
    assert.match(
      String(text),
      /^This node may open 6400 connections to PostgreSQL \(64 workers with 100 each\), which allows \d+ .*lower CV_DATABASE_POOL or CV_WORKERS/,
    );
    const alone = await connectionShortage(database, { workers: 1, databasePool: 5000 });
    assert.match(String(alone), /^This node may open 5000 connections to PostgreSQL, which allows/);
  });
});
