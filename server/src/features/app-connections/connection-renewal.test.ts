import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configure, TextWriter, Uint8ArrayReader, ZipReader } from '@zip.js/zip.js';
import {
  addConnection,
  callAs,
  clientHeaders,
  type Machine,
  type Shown,
  tlsCall,
} from '../../../../test/support/machines.ts';
import { ok } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';

configure({ useWebWorkers: false });
const OVERLAP_SECONDS = 3600;

onSqliteAtLanding('a credential whose end is set renews nothing', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    await addSecret(service, vault, 'a');
  });
  after(() => service.close());

  const url = (machine: Machine) => `/v1/app-connections/${machine.id}/rotate`;
  const replace = (machine: Machine, body: object) =>
    ok(service.call('POST', url(machine), { body: { ...body, overlap_seconds: OVERLAP_SECONDS } }));
  const renew = (machine: Machine, shown: Shown, more: object = {}) =>
    tlsCall(service, shown, url(machine), { method: 'POST', body: { certificate: true }, ...more });
  const fetched = async (machine: Machine, shown: Shown) =>
    (await tlsCall(service, shown, `/app-connections/fetch/${machine.client_id}/${vault}/a`)).status;

  test('a certificate that was replaced, by itself or beside the client headers', async () => {
    const machine = await addConnection(service, vault, { mtls_required: true });
    const next = await replace(machine, { certificate: true });
    assert.equal(await fetched(machine, machine), 200, 'it is good for its overlap');
    for (const more of [{}, { headers: clientHeaders(machine) }]) {
      const refused = await renew(machine, machine, more);
      assert.equal(refused.status, 403);
      assert.equal(refused.body.error.code, 'INSUFFICIENT_PRIVILEGE');
      assert.match(refused.body.error.message, /was replaced and cannot renew credentials: use the new one/);
    }
    service.clock.advance((OVERLAP_SECONDS + 1) * 1000);
    assert.equal(await fetched(machine, machine), 401);
    assert.equal(await fetched(machine, next), 200, 'its successor goes on');
    assert.equal((await renew(machine, next)).status, 200);
  });

  test('a client secret that was replaced', async () => {
    const machine = await addConnection(service, vault);
    const { client_secret } = await replace(machine, { client_secret: true });
    assert.equal((await callAs(service, machine, 'GET', secretUrl(vault, 'a'))).status, 200, 'it is good meanwhile');
    const refused = await callAs(service, machine, 'POST', url(machine), { body: { certificate: true } });
    assert.equal(refused.status, 403);
    assert.match(refused.body.error.message, /was replaced and cannot renew credentials: use the new one/);
    const newer = { ...machine, client_secret };
    assert.equal((await callAs(service, newer, 'POST', url(machine), { body: { certificate: true } })).status, 200);
  });

  test('of two renewals by one certificate at the same time, one succeeds', async () => {
    const machine = await addConnection(service, vault, { mtls_required: true });
    const more = { body: { certificate: true, overlap_seconds: OVERLAP_SECONDS } };
    const answers = await Promise.all([1, 2, 3].map(() => renew(machine, machine, more)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403, 403]);
    const renewed = answers.find(({ status }) => status === 200)?.body;
    assert.equal(await fetched(machine, renewed), 200);
  });

  test('a renewal ends the certificate shown and those before it, and none that is newer', async () => {
    const machine = await addConnection(service, vault, { mtls_required: true });
    service.clock.advance(10_000);
    const [second, third] = [await exported(machine), await exported(machine)];
    const renewed = await renew(machine, second);
    assert.equal(renewed.status, 200);
    const shown = [machine, second, third, renewed.body];
    const statuses = await Promise.all(shown.map((one) => fetched(machine, one)));
    assert.deepEqual(statuses, [401, 401, 200, 200]);
  });

  async function exported(machine: Machine): Promise<Shown> {
    const password = 'correct horse battery';
    const sent = {
      method: 'POST',
      headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json' },
    };
    const answer = await fetch(`${service.url}/app-connections/${machine.id}/export-zip`, {
      ...sent,
      body: JSON.stringify({ password }),
    });
    const reader = new ZipReader(new Uint8ArrayReader(new Uint8Array(await answer.arrayBuffer())), { password });
    const texts: Record<string, string> = {};
    for (const entry of await reader.getEntries()) {
      if (!entry.directory) texts[entry.filename] = await entry.getData(new TextWriter());
    }
    return { certificate: texts['client.crt'] ?? '', private_key: texts['client.key'] ?? '' };
  }
});
