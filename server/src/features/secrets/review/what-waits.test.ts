import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { addCluster, addClusterPolicy, sync } from '../../../../../test/support/fleet.ts';
import { addConnection, callAs } from '../../../../../test/support/machines.ts';
import { addColleague, approved, done, ok, refused } from '../../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../../test/support/vaults.ts';

/** The rules for what is no change by a person, as the guide states them. */
onBothDatabases('beside changes that wait for a review', (database, { rule }) => {
  let service: Service;
  let vault: string;
  let reviewer: { token: string };
  before(async () => {
    service = await startService(database);
    const { tenant } = await ok(service.call('GET', '/auth/me'));
    reviewer = await addColleague(service, tenant.id, 'admin');
  });
  after(() => service.close());
  beforeEach(async () => {
    vault = await addVault(service, { change_control: 'none' });
    await addSecret(service, vault, 'db/password', { value: 'first' });
    await ok(service.call('PATCH', `/v1/vaults/${vault}`, { body: { change_control: 'review' } }));
  });
  const write = () => service.call('PUT', secretUrl(vault, 'db/password'), { body: { value: 'second' } });

  test('clusters get the present value until the change is made', async () => {
    const cluster = await addCluster(service);
    const mappings = [{ key: 'password', path: 'db/password' }];
    await done(service, addClusterPolicy(service, cluster, { vault, mappings }), 201);
    const delivered = async () => {
      const { secrets } = await ok(sync(service, cluster));
      return Buffer.from(secrets[0].data.password, 'base64').toString('utf8');
    };
    const waiting = write();
    await ok(waiting, 202);
    assert.equal(await delivered(), 'first');
    await approved(service, waiting, reviewer.token);
    assert.equal(await delivered(), 'second');
  });

  test('External Secrets and a connection get the present value until the change is made', async () => {
    const connection = await addConnection(service, vault, {
      allowed_paths: ['*'],
      scopes: ['secrets:read', 'eso:read'],
    });
    const read = async () =>
      JSON.stringify(
        await ok(callAs(service, connection, 'GET', `/eso/secrets/by-name?vault=${vault}&name=db/password`)),
      );
    const waiting = write();
    await ok(waiting, 202);
    assert.ok((await read()).includes('first'));
    await approved(service, waiting, reviewer.token);
    assert.ok((await read()).includes('second'));
  });

  test('a promotion waits like any other creation', async () => {
    const production = await addVault(service, { environment: 'production', change_control: 'review' });
    const body = { path: 'x', value: 'v', promote: true };
    const made = service.call('POST', `/v1/vaults/${production}/secrets`, { body });
    await approved(service, made, reviewer.token);
    const { versions } = await ok(service.call('GET', secretUrl(production, 'x', 'versions')));
    assert.equal(versions[0].operation, 'promote');
  });

  rule('an import is refused, and changes nothing', async () => {
    const body = { secrets: { 'db/password': 'imported' } };
    await refused(service.call('POST', `/v1/vaults/${vault}/import`, { body }), 409, 'REVIEW_REQUIRED');
    assert.equal((await ok(service.call('GET', secretUrl(vault, 'db/password')))).value, 'first');
  });
});
