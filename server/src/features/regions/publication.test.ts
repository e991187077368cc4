import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { Directory } from './directory.ts';
import { putPromotion } from './directory-store.ts';
import { RegionIdentity } from './identity.ts';
import { Publication } from './publication.ts';
import { RegionStatements } from './region-statements.ts';
import { publishedHead, replicaOf } from './replica.ts';
import type { RegionConfig } from './settings.ts';

const TENANTS = 250;

onBothDatabases('what a region publishes', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-publication-'));
  const tenants = Array.from({ length: TENANTS }, (_, n) => `tenant_${String(n).padStart(4, '0')}`);
  let service: Service;
  let eu: Directory;
  let publication: Publication;
  let statements: RegionStatements;

  before(async () => {
    service = await startService(database);
    const certificate = await testAuthority({ cn: 'eu', isCa: false, keyUsage: null });
    const [certFile, keyFile] = [join(folder, 'eu.pem'), join(folder, 'eu.key')];
    writeFileSync(certFile, certificate.pem);
    writeFileSync(keyFile, await certificate.keyPem());
    const config: RegionConfig = { name: 'eu', urls: {}, peers: [], certFile, keyFile, leaseMs: 0 };
    const { kernel } = service.app;
    const { database: rows, clock } = kernel;
    const identity = new RegionIdentity(config);
    eu = new Directory({ region: 'eu', database: rows, clock, identity, onConflict: () => {} });
    publication = new Publication(kernel, config, eu);
    statements = new RegionStatements('eu', identity, () => kernel.operatorTenantId);
    for (const key of tenants) await take(key, 0);
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  /** The tenant belongs to eu, and its log has come so far. */
  const take = async (key: string, active_at: number | null) =>
    service.app.kernel.database.transaction(async (tx) => {
      await eu.write(tx, { kind: 'primary', key, value: { epoch: 1, previous: null } });
      const promotion = { epoch: 1, previous: null, reason: 'x', replica: null, begun_at: 0, noted_by: '{}' };
      await putPromotion(tx, { promoted_id: key, ...promotion, noted_at: 0, active_at });
      const head = { seq: 1, hash: Buffer.alloc(32), mac: Buffer.alloc(32), key_version: 1 };
      await tx
        .insertInto('audit_heads')
        .values({ tenant_id: key, ...head })
        .execute();
    });
  const move = async (keys: readonly string[]) => {
    await service.app.kernel.database.transaction(async (tx) => {
      const moved = tx.updateTable('audit_heads').set((eb) => ({ seq: eb('seq', '+', 1) }));
      await moved.where('tenant_id', 'in', [...keys]).execute();
    });
  };
  const headOf = (key: string, region = 'eu') =>
    publishedHead(statements, service.app.kernel.database.read, key, region);
  const isPublished = async (key: string) => (await eu.cell(service.app.kernel.database.read, 'head', key)) !== null;

  test('tenants whose logs keep moving do not keep others from their turn', async () => {
    const last = tenants.at(-1) ?? '';
    await publication.publish();
    assert.equal(await isPublished(tenants[0] ?? ''), true);
    assert.equal(await isPublished(last), false, 'not all at once');
    assert.equal(await headOf(tenants[0] ?? ''), null, 'nothing is known before all had their turn');
    const unknown = await replicaOf(service.app.kernel.database.read, last, await headOf(last));
    assert.equal(unknown?.missing_entries, null);
    await move(tenants.slice(0, 200));
    await publication.publish();
    assert.equal(await isPublished(last), true);
    await publication.publish();
    await publication.publish();
    assert.equal((await headOf(last))?.seq, 1);
    assert.equal((await headOf(tenants[0] ?? ''))?.seq, 2);
  });

  test('what is known is known as of the last time that all had their turn', async () => {
    const before = (await headOf(tenants[0] ?? ''))?.at ?? 0;
    service.clock.advance(60_000);
    await publication.publish();
    assert.ok(((await headOf(tenants[0] ?? ''))?.at ?? 0) >= before + 60_000, 'although nothing has moved');
  });

  test('a head of another region, or of a tenant that is not served here yet, says nothing', async () => {
    assert.equal(await headOf(tenants[0] ?? '', 'us'), null);
    await take('tenant_starting', null);
    await publication.publish();
    assert.equal(await isPublished('tenant_starting'), false);
  });
});
