import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { addTenant, ok, type Tenant } from '../support/people.ts';
import { DATABASES, type Service, startService } from '../support/service.ts';
import { addSecret, addVault } from '../support/vaults.ts';

const TENANTS = 6;
const IMPORTS = 24;
const ENTRIES = 1000;

if (DATABASES.includes('postgres'))
  describe('a small pool of connections to PostgreSQL', () => {
    let service: Service;
    let tenants: { tenant: Tenant; vault: string }[];
    before(async () => {
      service = await startService('postgres', { env: { CV_DATABASE_POOL: '4' } });
      tenants = [];
      for (let i = 0; i < TENANTS; i++) {
        const tenant = await addTenant(service);
        tenants.push({ tenant, vault: await addVault(service, {}, tenant.owner.token) });
      }
    });
    after(() => service.close());

    test('24 imports of 1,000 secrets fail no write beside them', async () => {
      let left = IMPORTS;
      const imports = Array.from({ length: IMPORTS }, async (_, i) => {
        const { tenant, vault } = tenants[i % TENANTS] as (typeof tenants)[number];
        const secrets = Object.fromEntries(
          Array.from({ length: ENTRIES }, (__, n) => [`import-${i}/${n}`, `value ${n}`]),
        );
        const { token } = tenant.owner;
        const answer = await service.call('POST', `/v1/vaults/${vault}/import`, { token, body: { secrets } });
        left--;
        return answer;
      });
      // Each tenant goes on writing to the vault that its own imports fill, and so does one who imports nothing.
      const quiet = await addTenant(service);
      const quietVault = await addVault(service, {}, quiet.owner.token);
      const writers = [...tenants, { tenant: quiet, vault: quietVault }].map(async ({ tenant, vault }) => {
        let written = 0;
        do {
          await addSecret(service, vault, `beside/${written++}`, {}, tenant.owner.token);
        } while (left > 0);
        return written;
      });
      const written = await Promise.all(writers);
      assert.ok(written.every((count) => count > 0));
      const answers = await Promise.all(imports);
      // On a slow machine imports wait so long for each other that some are refused, and say so. They changed nothing.
      for (const { status, text } of answers)
        assert.ok(status === 200 || /busy with bulk changes|too many bulk changes/.test(text), text);
      assert.ok(answers.some(({ status }) => status === 200));
      const text = await metricsText(service);
      for (const queue of ['changes', 'logins', 'reads', 'bulk_reads']) {
        assert.equal(seriesValue(text, `cv_database_waits_refused_total{queue="${queue}"}`), 0, queue);
      }
      assert.ok(Number(seriesValue(text, 'cv_database_wait_seconds_count{queue="bulk_changes"}')) > 0);
      assert.doesNotMatch(service.logs.join(''), /cannot be reached/);
      // What the alert for a full pool compares.
      const slots = Number(seriesValue(text, 'cv_database_slots{queue="changes"}'));
      assert.ok(slots > 0 && Number(seriesValue(text, 'cv_database_slots_in_use{queue="changes"}')) <= slots);
    });

    test('what waits too long says so, and not that the database cannot be reached', async () => {
      const { database } = service.app.kernel;
      const held = Promise.withResolvers<void>();
      const holding = tenants.map(({ tenant }) =>
        database.forTenant(tenant.id).transaction(async (tx) => {
          await tx.selectFrom('tenants').select('tenant_id').limit(1).execute();
          await held.promise;
        }),
      );
      const ended = Promise.allSettled(holding);
      const { tenant, vault } = tenants.at(-1) as (typeof tenants)[number];
      const body = { path: 'too-late', value: 'x' };
      const answer = await service.call('POST', `/v1/vaults/${vault}/secrets`, { token: tenant.owner.token, body });
      held.resolve();
      await ended;
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.headers.get('retry-after') !== null, true);
      assert.match(answer.body.error.message, /^The service is busy with changes/);
      const line = service.logs.find((one) => one.includes(String(answer.headers.get('x-request-id')))) ?? '';
      assert.match(line, /"what_to_do":"[^"]*CV_DATABASE_POOL/);
      assert.doesNotMatch(line, /cannot be reached/);
      const text = await metricsText(service);
      assert.ok(Number(seriesValue(text, 'cv_database_waits_refused_total{queue="changes"}')) > 0);
      await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { token: tenant.owner.token, body }), 201);
    });
  });
