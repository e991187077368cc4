import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type TestCertificate, testAuthority } from '../../../../test/support/test-authority.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import { quorums } from './contacts.ts';
import { RegionIdentity } from './identity.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-identity-'));
after(() => rmSync(folder, { recursive: true }));

async function written(
  name: string,
  facts: object = {},
): Promise<{ certificate: TestCertificate; files: [string, string] }> {
  const certificate = await testAuthority({ cn: name, isCa: false, keyUsage: null, ...facts });
  const files: [string, string] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  writeFileSync(files[0], certificate.pem);
  writeFileSync(files[1], await certificate.keyPem());
  return { certificate, files };
}

const open = ([certFile, keyFile]: [string, string], peers: [string, string][]) =>
  new RegionIdentity({
    name: 'eu',
    urls: {},
    peers: peers.map(([name, file]) => ({ name, certFile: file, syncUrl: '' })),
    certFile,
    keyFile,
    leaseMs: 0,
  });

test('a region is known by the key of its certificate, and only while that is valid', async () => {
  const [eu, us, other] = [await written('eu'), await written('us'), await written('other')];
  const identity = open(eu.files, [['us', us.files[0]]]);
  const now = Date.now();
  assert.equal(identity.peerOf(us.certificate.peer(), 'eu', now), 'us');
  assert.equal(identity.peerOf(other.certificate.peer(), 'eu', now), null);
  assert.equal(identity.peerOf(eu.certificate.peer(), 'eu', now), null);
  assert.equal(identity.peerOf(null, 'eu', now), null);
  assert.equal(identity.peerOf({ der: new Uint8Array([1]), chain: [], thumbprint: '' }, 'eu', now), null);
  assert.equal(identity.peerOf(us.certificate.peer(), 'eu', now + 365 * DAY_MS), null);
  const renewed = await written('renewed', { keys: us.certificate.keys });
  assert.equal(identity.peerOf(renewed.certificate.peer(), 'eu', now), 'us');
  const issued = await us.certificate.issue({ cn: 'issued' });
  assert.equal(identity.peerOf(issued.peer(us.certificate), 'eu', now), null, 'nobody is known by who issued it');
});

test('a region may have two certificates while it replaces its key, also if they could issue others', async () => {
  for (const isCa of [false, true]) {
    const [eu, old, renewed] = [await written('eu'), await written('us', { isCa }), await written('us', { isCa })];
    const authority = await testAuthority({ cn: 'Shared CA' });
    const file = join(folder, `both-${isCa}.pem`);
    writeFileSync(file, [old, renewed].map(({ certificate }) => certificate.pem).join('\n') + authority.pem);
    const identity = open(eu.files, [['us', file]]);
    for (const { certificate } of [old, renewed])
      assert.equal(identity.peerOf(certificate.peer(), 'eu', Date.now()), 'us', `CA: ${isCa}`);
    assert.equal(identity.peerOf(authority.peer(), 'eu', Date.now()), null, 'an authority is nobody');
  }
});

test('files that cannot be used say which and why', async () => {
  const [eu, us] = [await written('a'), await written('b')];
  const wrong: [[string, string], [string, string][], RegExp][] = [
    [[join(folder, 'none.pem'), eu.files[1]], [], /none\.pem \(CV_REGION_CERT_FILE\) cannot be read/],
    [[eu.files[0], us.files[1]], [], /is not the key of the certificate/],
    [[eu.files[0], eu.files[0]], [], /must contain one private key/],
    [eu.files, [['us', us.files[1]]], /\(CV_REGION_PEERS\) must contain 1 to 16 certificates/],
    [eu.files, [['us', eu.files[0]]], /regions eu and us have the same certificate key/],
    [
      eu.files,
      [
        ['us', us.files[0]],
        ['ap', us.files[0]],
      ],
      /regions us and ap have the same/,
    ],
  ];
  for (const [own, peers, problem] of wrong) {
    assert.throws(
      () => open(own, peers),
      (error) => error instanceof StartError && problem.test(error.message),
    );
  }
});

test('a group that notes an epoch and one that a region relies on always share a region', () => {
  for (let regions = 1; regions <= 16; regions++) {
    const { toPromote, toServe } = quorums(regions);
    assert.ok(toPromote + toServe > regions && toPromote >= 1 && toServe <= regions);
    if (regions % 2 === 1) assert.ok(2 * toPromote > regions, 'two promotions cannot both succeed');
  }
});
