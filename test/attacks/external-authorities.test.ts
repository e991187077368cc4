import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { AsnConvert } from '@peculiar/asn1-schema';
import { GeneralName, GeneralSubtree, GeneralSubtrees, NameConstraints } from '@peculiar/asn1-x509';
import * as x509 from '../../server/src/features/certificates/x509.ts';
import { addConnection, clientHeaders, type Machine, type Shown, tlsAgent, tlsCall } from '../support/machines.ts';
import { addPerson, addTenant, ok, refused } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { type TestCertificate, testAuthority } from '../support/test-authority.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

/** Who holds the key of an external authority, or of a certificate it issued, that is not trusted for all it says. */

const AUTHORITY = { isCa: true, keyUsage: x509.KeyUsageFlags.keyCertSign, extendedKeyUsage: null };

/** May speak for hosts of example.com alone. */
function forExampleCom(): x509.Extension {
  const permitted = new GeneralSubtrees([new GeneralSubtree({ base: new GeneralName({ dNSName: 'example.com' }) })]);
  const constraints = new NameConstraints({ permittedSubtrees: permitted });
  return new x509.Extension('2.5.29.30', true, AsnConvert.serialize(constraints));
}

function thumbprint({ der }: TestCertificate): string {
  return createHash('sha256').update(der).digest('hex');
}

onBothDatabases('an external authority', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    await addSecret(service, vault, 'a');
  });
  after(() => service.close());

  const connection = (authority: TestCertificate, more = {}) =>
    addConnection(service, vault, { mtls_required: true, external_ca_pem: authority.pem, ...more });
  const shown = async (leaf: TestCertificate, ...above: TestCertificate[]): Promise<Shown> => ({
    certificate: [leaf, ...above].map(({ pem }) => pem).join(''),
    private_key: await leaf.keyPem(),
  });
  const read = (machine: Machine, what: Shown, more = {}) =>
    tlsCall(service, what, secretUrl(vault, 'a'), { headers: clientHeaders(machine), ...more });
  const patch = (machine: Machine, denied_thumbprints: string[], token = service.adminToken) =>
    service.call('PATCH', `/v1/app-connections/${machine.id}`, { token, body: { denied_thumbprints } });

  test('does not pass for a connection by a common name that its name constraints do not bind', async () => {
    const constrained = await testAuthority({ more: [forExampleCom()] });
    const machine = await connection(constrained);
    const leaf = await constrained.issue({ cn: machine.client_id });
    const answer = await read(machine, await shown(leaf));
    assert.deepEqual([answer.status, answer.body.error?.code], [403, 'CERTIFICATE_REQUIRED']);
    const dns = await constrained.issue({ cn: 'x', names: [{ type: 'dns', value: machine.client_id }] });
    assert.equal((await read(machine, await shown(dns))).status, 403, 'nor by a name outside of them');
  });

  test('does not pass by a common name where only an authority in between is constrained', async () => {
    const root = await testAuthority();
    const between = await root.issue({ cn: 'between', ...AUTHORITY, more: [forExampleCom()] });
    const machine = await connection(root);
    const leaf = await between.issue({ cn: machine.client_id });
    assert.equal((await read(machine, await shown(leaf, between))).status, 403);
    const plain = await root.issue({ cn: 'plain', ...AUTHORITY });
    const good = await plain.issue({ cn: machine.client_id });
    assert.equal((await read(machine, await shown(good, plain))).status, 200, 'unconstrained, the common name counts');
  });

  test('a certificate whose thumbprint is denied does not get the next request, on a connection that is open either', async () => {
    const root = await testAuthority();
    const machine = await connection(root);
    const [lost, other] = [await root.issue({ cn: machine.client_id }), await root.issue({ cn: machine.client_id })];
    const agent = tlsAgent(service, await shown(lost));
    assert.equal((await read(machine, await shown(lost), { agent })).status, 200);
    const changed = await ok(patch(machine, [thumbprint(lost)]));
    assert.deepEqual(changed.denied_thumbprints, [thumbprint(lost)]);
    assert.equal((await read(machine, await shown(lost), { agent })).status, 403);
    agent.destroy();
    assert.equal((await read(machine, await shown(other))).status, 200, 'others go on');
    await ok(patch(machine, []));
    assert.equal((await read(machine, await shown(lost))).status, 200);
  });

  test('denying an authority ends all it issued', async () => {
    const root = await testAuthority();
    const between = await root.issue({ cn: 'between', ...AUTHORITY });
    const machine = await connection(root);
    const leaf = await between.issue({ cn: machine.client_id });
    assert.equal((await read(machine, await shown(leaf, between))).status, 200);
    await ok(patch(machine, [thumbprint(between)]));
    assert.equal((await read(machine, await shown(leaf, between))).status, 403);
    assert.equal((await read(machine, await shown(await root.issue({ cn: machine.client_id })))).status, 200);
  });

  test('denying a certificate waits for nobody, and taking the denial back needs a second person', async () => {
    const production = await addVault(service, { environment: 'production' });
    const root = await testAuthority();
    const settings = { name: 'prod', vault: production, mtls_required: true, external_ca_pem: root.pem };
    const { body: made } = await service.call('POST', '/v1/app-connections', { body: settings });
    assert.ok(made.id !== undefined, 'the only admin needs no second one');
    await addPerson(service, { role: 'admin' });
    const url = `/v1/app-connections/${made.id}`;
    const denied = { body: { denied_thumbprints: ['0'.repeat(64)] } };
    assert.equal((await service.call('PATCH', url, denied)).status, 200);
    assert.equal((await service.call('PATCH', url, { body: { denied_thumbprints: [] } })).status, 202);
  });

  test('nobody else changes what is denied, and nothing but thumbprints is accepted', async () => {
    const machine = await connection(await testAuthority());
    const member = await addPerson(service);
    await refused(patch(machine, [], member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const { owner } = await addTenant(service);
    await refused(patch(machine, [], owner.token), 404, 'NOT_FOUND');
    const print = 'a'.repeat(64);
    for (const wrong of [['x'], [print.toUpperCase()], [`${print}0`], [print, print], Array(201).fill(print)]) {
      await refused(patch(machine, wrong), 422, 'VALIDATION_FAILED');
    }
  });
});
