import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { addTenant, ok } from '../support/people.ts';
import { behindItsBack } from '../support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault } from '../support/vaults.ts';

const MARKER = 'MARKER-of-a-secret';

onSqliteAtLanding('logs of requests', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_ACCESS_LOG: 'on', CV_SLOW_REQUEST_MS: '1' } });
  });
  after(() => service.close());

  type Line = Record<string, unknown>;
  const lines = (): Line[] => service.logs.map((line) => JSON.parse(line) as Line);
  const about = (requestId: string | null) => lines().filter((line) => line['request_id'] === requestId);
  const accessOf = async (requestId: string | null): Promise<Line> => {
    await until('the request is logged', () => about(requestId).some(({ msg }) => msg === 'request'));
    const found = about(requestId).filter(({ msg }) => msg === 'request');
    assert.equal(found.length, 1);
    return found[0] as Line;
  };

  test('a request is one line, with its route and not what it names', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password', { value: MARKER });
    const answer = await service.call('GET', `/v1/vaults/${vault}?include=${MARKER}`);
    const { time: _, duration_ms, node_id, ...line } = await accessOf(answer.headers.get('x-request-id'));
    assert.deepEqual(line, {
      level: 'info',
      request_id: answer.headers.get('x-request-id'),
      method: 'GET',
      route: '/v1/vaults/{vault}',
      address: '127.0.0.1',
      status: 422,
      msg: 'request',
    });
    assert.equal(typeof duration_ms, 'number');
    assert.equal(node_id, service.app.kernel.nodeId);
    const nowhere = await service.call('GET', `/v1/nowhere/${MARKER}`, { headers: { 'x-secret': MARKER } });
    const unrouted = await accessOf(nowhere.headers.get('x-request-id'));
    assert.deepEqual([unrouted['route'], unrouted['status']], [null, 404]);
    const login = await service.call('POST', '/auth/login', {
      token: null,
      body: { tenant: 'x', email: `${MARKER}@example.com`, password: MARKER },
    });
    await accessOf(login.headers.get('x-request-id'));
    assert.ok(!service.logs.join('').includes(MARKER));
  });

  test('a caller who leaves before the end is logged as cut off', async () => {
    const tenant = await addTenant(service);
    const before = lines().filter((line) => line['is_cut_off'] === true).length;
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    const head = `POST /v1/vaults HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tenant.owner.token}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
    await until('the request is being handled', () => service.app.kernel.metrics.requestsInFlight > 0);
    socket.destroy();
    await until('it is logged', () => lines().filter((line) => line['is_cut_off'] === true).length === before + 1);
  });

  test('a slow request is logged', async () => {
    await until('a request took longer than a millisecond', async () => {
      const { headers } = await service.call('GET', '/v1/audit/verify');
      const [line] = about(headers.get('x-request-id')).filter(({ msg }) => msg === 'a request was slow');
      if (line === undefined) return false;
      const { level, route, status, node_id } = line;
      assert.deepEqual([level, route, status], ['warn', '/v1/audit/verify', 200]);
      assert.equal(node_id, service.app.kernel.nodeId);
      return Number(line['duration_ms']) > 0;
    });
  });

  test('every answer of 500 or more has one line with its id and the node', async () => {
    const failure = async (path: string, status: number) => {
      const { status: answered, headers, text } = await service.call('GET', path);
      assert.equal(answered, status, text);
      const found = about(headers.get('x-request-id')).filter(
        ({ msg }) => msg !== 'request' && !/slow/.test(String(msg)),
      );
      assert.equal(found.length, 1, JSON.stringify(found));
      assert.equal(found[0]?.['node_id'], service.app.kernel.nodeId);
      return found[0] as Line;
    };
    service.expectErrorLogs(/unexpected error/);
    const rename = (from: string, to: string) =>
      behindItsBack(service.app.kernel.database, (db) =>
        sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(db),
      );
    await rename('webhooks', 'webhooks_away');
    assert.equal((await failure('/v1/webhooks', 500))['msg'], 'unexpected error');
    await rename('webhooks_away', 'webhooks');
    await ok(service.call('GET', '/v1/webhooks'));
    service.app.kernel.shutdown.abort();
    assert.equal((await failure('/health/ready', 503))['msg'], 'unavailable');
  });
});
