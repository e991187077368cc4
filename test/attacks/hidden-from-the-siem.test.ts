import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { linkAll } from '../support/audit-retention.ts';
import {
  addColleague,
  addTenant,
  addToken,
  approve,
  invalid,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { Receiver } from '../support/siem-receivers.ts';
import { until } from '../support/until.ts';

const EXPORTERS = '/v1/audit/exporters';

onBothDatabases('what one person must not achieve: hiding entries from the SIEM', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
  });
  after(() => service.close());

  const as = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  /** An exporter whose receiver is down, and entries that it has not got. */
  const behind = async (tenant: Tenant) => {
    const { token } = tenant.owner;
    const receiver = await Receiver.start();
    receiver.respond = () => ({ status: 503, body: '' });
    const body = { name: uniqueName('siem'), type: 'https_json', endpoint: receiver.url };
    const { id } = await ok(as(token, 'POST', EXPORTERS, body), 201);
    const marks = [uniqueName('quiet'), uniqueName('quiet')];
    for (const mark of marks) await ok(as(token, 'POST', '/v1/users', { email: `${mark}@example.com` }), 201);
    const replay = (request: object, by = token) => as(by, 'POST', `${EXPORTERS}/${id}/replay`, request);
    const state = () => ok(as(token, 'GET', `${EXPORTERS}/${id}`));
    const got = () => receiver.requests.map((request) => request.body).join('');
    const wake = () => {
      receiver.requests.length = 0;
      receiver.respond = () => ({ status: 200, body: '{}' });
    };
    return { id, receiver, marks, replay, state, got, wake, token };
  };

  test('by a replay from a time to come, however small the token is', async () => {
    const tenant = await addTenant(service);
    const { marks, replay, state, got, wake, token } = await behind(tenant);
    const small = (await addToken(service, token, { scope: { actions: ['exporters:replay'] } })).token;
    const { cursor, skipped } = await state();
    for (const by of [token, small]) await invalid(replay({ from: '2099-01-01T00:00:00Z' }, by), '/body/from');
    await invalid(replay({ from: '2099-01-01T00:00:00Z', skip: true }), '/body/from');
    await refused(
      replay({ from: new Date(service.clock.now()).toISOString(), skip: true }, small),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    const now = await state();
    assert.deepEqual([now.cursor, now.skipped], [cursor, skipped]);
    wake();
    for (const from of ['2000-13-01', '2000', 'yesterday']) await invalid(replay({ from }), '/body/from');
    await ok(replay({ from: '2000-01-01' }));
    await until('the receiver gets what it missed', () => marks.every((mark) => got().includes(mark)));
  });

  test('by skipping them without a second person, or uncounted', async () => {
    const tenant = await addTenant(service);
    const { marks, replay, state, got, wake } = await behind(tenant);
    const admin = await addColleague(service, tenant.id, 'admin');
    // Only linked entries can be skipped.
    await linkAll(service);
    service.clock.advance(1000);
    const from = new Date(service.clock.now()).toISOString();
    service.clock.advance(1000);
    const requested = await ok(replay({ from, skip: true }), 202);
    assert.equal(requested.approval, 'siem_change');
    const before = await state();
    assert.equal(before.skipped, 0);
    assert.equal((await ok(approve(service, requested.approval_id, admin.token))).status, 'completed');
    const after = await state();
    assert.equal(after.skipped, after.cursor - before.cursor);
    assert.ok(after.skipped >= marks.length, `${after.skipped} are counted`);
    const [loss] = after.losses;
    assert.deepEqual([loss.kind, loss.from_seq, loss.to_seq], ['skipped', before.cursor + 1, after.cursor]);
    wake();
    await ok(replay({ from }));
    // Who skipped them is told to the receiver all the same.
    await until('the receiver gets the replay itself', () => got().includes('exporters:replay'));
    assert.ok(!marks.some((mark) => got().includes(mark)));
    await refused(replay({ from, skip: true }), 409, 'VERSION_CONFLICT');
  });
});
