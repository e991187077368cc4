import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, ok, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { Receiver, SyslogReceiver } from '../../../../test/support/siem-receivers.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { until } from '../../../../test/support/until.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { ExporterRun } from './exporter-run.ts';
import * as store from './store.ts';

const EXPORTERS = '/v1/audit/exporters';

onBothDatabases('the run of an exporter', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const as = () => ({ token: tenant.owner.token });
  const create = (body: object) =>
    ok(service.call('POST', EXPORTERS, { ...as(), body: { name: uniqueName('siem'), ...body } }), 201);
  const remove = (id: string) => ok(service.call('DELETE', `${EXPORTERS}/${id}`, as()));
  const record = () => ok(service.call('GET', '/v1/groups', as()));
  const keyOf = ({ id }: { id: string }) => ({ tenant_id: tenant.id, exporter_id: id });
  const progressOf = async (made: { id: string }) => {
    const row = await store.findProgress(service.app.kernel.database.read, keyOf(made));
    assert.ok(row !== undefined);
    return row;
  };

  test('ends after its turn, although there is always more to send', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: receiver.url, enabled: false });
    const { kernel } = service.app;
    const { http, outbound: guard, clock, version } = kernel;
    const lease = { lease_owner: 'test', lease_until: clock.now() + DAY_MS };
    const row = await progressOf(made);
    assert.ok(await kernel.database.transaction((tx) => store.takeLease(tx, row, lease)));
    const run = await ExporterRun.open(kernel, { http, guard, clock, version }, { ...row, ...lease });
    assert.ok(run !== null);
    let isOver = false;
    const running = run.run(new AbortController().signal, 1000).then(() => {
      isOver = true;
    });
    await until('it goes on while others wait', async () => {
      await record();
      return isOver;
    });
    await running;
    const ended = await progressOf(made);
    assert.deepEqual([ended.lease_owner, Number(ended.lease_until)], [null, 0]);
    assert.ok(Number(ended.next_attempt_at) > 0, 'it waits behind those that waited longer');
    assert.ok(Number(ended.cursor_seq) > made.cursor);
    await remove(made.id);
  });

  test('that ended in the orderly way is not repeated by the next one', async () => {
    const authority = await testAuthority();
    const leaf = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }], extendedKeyUsage: null });
    const receiver = await SyslogReceiver.start({ key: await leaf.keyPem(), cert: leaf.pem });
    const endpoint = `tls://127.0.0.1:${receiver.port}`;
    const made = await create({ type: 'syslog', format: 'cef', endpoint, ca_pem: authority.pem });
    const seqs = () => receiver.messages.map((message) => Number(/cn1=(\d+)/.exec(message)?.[1]));
    for (let run = 1; run <= 2; run++) {
      await record();
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=1', as()));
      await until('the entry does not arrive', () => seqs().includes(entries[0].seq));
      await until('the run does not end', async () => (await progressOf(made)).lease_owner === null);
    }
    assert.deepEqual(
      seqs(),
      [...new Set(seqs())].sort((a, b) => a - b),
      'each once, in order',
    );
    await remove(made.id);
  });

  test('that fails says so with a text of its own', async () => {
    const receiver = await Receiver.start();
    receiver.respond = ({ body }) => {
      const error = { type: 'security_exception', reason: '<b>the receiver’s words' };
      const items = Array.from({ length: body.trim().split('\n').length / 2 }, () => ({
        create: { status: 403, error },
      }));
      return { status: 200, body: { errors: true, items } };
    };
    const credentials = { api_key: 'key' };
    const made = await create({ type: 'elastic', endpoint: `${receiver.url}/audit`, credentials });
    await until('no failure is shown', async () => (await progressOf(made)).last_error !== null);
    assert.equal((await progressOf(made)).last_error, 'an entry was not taken (403 security_exception)');
    await remove(made.id);
  });

  test('does not wait for a time that a wrong clock has set', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: receiver.url });
    await until('it does not run', async () => Number((await progressOf(made)).cursor_seq) > made.cursor);
    await until('the run does not end', async () => (await progressOf(made)).lease_owner === null);
    const far = service.clock.now() + 400 * DAY_MS;
    await service.app.kernel.database.transaction((tx) =>
      tx
        .updateTable('exporter_progress')
        .set({ next_attempt_at: far, lease_owner: 'gone', lease_until: far })
        .where('exporter_id', '=', made.id)
        .execute(),
    );
    receiver.requests.length = 0;
    await record();
    await until('nothing is sent', () => receiver.requests.length > 0);
    await remove(made.id);
  });
});
