import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { Contacts } from './contacts.ts';
import type { Vector } from './crdt/vector.ts';
import { Directory } from './directory.ts';
import type { Exchange } from './exchange.ts';
import { RegionIdentity } from './identity.ts';
import type { Promotions } from './promotions.ts';
import type { Publication } from './publication.ts';
import type { RegionConfig } from './settings.ts';
import { Synchronization } from './synchronization.ts';

const NAMES = ['eu', 'us'];
const LEASE_MS = 600_000;
/** More than a round pulls, with one operation in a page. */
const TENANTS = 150;

onBothDatabases('pulling from a region', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-synchronization-'));
  const services = new Map<string, Service>();
  const directories = new Map<string, Directory>();
  let contacts: Contacts;
  let synchronization: Synchronization;
  /** How many operations a page has. */
  let limit = 1;
  /** Whether us reports another digest than its directory has. */
  let isForged = false;
  let pulledFromBeginning = 0;

  const service = (name: string) => services.get(name) as Service;
  const directory = (name: string) => directories.get(name) as Directory;
  const configOf = (own: string): RegionConfig => ({
    name: own,
    urls: {},
    peers: NAMES.filter((name) => name !== own).map((name) => ({
      name,
      certFile: join(folder, `${name}.pem`),
      syncUrl: '',
    })),
    certFile: join(folder, `${own}.pem`),
    keyFile: join(folder, `${own}.key`),
    leaseMs: LEASE_MS,
  });

  before(async () => {
    for (const name of NAMES) {
      const certificate = await testAuthority({ cn: name, isCa: false, keyUsage: null });
      writeFileSync(join(folder, `${name}.pem`), certificate.pem);
      writeFileSync(join(folder, `${name}.key`), await certificate.keyPem());
    }
    for (const name of NAMES) {
      services.set(name, await startService(database));
      const { database: rows, clock } = service(name).app.kernel;
      const identity = new RegionIdentity(configOf(name));
      directories.set(name, new Directory({ region: name, database: rows, clock, identity, onConflict: () => {} }));
    }
    const { kernel } = service('eu').app;
    contacts = new Contacts(configOf('eu'), kernel.time);
    // The directory of us without the network between them, in pages of any size.
    const exchange = {
      pull: async (_: object, known: Vector, digestAt: number | null) => {
        const { operations, vector, isComplete, pushed } = await directory('us').delta(known, limit);
        if (known.size === 0) pulledFromBeginning++;
        const own = digestAt === null ? null : await directory('us').digest(digestAt);
        const digest = own !== null && isForged ? own.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) : own;
        return { region: 'us', operations, vector, complete: isComplete, pushed, lease_ms: LEASE_MS, digest };
      },
    } as unknown as Exchange;
    const idle = { promotions: { advance: async () => {} } as Promotions, publication: { publish: async () => {} } };
    synchronization = new Synchronization({
      kernel,
      config: configOf('eu'),
      directory: directory('eu'),
      contacts,
      exchange,
      promotions: idle.promotions,
      publication: idle.publication as unknown as Publication,
    });
    await service('us').app.kernel.database.transaction(async (tx) => {
      for (let n = 0; n < TENANTS; n++)
        await directory('us').write(tx, { kind: 'tenant', key: `tenant_${n}`, value: { name: `name ${n}` } });
    });
  });
  after(async () => {
    for (const one of services.values()) await one.close();
    rmSync(folder, { recursive: true });
  });

  const count = async () => {
    const { operations } = await directory('eu').delta(new Map(), 1000);
    return operations.filter(({ kind }) => kind === 'tenant').length;
  };

  test('a pull that ended incomplete is no contact', async () => {
    await synchronization.round();
    const pulled = await count();
    assert.ok(pulled > 0 && pulled < TENANTS);
    assert.equal(contacts.isReachable('us'), true);
    assert.equal(contacts.hasLease(), false);
    await synchronization.round();
    assert.equal(await count(), TENANTS);
    assert.equal(contacts.hasLease(), true);
  });

  test('what differs is found by the digest, and all of it is merged again', async () => {
    limit = 200;
    const { database: rows } = service('eu').app.kernel;
    await rows.transaction(async (tx) => {
      await sql`delete from region_cells where cell_key in ('tenant_1', 'tenant_2')`.execute(tx);
    });
    for (let minute = 0; minute < 2; minute++) {
      service('eu').clock.advance(MINUTE_MS);
      service('us').clock.advance(MINUTE_MS);
      await synchronization.round();
      assert.equal(await count(), TENANTS - 2, 'something may be on its way');
      assert.equal(contacts.differences('us'), minute + 1);
    }
    service('eu').clock.advance(MINUTE_MS);
    service('us').clock.advance(MINUTE_MS);
    await synchronization.round();
    assert.equal(await count(), TENANTS);
    assert.equal(contacts.differences('us'), 0);
  });

  test('a directory that stays different after that is said to be, and merged again later', async () => {
    service('eu').expectErrorLogs(/stays different/);
    let merges = 0;
    isForged = true;
    for (let minute = 1; minute <= 18; minute++) {
      service('eu').clock.advance(MINUTE_MS);
      service('us').clock.advance(MINUTE_MS);
      pulledFromBeginning = 0;
      await synchronization.round();
      assert.equal(contacts.differences('us'), minute);
      if (pulledFromBeginning > 0) merges++;
    }
    assert.equal(merges, 2);
    assert.equal(service('eu').logs.filter((line) => line.includes('stays different')).length, 2);
    isForged = false;
    service('eu').clock.advance(MINUTE_MS);
    service('us').clock.advance(MINUTE_MS);
    await synchronization.round();
    assert.equal(contacts.differences('us'), 0);
  });
});
