import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { anomaliesOf, scanned } from '../../../../test/support/anomalies.ts';
import { addTenant, ok, type Tenant } from '../../../../test/support/people.ts';
import { queriesDuring } from '../../../../test/support/queries.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addVault } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { DATABASE_FILE } from '../../start/open-storage.ts';

const STALE = 100;
/** A transaction stores 20 findings. */
const TRANSACTIONS = STALE / 20;

onBothDatabases('a scan that finds much', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    const secrets = Object.fromEntries(Array.from({ length: STALE }, (_, i) => [`s/${i}`, `value ${i}`]));
    await ok(service.call('POST', `/v1/vaults/${vault}/import`, { token, body: { secrets } }));
    service.clock.advance(91 * DAY_MS);
  });
  after(() => service.close());

  for (const time of ['the first time', 'again']) {
    test(`costs the same for each finding, ${time}`, async () => {
      const { queries } = await queriesDuring(() => scanned(service, tenant.owner.token));
      const found = await anomaliesOf(service, tenant.owner.token, 'type=stale_rotation');
      assert.deepEqual([found.length, found[0].occurrences], [STALE, time === 'again' ? 2 : 1]);
      const subscriptions = queries.filter((query) => /from "webhooks" where .*"enabled" = /.test(query));
      assert.ok(subscriptions.length <= TRANSACTIONS, `subscriptions are loaded ${subscriptions.length} times`);
      if (database === 'sqlite') assertByIndex(queries.filter((query) => /"anomalies"/.test(query)));
    });
  }

  /** No statement reads all anomalies of the tenant, which a scan does not know the number of. */
  function assertByIndex(queries: readonly string[]): void {
    const file = new DatabaseSync(join(service.dataDir, DATABASE_FILE), { readOnly: true });
    try {
      const statements = new Set(queries.filter((query) => /^(?:select|update|delete)/.test(query)));
      assert.ok(statements.size > 0);
      for (const statement of statements) {
        const plan = file.prepare(`explain query plan ${statement}`).all();
        const steps = plan.map(({ detail }) => String(detail)).join('; ');
        assert.doesNotMatch(
          steps,
          /SCAN anomalies|SEARCH anomalies USING PRIMARY KEY \(tenant_id=\?\)/,
          `${statement}: ${steps}`,
        );
      }
    } finally {
      file.close();
    }
  }
});
