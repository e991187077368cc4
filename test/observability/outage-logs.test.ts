import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { INTERVAL_MS, LINES_PER_INTERVAL } from '../../server/src/kernel/observability/repeated-lines.ts';
import { newPostgresDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call } from '../support/service.ts';

const REQUESTS = 200;
const AT_ONCE = 10;
const PATHS = { readMe: '/auth/me', listUsers: '/v1/users' } as const;

interface Line {
  level: string;
  msg: string;
  endpoint?: string;
  err?: { type: string; code?: string; cause?: { code?: string } };
  like?: string;
  left_out?: number;
}

describe('the log of a service whose database is away', () => {
  let server: PostgresServer;
  let service: ServiceProcess;
  let lines: Line[] = [];
  let intervals = 0;

  before(async () => {
    server = await startPostgres();
    service = await spawnService({ databaseUrl: await newPostgresDatabase(server) });
    const token = service.adminToken();
    const written = service.stdout().length;
    await server.stop();
    const startedAt = performance.now();
    for (const path of Object.values(PATHS)) {
      for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
        const answers = Array.from({ length: AT_ONCE }, () => call(service.url, 'GET', path, { token }));
        for (const { status, text } of await Promise.all(answers)) assert.equal(status, 503, text);
      }
    }
    await server.start();
    // What was left out is said at the latest when the process ends.
    await stopService(service);
    intervals = 1 + Math.ceil((performance.now() - startedAt) / INTERVAL_MS);
    lines = service
      .stdout()
      .slice(written)
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);
  });
  after(() => server.remove());

  test('has a few lines for each reason, however many requests fail', () => {
    const counts = new Map<string, number>();
    for (const { level, msg, endpoint = '', err } of lines.filter((line) => line.err !== undefined)) {
      const reason = [level, msg, endpoint, err?.type, err?.code].join(' ');
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    assert.ok([...counts.keys()].some((reason) => reason.includes('unavailable readMe')));
    for (const [reason, count] of counts)
      assert.ok(count <= LINES_PER_INTERVAL * intervals, `${count} lines: ${reason}`);
  });

  test('accounts for every request that failed', () => {
    for (const endpoint of Object.keys(PATHS)) {
      const about = lines.filter((line) => line.endpoint === endpoint);
      const written = about.filter(({ msg }) => msg === 'unavailable').length;
      const leftOut = about.filter(({ like }) => like === 'unavailable').map((line) => line.left_out ?? 0);
      assert.equal(written + leftOut.reduce((sum, count) => sum + count, 0), REQUESTS, endpoint);
    }
  });
});
