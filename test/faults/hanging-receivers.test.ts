import { after, before, test } from 'node:test';
import { addTenant, ok, type Tenant, uniqueName } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { Receiver, withoutWaitingFor } from '../support/siem-receivers.ts';
import { DRIFT, webhookCalls } from '../support/webhooks.ts';

const EXPORTERS = '/v1/audit/exporters';

onBothDatabases('tenants whose receivers hang', (database) => {
  let service: Service;
  let victim: Tenant;
  let calls: ReturnType<typeof webhookCalls>;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    victim = await addTenant(service);
    calls = webhookCalls(service, victim);
  });
  after(() => service.close());

  async function hangingReceiver(): Promise<Receiver> {
    const receiver = await Receiver.start();
    receiver.respond = () => new Promise(() => {});
    return receiver;
  }

  async function untilQuiet(receivers: readonly Receiver[]): Promise<void> {
    const count = () => receivers.reduce((sum, { requests }) => sum + requests.length, 0);
    for (let before = -1; before !== count(); ) {
      before = count();
      // Calls that no receiver answers end in real time, and workers begin others each second: only a pause shows that no more begin.
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
  }

  test('do not use up the slots of webhooks', async () => {
    const receivers: Receiver[] = [];
    for (let i = 0; i < 8; i++) {
      const attacker = await addTenant(service);
      const receiver = await hangingReceiver();
      receivers.push(receiver);
      for (let webhook = 0; webhook < 8; webhook++) await calls.create(`${receiver.url}/${webhook}`, {}, attacker);
      for (let event = 0; event < 8; event++) await calls.happen(DRIFT, attacker);
    }
    await calls.until('nothing is sent', () => receivers.every(({ requests }) => requests.length > 0));
    const quick = await Receiver.start();
    await calls.create(quick.url);
    await untilQuiet(receivers);
    await withoutWaitingFor(receivers, async () => {
      const before = quick.requests.length;
      await calls.happen();
      await calls.untilReceived(quick, before + 1);
    });
  });

  test('do not use up the slots of exporters', async () => {
    const receivers: Receiver[] = [];
    for (let i = 0; i < 4; i++) {
      const { token } = (await addTenant(service)).owner;
      const receiver = await hangingReceiver();
      receivers.push(receiver);
      for (let exporter = 0; exporter < 20; exporter++) {
        const body = { name: uniqueName('siem'), type: 'https_json', endpoint: `${receiver.url}/${exporter}` };
        await ok(service.call('POST', EXPORTERS, { token, body }), 201);
      }
    }
    await untilQuiet(receivers);
    const quick = await Receiver.start();
    const { token } = victim.owner;
    await withoutWaitingFor(receivers, async () => {
      const before = quick.requests.length;
      const body = { name: uniqueName('siem'), type: 'https_json', endpoint: quick.url };
      await ok(service.call('POST', EXPORTERS, { token, body }), 201);
      await ok(service.call('GET', '/v1/groups', { token }));
      await calls.untilReceived(quick, before + 1);
    });
  });
});
