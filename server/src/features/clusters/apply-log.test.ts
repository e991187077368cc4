import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addCluster, addClusterPolicy, clusterWithSecret, reportStatus, sync } from '../../../../test/support/fleet.ts';
import { ok, refused } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { runPurges, secretUrl } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

const put = (service: Service, vault: string, path: string, value: string) =>
  ok(service.call('PUT', secretUrl(vault, path), { body: { value } }));

onBothDatabases('the status of a cluster', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('is stored in the apply log, and a repeat of it is not', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    await ok(addClusterPolicy(service, cluster, { secret_name: 'db', vault, prefix: 'db' }), 201);
    await ok(sync(service, cluster));
    const results = [
      { namespace: 'shop', secret_name: 'db', state: 'failed', message: 'namespace not found' },
      { namespace: 'shop', secret_name: 'old', state: 'pruned' },
      { namespace: 'shop', secret_name: 'same', state: 'unchanged' },
    ];
    for (let i = 0; i < 3; i++) await ok(reportStatus(service, cluster, { generation: 1, results }));
    const log = await ok(service.call('GET', `/clusters/${cluster.id}/audit`));
    assert.deepEqual(
      log.entries.map(({ kind, generation }: { kind: string; generation: number }) => [kind, generation]),
      [
        ['reported', 1],
        ['delivered', 1],
      ],
    );
    assert.deepEqual(log.entries[0].results, results.slice(0, 2));
    const read = await ok(service.call('GET', `/clusters/${cluster.id}`));
    assert.deepEqual([read.applied_generation, read.failed], [1, 1]);
    await put(service, vault, 'db/password', 'next');
    await ok(sync(service, cluster));
    await ok(reportStatus(service, cluster, { generation: 2, results: [] }));
    await ok(reportStatus(service, cluster, { generation: 1, results }));
    const later = await ok(service.call('GET', `/clusters/${cluster.id}`));
    assert.deepEqual([later.applied_generation, later.failed], [2, 0], 'a late report changes nothing');
    service.clock.advance(100 * DAY_MS);
    await runPurges(service);
    assert.deepEqual((await ok(service.call('GET', `/clusters/${cluster.id}/audit`))).entries, []);
  });

  rule('malformed, too large or of the future, it is refused', async () => {
    const cluster = await addCluster(service);
    const result = { namespace: 'shop', secret_name: 'db', state: 'failed' };
    for (const wrong of [
      { generation: 1, results: [] },
      { generation: -1, results: [] },
      { generation: 0, results: [{ ...result, state: 'exploded' }] },
      { generation: 0, results: [{ ...result, message: 'a\nb' }] },
      { generation: 0, results: [{ ...result, message: 'x'.repeat(513) }] },
      { generation: 0, results: Array.from({ length: 3001 }, () => result) },
    ]) {
      await refused(reportStatus(service, cluster, wrong), 422, 'VALIDATION_FAILED');
    }
    const large = { generation: 0, results: [{ ...result, message: 'x'.repeat(3_000_000) }] };
    await refused(reportStatus(service, cluster, large), 413, 'PAYLOAD_TOO_LARGE');
  });
});
