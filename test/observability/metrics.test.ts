import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { loadConfig } from '../../server/src/assembly/settings.ts';
import { DAY_MS, SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { backup } from '../../server/src/operator/backup.ts';
import { metricNames, metricsText, seriesValue } from '../support/metric-lines.ts';
import { addColleague, addTenant, addToken, ok, uniqueName } from '../support/people.ts';
import { newMigratedDatabase } from '../support/postgres.ts';
import { findPromtool } from '../support/promtool.ts';
import { sendRaw } from '../support/raw-http.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** As a job of a cluster has it: the key of the installation, and nothing that a node left. */
function dataFolderWithKeyOf({ dataDir }: Service, folder: string): string {
  copyFileSync(join(dataDir, 'root.key'), join(folder, 'root.key'));
  return folder;
}

onBothDatabases('metrics', (database) => {
  let service: Service;
  let databaseUrl: string | undefined;
  before(async () => {
    databaseUrl = database === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await startService(database, databaseUrl === undefined ? {} : { databaseUrl });
  });
  after(() => service.close());

  const value = async (series: string) => seriesValue(await metricsText(service), series);
  const seconds = () => service.clock.now() / SECOND_MS;

  test('promtool finds nothing to say about them', async (t) => {
    const promtool = await findPromtool();
    if ('missing' in promtool) return t.skip(promtool.missing);
    // Metrics with labels appear with their first value.
    await sendRaw(service.url, 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const { code, output } = await promtool(['check', 'metrics'], await metricsText(service));
    assert.deepEqual([code, output.replaceAll(/^npm.*$/gm, '')], [0, '']);
  });

  test('the build, and what a node knows of its own certificate, authority, token and clock', async () => {
    const { version, commit } = service.app.kernel;
    const schema = service.app.schemaVersion;
    const series = `coffer_build_info{version="${version}",commit="${commit}",schema="${schema}",node="${process.version}"}`;
    assert.equal(await value(series), 1);
    const certificate = await value('cv_tls_certificate_expiry_timestamp_seconds');
    assert.ok(Number(certificate) > seconds(), String(certificate));
    await ok(service.call('GET', '/pki/root.pem', { token: null }));
    const root = await value('cv_authority_expiry_timestamp_seconds{authority="root"}');
    assert.ok(Number(root) > seconds() + (9 * 365 * DAY_MS) / SECOND_MS, String(root));
    assert.ok(Math.abs(Number(await value('cv_clock_offset_seconds'))) < 60);
    const expires_at = new Date(service.clock.now() + DAY_MS).toISOString();
    const token = await addToken(service, service.adminToken, { ttl_days: 1 });
    assert.ok(Math.abs(Date.parse(token.expires_at) - Date.parse(expires_at)) < 60 * SECOND_MS);
    assert.equal(await value('cv_operator_token_expiry_timestamp_seconds'), Date.parse(token.expires_at) / SECOND_MS);
    await ok(service.call('DELETE', `/auth/tokens/${token.id}`));
    assert.notEqual(
      await value('cv_operator_token_expiry_timestamp_seconds'),
      Date.parse(token.expires_at) / SECOND_MS,
      'a revoked token need not be renewed',
    );
  });

  test('what has not happened yet is zero, not missing', async () => {
    assert.equal(await value('cv_ready'), 1);
    assert.equal(await value('cv_anomalies_detected_total{type="backend_drift",severity="critical"}'), 0);
    assert.equal(await value('cv_anomaly_scheduler_duration_seconds_count'), 0);
    assert.ok((await metricsText(service)).includes('# TYPE cv_webhook_attempts_total counter'));
  });

  test('a verification leaves its time and its result', async () => {
    assert.equal(await value('cv_audit_last_verification_timestamp_seconds'), 0);
    const valid = 'cv_audit_verifications_total{result="valid"}';
    assert.equal(await value(valid), 0);
    await ok(service.call('GET', '/v1/audit/verify'));
    assert.equal(await value(valid), 1);
    assert.ok(Math.abs(Number(await value('cv_audit_last_verification_timestamp_seconds')) - seconds()) < 60);
    // A log whose entries somebody changed.
    const tenant = await addTenant(service);
    await service.app.kernel.audit.link();
    await service.app.kernel.database.transaction(async (tx) => {
      await tx.updateTable('audit_heads').set({ seq: 99 }).where('tenant_id', '=', tenant.id).execute();
    });
    service.expectErrorLogs(/audit log/);
    await ok(service.call('GET', '/v1/audit/verify', { token: tenant.owner.token }));
    assert.equal(await value('cv_audit_verifications_total{result="invalid"}'), 1);
    assert.equal(await value(valid), 1);
  });

  test('audit entries that were written and linked', async () => {
    assert.ok(Number(await value('cv_audit_write_duration_seconds_count')) > 0);
    assert.equal(await value('cv_audit_entries_waiting'), 0);
    await until('everything is linked', async () => Number(await value('cv_audit_link_lag_seconds')) < 5);
  });

  test('a change that waits for an approval, and one that was decided', async () => {
    const tenant = await addTenant(service);
    const member = await addColleague(service, tenant.id, 'member');
    await addColleague(service, tenant.id, 'admin');
    const name = uniqueName('policy');
    const document = {
      version: '2026-01-01',
      statement: [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }],
    };
    const { token } = tenant.owner;
    await ok(service.call('POST', '/v1/policies', { token, body: { name, document } }), 201);
    const before = Number(await value('cv_approvals_waiting'));
    const body = { principal: { user: member.email } };
    const { approval_id } = await ok(service.call('POST', `/v1/policies/${name}/attach`, { token, body }), 202);
    assert.equal(await value('cv_approvals_waiting'), before + 1);
    await ok(service.call('POST', `/v1/approvals/${approval_id}/reject`, { token, body: {} }));
    assert.equal(await value('cv_approvals_waiting'), before);
  });

  test('the last backup, with PostgreSQL whichever data folder made it', async (t) => {
    assert.equal(await value('cv_last_backup_timestamp_seconds'), 0);
    const elsewhere = mkdtempSync(join(tmpdir(), 'coffer-backup-'));
    t.after(() => rmSync(elsewhere, { recursive: true }));
    const backupTo = (name: string, query = '') => {
      const env =
        databaseUrl === undefined
          ? { CV_DATA_DIR: service.dataDir }
          : { CV_DATA_DIR: dataFolderWithKeyOf(service, elsewhere), CV_DATABASE_URL: `${databaseUrl}${query}` };
      return backup(loadConfig(env), join(elsewhere, name));
    };
    if (databaseUrl !== undefined) {
      const said = await backupTo('of-a-standby.backup', '?options=-c%20default_transaction_read_only%3Don');
      assert.match(said, /Its time could not be recorded in the database \(25006\)/);
      assert.equal(await value('cv_last_backup_timestamp_seconds'), 0);
    }
    assert.doesNotMatch(await backupTo('first.backup'), /could not be recorded/);
    assert.ok(Math.abs(Number(await value('cv_last_backup_timestamp_seconds')) - Date.now() / SECOND_MS) < 60);
  });

  test('connections, requests in flight, and refusals before routing', async () => {
    // The request that reads them is one.
    assert.equal(await value('cv_http_requests_in_flight'), 1);
    const open = Number(await value('cv_http_connections'));
    const idle = connect(Number(new URL(service.url).port), '127.0.0.1');
    await until('the connection is counted', async () => Number(await value('cv_http_connections')) > open);
    idle.destroy();
    await until('the connection is no longer counted', async () => Number(await value('cv_http_connections')) <= open);
    const refusals: Record<string, string> = {
      malformed: 'NOT HTTP AT ALL\r\n\r\n',
      headers_too_large: `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
      host: 'GET /health HTTP/1.1\r\n\r\n',
      path: 'GET /v1/users/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n',
      unknown_host: 'GET /nowhere HTTP/1.1\r\nHost: evil.example\r\n\r\n',
      unknown_route: 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n',
      method: 'DELETE /health HTTP/1.1\r\nHost: localhost\r\n\r\n',
      expectation: 'GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: something\r\n\r\n',
    };
    for (const [reason, bytes] of Object.entries(refusals)) {
      const series = `cv_http_refused_before_routing_total{reason="${reason}"}`;
      const before = (await value(series)) ?? 0;
      await sendRaw(service.url, bytes);
      assert.equal(await value(series), before + 1, reason);
    }
    const options = await sendRaw(service.url, 'OPTIONS /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal(options.status, 204);
    assert.equal(await value('cv_http_refused_before_routing_total{reason="method"}'), 1, 'a preflight is no refusal');
  });

  test('what waits for the database', async () => {
    const text = await metricsText(service);
    const queues = database === 'sqlite' ? ['changes', 'bulk_changes'] : ['reads', 'bulk_reads', 'logins', 'changes'];
    for (const queue of queues) {
      assert.ok(Number(seriesValue(text, `cv_database_slots{queue="${queue}"}`)) > 0, queue);
      for (const name of ['cv_database_slots_in_use', 'cv_database_waiting', 'cv_database_waits_refused_total']) {
        assert.notEqual(seriesValue(text, `${name}{queue="${queue}"}`), undefined, name);
      }
    }
    const waited = 'cv_database_wait_seconds_count{queue="changes"}';
    const before = Number(await value(waited));
    // More changes at a time than there are slots.
    const changes = Array.from({ length: 20 }, () =>
      service.app.kernel.database.forTenant('tenant_x').transaction(async (tx) => {
        await tx.selectFrom('tenants').select('tenant_id').execute();
      }),
    );
    await Promise.all(changes);
    assert.ok(Number(await value(waited)) > before);
  });

  if (database === 'postgres') {
    test('a lock on one table hides only what is queried from it', async () => {
      assert.ok(databaseUrl !== undefined);
      const holder = new Client(databaseUrl);
      await holder.connect();
      try {
        await holder.query('begin');
        await holder.query('lock table anomalies in access exclusive mode');
        const text = await metricsText(service);
        assert.equal(seriesValue(text, 'cv_anomalies_open'), undefined);
        assert.equal(seriesValue(text, 'cv_metrics_missing{metric="cv_anomalies_open"}'), 1);
        assert.notEqual(seriesValue(text, 'cv_approvals_waiting'), undefined);
        assert.ok(Number(seriesValue(text, 'cv_process_cpu_seconds_total')) > 0);
      } finally {
        await holder.end();
      }
      await until('the number is back', async () => (await value('cv_anomalies_open')) !== undefined);
      assert.equal(await value('cv_metrics_missing{metric="cv_anomalies_open"}'), undefined);
    });
  }

  test('names no tenant, no person and no secret', async () => {
    const tenant = await addTenant(service);
    const text = await metricsText(service);
    for (const name of [tenant.id, tenant.owner.email, service.adminToken]) assert.ok(!text.includes(name));
    assert.ok(metricNames(text).every((name) => /^(?:cv|coffer)_/.test(name)));
  });
});
