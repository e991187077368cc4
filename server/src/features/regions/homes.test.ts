import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SignJWT } from 'jose';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { MINUTE_MS } from '../../kernel/platform/clock.ts';
import type { RegionConfig } from '../../kernel/platform/config.ts';
import { Contacts } from './contacts.ts';
import { type Operation, removalText, tagOf, valueText } from './crdt/operation.ts';
import { Directory } from './directory.ts';
import { Homes } from './homes.ts';
import { RegionIdentity } from './identity.ts';

const NAMES = ['ap', 'eu', 'us'];
const KID = 'kid_1';
const ISSUER = 'urn:us';

onBothDatabases('tokens of other regions', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-homes-'));
  const file = (name: string) => join(folder, name);
  const ofUs = generateKeyPairSync('ed25519');
  const identities = new Map<string, RegionIdentity>();
  let service: Service;
  let directory: Directory;
  let homes: Homes;
  let seq = 0;

  before(async () => {
    service = await startService(database);
    for (const name of NAMES) {
      const certificate = await testAuthority({ cn: name, isCa: false, keyUsage: null });
      writeFileSync(file(`${name}.pem`), certificate.pem);
      writeFileSync(file(`${name}.key`), await certificate.keyPem());
    }
    const configOf = (own: string): RegionConfig => ({
      name: own,
      urls: Object.fromEntries(NAMES.map((name) => [name, `https://${name}.example.com`])),
      peers: NAMES.filter((name) => name !== own).map((name) => ({ name, certFile: file(`${name}.pem`), syncUrl: '' })),
      certFile: file(`${own}.pem`),
      keyFile: file(`${own}.key`),
      leaseMs: 0,
    });
    for (const name of NAMES) identities.set(name, new RegionIdentity(configOf(name)));
    const { kernel } = service.app;
    const identity = identities.get('eu') as RegionIdentity;
    directory = new Directory({
      region: 'eu',
      database: kernel.database,
      clock: kernel.clock,
      identity,
      onConflict: () => {},
    });
    homes = new Homes(configOf('eu'), kernel, directory, new Contacts(configOf('eu'), kernel.time));
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  const signed = (origin: string, change: Partial<Operation>): Operation => {
    seq++;
    const own = { origin, seq, ms: service.clock.now(), counter: 0, kind: 'public_key' as const, key: KID };
    const plain = { ...own, tag: tagOf(own), isRemoved: false, value: '', ...change };
    return (identities.get(origin) as RegionIdentity).sign(plain);
  };
  const published = (origin: string, key: KeyObject, issuer = ISSUER) => {
    const jwk = JSON.stringify(key.export({ format: 'jwk' }));
    const verifies_until = service.clock.now() + 60 * MINUTE_MS;
    return signed(origin, { value: valueText('public_key', { issuer, jwk, verifies_until }) });
  };
  const token = (issuer = ISSUER) =>
    new SignJWT({ tid: 'tenant_1' })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid: KID })
      .setIssuer(issuer)
      .setSubject('user_1')
      .setJti('token_1')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(ofUs.privateKey);

  test('a region that publishes a key with the id of another one’s does not make that one useless', async () => {
    assert.equal(await homes.foreignToken(await token()), null, 'nobody published the key yet');
    await directory.merge([published('ap', generateKeyPairSync('ed25519').publicKey)]);
    const own = published('us', ofUs.publicKey);
    await directory.merge([own]);
    const expected = { tenantId: 'tenant_1', tokenId: 'token_1', subject: 'user_1' };
    assert.deepEqual(await homes.foreignToken(await token()), expected);
    assert.equal(await homes.foreignToken(await token('urn:other')), null);
    assert.equal(await homes.foreignToken('no.token'), null);
    const { tag } = own;
    const value = removalText(service.clock.now() + 60 * MINUTE_MS);
    await assert.rejects(directory.merge([signed('ap', { tag, isRemoved: true, value })]), /the region that added it/);
    assert.deepEqual(await homes.foreignToken(await token()), expected);
    await directory.merge([signed('us', { tag, isRemoved: true, value })]);
    assert.equal(await homes.foreignToken(await token()), null);
  });
});
