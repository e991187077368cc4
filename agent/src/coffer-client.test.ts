import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { newFolder } from '../../test/support/host-root.ts';
import { CofferClient } from './coffer-client.ts';

const HOUR_MS = 3_600_000;
const servers = new Set<Server>();
after(() => {
  for (const server of servers) server.close().closeAllConnections();
});

/** The login of the service and one call, with sessions that a test revokes. */
async function newService() {
  const service = { logins: [] as unknown[], calls: [] as string[], valid: '', lifeMs: HOUR_MS, loginStatus: 200 };
  const server = createServer(async (request, response) => {
    const body = await readText(request);
    if (request.url === '/workload-identity/login') {
      service.logins.push(JSON.parse(body));
      service.valid = `session-${service.logins.length}`;
      const expires_at = new Date(Date.now() + service.lifeMs).toISOString();
      const answer = service.loginStatus === 200 ? { cv_jwt: service.valid, expires_at } : {};
      response.writeHead(service.loginStatus).end(JSON.stringify(answer));
    } else {
      service.calls.push(`${request.headers.authorization} ${request.headers['x-cluster-token'] ?? ''}`.trim());
      response.writeHead(request.headers.authorization === `Bearer ${service.valid}` ? 200 : 401).end('{}');
    }
  });
  servers.add(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const tokenFile = join(newFolder(), 'token');
  writeFileSync(tokenFile, 'projected-1\n');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const client = new CofferClient({ url, caFile: null, credential: { kind: 'workload', methodId: 7, tokenFile } });
  const call = () => client.send({ method: 'GET', path: '/x', signal: new AbortController().signal });
  return { service, tokenFile, call };
}

describe('a workload', () => {
  test('logs in once for many calls, and sends no token of a cluster', async () => {
    const { service, call } = await newService();
    await call();
    await call();
    assert.deepEqual(service.logins, [{ method_id: 7, k8s_token: 'projected-1' }]);
    assert.deepEqual(service.calls, ['Bearer session-1', 'Bearer session-1']);
  });

  test('logs in again when its session was revoked, with the token that the file has now', async () => {
    const { service, tokenFile, call } = await newService();
    await call();
    service.valid = 'none';
    writeFileSync(tokenFile, 'projected-2');
    await call();
    assert.deepEqual(service.logins[1], { method_id: 7, k8s_token: 'projected-2' });
    assert.equal(service.calls.length, 3);
  });

  test('logs in before its session expires', async () => {
    const { service, call } = await newService();
    service.lifeMs = 0;
    await call();
    await call();
    assert.equal(service.logins.length, 2);
    assert.deepEqual(service.calls, ['Bearer session-1', 'Bearer session-2'], 'no call was refused');
  });

  test('a login that is refused, or is none, calls nothing', async () => {
    const { service, call } = await newService();
    service.loginStatus = 401;
    await assert.rejects(call(), /the service answered 401/);
    service.loginStatus = 202;
    await assert.rejects(call(), /the service answered 202/);
    assert.deepEqual(service.calls, []);
    assert.equal(service.logins.length, 2, 'a refusal is not repeated at once');
  });
});
