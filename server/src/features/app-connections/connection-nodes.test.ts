import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  addConnection,
  callAs,
  clientHeaders,
  type Machine,
  tlsAgent,
  tlsCall,
} from '../../../../test/support/machines.ts';
import { ok } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';

/** What ends on one node has ended on the other when its next request comes, also on a connection that stays open. */
describe('on another node', () => {
  let first: Service;
  let second: Service;
  let path: string;
  let vault: string;

  before(async () => {
    const databaseUrl = await newPostgresDatabase();
    first = await startService('postgres', { databaseUrl });
    second = await startService('postgres', { databaseUrl, dataDir: first.dataDir, keepData: true });
    vault = await addVault(first);
    await addSecret(first, vault, 'a');
    path = secretUrl(vault, 'a');
  });
  after(async () => {
    await second.close();
    await first.close();
  });

  async function working(machine: Machine): Promise<() => Promise<number>> {
    const agent = tlsAgent(second, machine);
    after(() => agent.destroy());
    const ask = async () => (await tlsCall(second, machine, path, { headers: clientHeaders(machine), agent })).status;
    assert.equal(await ask(), 200);
    return ask;
  }

  test('a secret that is rotated', async () => {
    const machine = await addConnection(first, vault);
    assert.equal((await callAs(second, machine, 'GET', path)).status, 200);
    const body = { client_secret: true };
    const { client_secret } = await ok(first.call('POST', `/v1/app-connections/${machine.id}/rotate`, { body }));
    assert.equal((await callAs(second, machine, 'GET', path)).status, 401);
    assert.equal((await callAs(second, { ...machine, client_secret }, 'GET', path)).status, 200);
  });

  test('a certificate that is revoked', async () => {
    const machine = await addConnection(first, vault, { mtls_required: true });
    const ask = await working(machine);
    const { serialNumber } = new X509Certificate(machine.certificate);
    const url = `/v1/app-connections/${machine.id}/certificates/${serialNumber.toLowerCase()}/revoke`;
    await ok(first.call('POST', url, { body: {} }), 204);
    assert.equal(await ask(), 403);
  });

  test('a connection that is deleted', async () => {
    const machine = await addConnection(first, vault, { mtls_required: true });
    const ask = await working(machine);
    await ok(first.call('DELETE', `/v1/app-connections/${machine.id}`), 200);
    assert.equal(await ask(), 401);
  });

  test('a path that is removed', async () => {
    const machine = await addConnection(first, vault, { allowed_paths: ['*'] });
    assert.equal((await callAs(second, machine, 'GET', path)).status, 200);
    await ok(first.call('PATCH', `/v1/app-connections/${machine.id}`, { body: { allowed_paths: ['b'] } }));
    assert.equal((await callAs(second, machine, 'GET', path)).status, 403);
  });

  test('sessions are counted together', async () => {
    const machine = await addConnection(first, vault, { concurrent_session_limit: 1 });
    assert.equal((await callAs(first, machine, 'GET', path)).status, 200);
    const headers = clientHeaders(machine);
    assert.equal((await tlsCall(second, machine, path, { headers })).body.error.code, 'SESSION_LIMIT');
  });
});
