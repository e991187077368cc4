import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../server/src/assembly/settings.ts';
import { TENANT_PART } from '../../server/src/kernel/http/request-body.ts';
import { DRAINED_BYTES_MAX } from '../../server/src/kernel/http/unread-body.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { type HalfSent, halfSend } from '../support/half-sent.ts';
import { addTenant, ok, refused, type Tenant } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const MEMORY_MIB = 64;
/** As many of 64 KiB as one address may have on their way without a credential. */
const ADDRESS_BODIES = MEMORY_MIB / 64 / (64 / 1024);
const CONNECTIONS_PER_ADDRESS = 40;
const OTHER_ADDRESS = '127.0.0.3';

test('the largest body of any endpoint fits into the share of a tenant, and into what is drained', () => {
  const largest = Math.max(...DECLARATIONS.map(({ bodyBytesMax }) => bodyBytesMax));
  const least = loadConfig({ CV_BODY_MEMORY_MIB: String(MEMORY_MIB) }).bodyMemoryMib;
  assert.ok(largest <= least * MIB * TENANT_PART);
  assert.ok(largest < DRAINED_BYTES_MAX);
  assert.throws(() => loadConfig({ CV_BODY_MEMORY_MIB: String(MEMORY_MIB - 1) }));
});

onBothDatabases('who sends as much as they can', (database) => {
  let service: Service;
  let hoarder: Tenant;
  let other: Tenant;

  before(async () => {
    const env = { CV_BODY_MEMORY_MIB: String(MEMORY_MIB), CV_CONNECTIONS_PER_ADDRESS: String(CONNECTIONS_PER_ADDRESS) };
    service = await startService(database, { env });
    hoarder = await addTenant(service);
    other = await addTenant(service);
  });
  after(() => service.close());

  const importing = (tenant: Tenant) =>
    halfSend(service.url, {
      path: '/v1/vaults/some-vault/import',
      length: 12 * MIB,
      headers: { Authorization: `Bearer ${tenant.owner.token}` },
      from: OTHER_ADDRESS,
    });
  const write = (tenant: Tenant) =>
    service.call('POST', '/v1/groups', {
      token: tenant.owner.token,
      body: { name: `g-${Math.random()}`.slice(0, 20) },
    });
  const held = async () => {
    const { text } = await service.call('GET', '/metrics');
    return Number(/^cv_http_body_bytes (\d+)$/m.exec(text)?.[1]);
  };
  const untilHeld = (bytes: number) => until('the bytes do not arrive', async () => (await held()) >= bytes);
  const closeAll = async (open: HalfSent[]) => {
    for (const half of open) half.close();
    await until('the bytes are not released', async () => (await held()) === 0);
  };

  test('does not hold more than a tenant’s share, and the next body is 503 with Retry-After', async () => {
    const first = await importing(hoarder);
    first.send(Buffer.alloc(11 * MIB, ' '));
    await untilHeld(11 * MIB);
    const second = await importing(hoarder);
    second.send(Buffer.alloc(11 * MIB, ' '));
    assert.equal(await second.answered(), 503, second.text());
    assert.match(second.text(), /^Retry-After: [1-9]\d*\r$/im);
    assert.equal(first.status(), 0, 'what was there first goes on');
    await ok(write(other), 201);
    await closeAll([first, second]);
    await ok(write(hoarder), 201);
    const third = await importing(hoarder);
    third.send(Buffer.alloc(12 * MIB, ' '));
    assert.equal(await third.answered(), 400, 'what was held is free again');
    third.close();
  });

  test('does not take from known callers, nor from another address, without a credential', async () => {
    const login = async (from?: string) => {
      const half = await halfSend(service.url, { path: '/auth/login', length: 64 * 1024, ...(from && { from }) });
      half.send(Buffer.alloc(63 * 1024, ' '));
      return half;
    };
    const open = await Promise.all(Array.from({ length: ADDRESS_BODIES }, () => login()));
    await untilHeld(ADDRESS_BODIES * 64 * 1024);
    const beyond = await login();
    assert.equal(await beyond.answered(), 503, beyond.text());
    const elsewhere = await login(OTHER_ADDRESS);
    await untilHeld((ADDRESS_BODIES + 1) * 64 * 1024);
    assert.equal(elsewhere.status(), 0, 'another address has its own share');
    assert.deepEqual(new Set(open.map((half) => half.status())), new Set([0]));
    await ok(write(other), 201);
    await closeAll([...open, beyond, elsewhere]);
  });

  test('does not take every connection, only as many as one address may have', async () => {
    const open = await Promise.all(
      Array.from({ length: CONNECTIONS_PER_ADDRESS + 10 }, () =>
        halfSend(service.url, { path: '/auth/login', length: 10, from: OTHER_ADDRESS }),
      ),
    );
    const isOpen = ({ socket }: HalfSent) => !socket.destroyed;
    const refusals = async () => {
      const { text } = await service.call('GET', '/metrics');
      return Number(/^cv_http_connections_refused_total\{reason="address"\} (\d+)$/m.exec(text)?.[1]);
    };
    // Each connection is accepted or refused by then, so no other one is closed later.
    await until('too few are refused', async () => (await refusals()) >= 10);
    await until('too many stay open', () => open.filter(isOpen).length <= CONNECTIONS_PER_ADDRESS);
    assert.equal(open.filter(isOpen).length, CONNECTIONS_PER_ADDRESS);
    await ok(service.call('GET', '/health', { token: null }));
    await closeAll(open);
    const again = await halfSend(service.url, { path: '/nothing', length: 0, from: OTHER_ADDRESS });
    assert.equal(await again.answered(), 404, 'connections that have ended do not count');
    again.close();
    const { text } = await service.call('GET', '/metrics');
    assert.match(text, /^cv_http_connections_refused_total\{reason="address"\} 10$/m);
    assert.match(text, /^cv_http_bodies_refused_total\{reason="share"\} 2$/m);
  });

  test('does not keep a token alive by sending slowly', async () => {
    const { token, id } = await ok(
      service.call('POST', '/auth/tokens', { token: other.owner.token, body: { name: 'leaked' } }),
      201,
    );
    const body = JSON.stringify({ name: 'made-after-revocation' });
    for (const path of ['/v1/groups', '/v1/policies/simulate']) {
      const half = await halfSend(service.url, {
        path,
        length: body.length,
        headers: { Authorization: `Bearer ${token}` },
      });
      half.send(body.slice(0, 5));
      if (path === '/v1/groups') {
        await untilHeld(1);
        await ok(service.call('DELETE', `/auth/tokens/${id}`, { token: other.owner.token }), 200);
      }
      half.send(body.slice(5));
      assert.equal(await half.answered(), 401, half.text());
      half.close();
    }
    const { groups } = await ok(service.call('GET', '/v1/groups', { token: other.owner.token }));
    assert.ok(groups.every(({ name }: { name: string }) => name !== 'made-after-revocation'));
  });

  test('is served as before if rights of others changed meanwhile', async () => {
    const body = JSON.stringify({ name: 'made-slowly' });
    const headers = { Authorization: `Bearer ${other.owner.token}` };
    const half = await halfSend(service.url, { path: '/v1/groups', length: body.length, headers });
    half.send(body.slice(0, 5));
    await untilHeld(1);
    await ok(write(other), 201);
    half.send(body.slice(5));
    assert.equal(await half.answered(), 201, half.text());
    half.close();
  });

  test('gets {} accepted where there is no body, and nothing else', async () => {
    const post = (body: unknown) => service.call('POST', '/v1/audit/checkpoints', { body });
    for (const body of ['{}', ' {} ']) assert.ok([201, 404].includes((await post(body)).status));
    for (const body of ['{"a":1}', '[]', 'null', '1']) await refused(post(body), 422, 'VALIDATION_FAILED');
  });
});
