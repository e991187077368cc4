import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SyslogReceiver } from '../../../../../test/support/siem-receivers.ts';
import { testAuthority } from '../../../../../test/support/test-authority.ts';
import { AddressGuard } from '../../../kernel/outbound/address-guard.ts';
import { OutgoingSlots } from '../../../kernel/outbound/outgoing-slots.ts';
import { parseSyslogEndpoint, Syslog } from './syslog.ts';
import { NotDelivered } from './transport.ts';

test('a connection to a syslog receiver counts as an outgoing call of its tenant until it is closed', async () => {
  const authority = await testAuthority();
  const leaf = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }], extendedKeyUsage: null });
  const receiver = await SyslogReceiver.start({ key: await leaf.keyPem(), cert: leaf.pem });
  const endpoint = parseSyslogEndpoint(`tls://127.0.0.1:${receiver.port}`);
  assert.ok(endpoint !== null);
  const slots = new OutgoingSlots();
  const parts = { guard: new AddressGuard(['127.0.0.1/32']), slots, version: '0' };
  const opened = () => new Syslog(parts, { owner: 'tenant', endpoint, caPem: authority.pem });
  const { signal } = new AbortController();
  const open: Syslog[] = [];
  const full = new NotDelivered('too many outgoing requests are in progress');
  for (;;) {
    const syslog = opened();
    const isSent = await syslog.send([], signal).then(
      () => true,
      (error: unknown) => {
        assert.deepEqual(error, full);
        return false;
      },
    );
    if (!isSent) break;
    open.push(syslog);
  }
  assert.equal(open.length, 32);
  await open[0]?.finish();
  const again = opened();
  await again.send([], signal);
  await assert.rejects(opened().send([], signal), full);
  const unreachable = { ...endpoint, host: '127.0.0.2' };
  for (let i = 0; i < 40; i++) {
    const blocked = new Syslog(parts, { owner: 'other', endpoint: unreachable, caPem: null });
    await assert.rejects(blocked.send([], signal), /not public|not allowed/, 'a refused one holds nothing');
  }
  await Promise.all([again, ...open].map((syslog) => syslog.finish()));
  await receiver.close();
});
