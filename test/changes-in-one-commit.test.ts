import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { systemEntry } from '../server/src/kernel/audit/entry/system-entry.ts';
import { addTenant, ok } from './support/people.ts';
import { type Service, startService } from './support/service.ts';
import { auditOf } from './support/vaults.ts';

const CHANGES = 24;
const ACTION = 'test:change';

describe('changes that share a commit on SQLite', () => {
  let service: Service;
  before(async () => {
    service = await startService('sqlite');
  });
  after(() => service.close());

  /** Transactions that begin in the same turn of the event loop are committed together. */
  async function change(tenantIds: readonly string[], isRefused: (i: number) => boolean) {
    const { audit, database } = service.app.kernel;
    const keys = await Promise.all(tenantIds.map((tenantId) => audit.headKey(tenantId)));
    const changes = Array.from({ length: CHANGES }, (_, i) =>
      database.transaction(async (tx) => {
        const at = i % tenantIds.length;
        const [tenantId, headKey] = [tenantIds[at], keys[at]];
        assert.ok(tenantId !== undefined && headKey !== undefined);
        const facts = { actorId: 'operator', action: ACTION, status: 200, details: {} } as const;
        const entry = systemEntry({ tenantId, now: service.clock.now(), resource: `change/${i}`, ...facts });
        await audit.recordIn(tx, [entry], headKey);
        if (isRefused(i)) throw new Error('refused');
      }),
    );
    return (await Promise.allSettled(changes)).map(({ status }) => status);
  }

  const recorded = async (token = service.adminToken) =>
    (await auditOf(service, `action=${ACTION}`, token)).map(({ resource }) => String(resource)).toReversed();
  const segments = (tenantId: string) => {
    const database = new DatabaseSync(join(service.dataDir, 'coffer.db'), { readOnly: true });
    const sql = 'select count(*) as count from audit_segments where tenant_id = ? and entries like ?';
    const row = database.prepare(sql).get(tenantId, `%${ACTION}%`);
    database.close();
    return row?.['count'];
  };

  test('are recorded together for each tenant, in their order, without those that failed', async () => {
    const own = (await ok(service.call('GET', '/auth/me'))).tenant.id as string;
    const other = await addTenant(service);
    const outcomes = await change([own, other.id], (i) => i % 3 === 0);
    const succeeded = outcomes.flatMap((outcome, i) => (outcome === 'fulfilled' ? [i] : []));
    assert.deepEqual(
      succeeded,
      Array.from({ length: CHANGES }, (_, i) => i).filter((i) => i % 3 !== 0),
    );
    const named = (rest: number) => succeeded.filter((i) => i % 2 === rest).map((i) => `change/${i}`);
    assert.deepEqual([await recorded(), await recorded(other.owner.token)], [named(0), named(1)]);
    assert.deepEqual([segments(own), segments(other.id)], [1, 1]);
    for (const token of [service.adminToken, other.owner.token]) {
      assert.equal((await ok(service.call('GET', '/v1/audit/verify', { token }))).valid, true);
    }
  });

  test('leave no entry if all of them fail', async () => {
    const own = (await ok(service.call('GET', '/auth/me'))).tenant.id as string;
    const before = await recorded();
    assert.deepEqual(new Set(await change([own], () => true)), new Set(['rejected']));
    assert.deepEqual(await recorded(), before);
    assert.equal((await ok(service.call('GET', '/v1/audit/verify'))).valid, true);
  });
});
