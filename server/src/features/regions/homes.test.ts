import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SignJWT } from 'jose';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { Contacts } from './contacts.ts';
import { type Operation, removalText, tagOf, valueText } from './crdt/operation.ts';
import { Directory } from './directory.ts';
import { Homes } from './homes.ts';
import { RegionIdentity } from './identity.ts';
import { RegionStatements } from './region-statements.ts';
import type { RegionConfig } from './settings.ts';

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

  const configOf = (own: string, peers = NAMES.filter((name) => name !== own)): RegionConfig => ({
    name: own,
    urls: Object.fromEntries(NAMES.map((name) => [name, `https://${name}.example.com`])),
    peers: peers.map((name) => ({ name, certFile: file(`${name}.pem`), syncUrl: '' })),
    certFile: file(`${own}.pem`),
    keyFile: file(`${own}.key`),
    leaseMs: 0,
  });

  before(async () => {
    service = await startService(database);
    for (const name of NAMES) {
      const certificate = await testAuthority({ cn: name, isCa: false, keyUsage: null });
      writeFileSync(file(`${name}.pem`), certificate.pem);
      writeFileSync(file(`${name}.key`), await certificate.keyPem());
    }
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
    const statements = new RegionStatements('eu', identity, () => kernel.operatorTenantId);
    const contacts = new Contacts(configOf('eu'), kernel.time);
    homes = new Homes({ config: configOf('eu'), kernel, directory, contacts, statements });
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
  const token = (issuer = ISSUER, by = ofUs.privateKey) =>
    new SignJWT({ tid: 'tenant_1' })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid: KID })
      .setIssuer(issuer)
      .setSubject('user_1')
      .setJti('token_1')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(by);

  test('a region that publishes a key with the id of another one’s does not make that one useless', async () => {
    assert.equal(await homes.foreignToken(await token()), null, 'nobody published the key yet');
    await directory.merge([published('ap', generateKeyPairSync('ed25519').publicKey)]);
    const own = published('us', ofUs.publicKey);
    await directory.merge([own]);
    assert.equal(await homes.foreignToken(await token()), null, 'us is not the primary region of the tenant');
    const value = valueText('primary', { epoch: 1, previous: null });
    await directory.merge([signed('us', { kind: 'primary', key: 'tenant_1', tag: '', value })]);
    const expected = { tenantId: 'tenant_1', tokenId: 'token_1', subject: 'user_1' };
    assert.deepEqual(await homes.foreignToken(await token()), expected);
    assert.equal(await homes.foreignToken(await token('urn:other')), null);
    assert.equal(await homes.foreignToken('no.token'), null);
    const { tag } = own;
    const removal = removalText(service.clock.now() + 60 * MINUTE_MS);
    await assert.rejects(
      directory.merge([signed('ap', { tag, isRemoved: true, value: removal })]),
      /the region that added it/,
    );
    assert.deepEqual(await homes.foreignToken(await token()), expected);
    await directory.merge([signed('us', { tag, isRemoved: true, value: removal })]);
    assert.equal(await homes.foreignToken(await token()), null);
  });

  test('a region has no say about tenants of others, be it by tokens or by what it revokes', async () => {
    const ofAp = generateKeyPairSync('ed25519');
    await directory.merge([published('ap', ofAp.publicKey), published('us', ofUs.publicKey)]);
    assert.equal(await homes.foreignToken(await token(ISSUER, ofAp.privateKey)), null);
    const revoked = (origin: string, tenant_id: string, key = 'token_1') =>
      signed(origin, {
        kind: 'revoked_token',
        key,
        tag: '',
        value: valueText('revoked_token', { tenant_id, expires_at: service.clock.now() + MINUTE_MS }),
      });
    const { operatorTenantId } = service.app.kernel;
    const primary = valueText('primary', { epoch: 1, previous: null });
    await directory.merge([
      signed('ap', { kind: 'primary', key: 'tenant_ap', tag: '', value: primary }),
      revoked('ap', 'tenant_1'),
      revoked('ap', 'tenant_ap'),
      revoked('ap', operatorTenantId, 'token_2'),
      revoked('us', operatorTenantId, 'token_2'),
      revoked('us', 'tenant_older', 'token_3'),
    ]);
    assert.equal(await homes.isRevoked('token_1', 'tenant_1'), false, 'whatever tenant it names');
    assert.notEqual(await homes.foreignToken(await token()), null);
    assert.equal(await homes.isRevoked('token_2', operatorTenantId), false, 'the operator belongs to each region');
    assert.equal(await homes.isRevoked('token_3', 'tenant_older'), false, 'a tenant without a region too');
    await directory.merge([revoked('us', 'tenant_1'), revoked('ap', 'tenant_ap')]);
    assert.equal(await homes.isRevoked('token_1', 'tenant_1'), true, 'and ap cannot take it back');
    assert.equal(await homes.isRevoked('token_1', 'tenant_2'), false);
  });

  test('what a former primary region said counts on, also after two more, until it is expelled', async () => {
    const { database, operatorTenantId } = service.app.kernel;
    const promoted = (origin: string, epoch: number, previous: string | null) =>
      signed(origin, { kind: 'primary', key: 'tenant_m', tag: '', value: valueText('primary', { epoch, previous }) });
    const expires_at = service.clock.now() + MINUTE_MS;
    const value = valueText('revoked_token', { tenant_id: 'tenant_m', expires_at });
    for (const [origin, epoch, previous] of [
      ['us', 1, null],
      ['ap', 2, 'us'],
      ['eu', 3, 'ap'],
      ['ap', 4, 'eu'],
    ] as const)
      await directory.merge([promoted(origin, epoch, previous)]);
    for (const key of ['us', 'ap', 'eu'])
      await directory.merge([signed(key, { kind: 'revoked_token', key: `token_${key}`, tag: '', value })]);
    const isRevoked = (statements: RegionStatements, key: string) =>
      statements.isRevoked(database.read, `token_${key}`, 'tenant_m');
    const open = (peers: string[]) =>
      new RegionStatements('eu', new RegionIdentity(configOf('eu', peers)), () => operatorTenantId);
    const [all, withoutAp] = [open(['us', 'ap']), open(['us'])];
    for (const key of ['us', 'ap', 'eu']) assert.equal(await isRevoked(all, key), true, key);
    for (const key of ['us', 'eu']) assert.equal(await isRevoked(withoutAp, key), true, key);
    assert.equal(await isRevoked(withoutAp, 'ap'), false, 'nobody else vouches for it');
  });
});
