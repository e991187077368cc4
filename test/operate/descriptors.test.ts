import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { complaints } from '../support/log-lines.ts';
import { seriesValue } from '../support/metric-lines.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { type ServiceProcess, spawnService, startServiceProcess, stopService } from '../support/process.ts';
import { DATABASES } from '../support/service.ts';
import { until } from '../support/until.ts';

const LIMIT = 150;
const IDLE_CLIENTS = 300;

/** Sends over one connection that stays open. */
function callOverOneConnection(service: ServiceProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const token = service.adminToken();
  return async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = request(`${service.url}${path}`, { method, agent, headers });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = await once(sent, 'response');
    return { status: Number(response.statusCode), text: await text(response) };
  };
}

describe('few file descriptors', () => {
  for (const database of DATABASES) {
    test(`stay available for the database, whatever clients do, ${database}`, async () => {
      const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
      const service = await spawnService({ databaseUrl, descriptors: LIMIT });
      const call = callOverOneConnection(service);
      const ready =
        service
          .stdout()
          .split('\n')
          .find((line) => line.includes('Coffer is ready')) ?? '';
      const max = Number(JSON.parse(ready).connections_max);
      assert.ok(max > 0 && max < LIMIT, ready);
      assert.equal((await call('POST', '/v1/vaults', { name: 'before' })).status, 201);
      const { port } = new URL(service.url);
      const idle: Socket[] = Array.from({ length: IDLE_CLIENTS }, () => connect(Number(port), '127.0.0.1'));
      for (const socket of idle) socket.on('error', () => {});
      await until('connections beyond the limit are closed', () => idle.filter(({ closed }) => closed).length > 0);
      for (let i = 0; i < 20; i++) {
        const { status, text: body } = await call('POST', '/v1/vaults', { name: `beside-${i}` });
        assert.equal(status, 201, body);
      }
      const metrics = await call('GET', '/metrics');
      const refused = /^cv_http_connections_refused_total\{reason="total"\} (\d+)$/m.exec(metrics.text)?.[1];
      assert.ok(Number(refused) >= IDLE_CLIENTS - max, `${refused} were refused`);
      const open = Number(seriesValue(metrics.text, 'cv_http_connections'));
      assert.ok(open > 0 && open <= max, `${open} are open`);
      assert.ok(readdirSync(`/proc/${service.pid}/fd`).length < LIMIT);
      assert.doesNotMatch(service.stdout(), /cannot be reached|EMFILE/);
      for (const socket of idle) socket.destroy();
      await until('new clients are served again', async () =>
        fetch(`${service.url}/health/ready`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
      await stopService(service);
      assert.deepEqual(complaints(service), []);
    });
  }

  test('fewer than it needs end the start with one line that says what to raise', async () => {
    const { code, stderr } = await startServiceProcess({ descriptors: 60 }).exited;
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Coffer cannot start\. A process may have 60 files open \(ulimit -n\), and at least 96 are needed: raise it/,
    );
  });
});
