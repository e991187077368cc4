import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { METRICS_TOKEN } from '../../../../test/support/metrics-token.ts';
import { ok } from '../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../test/support/postgres.ts';
import { DatabaseProxy } from '../../../../test/support/proxy.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { loadConfig } from '../../assembly/settings.ts';
import { ConfigError } from '../../settings/config.ts';

const ENV = { CV_METRICS_TOKEN: METRICS_TOKEN };

onSqliteAtLanding('the token of CV_METRICS_TOKEN', (kind) => {
  let service: Service;
  before(async () => {
    service = await startService(kind, { env: ENV });
  });
  after(() => service.close());

  test('reads metrics, opens nothing else, and a scrape leaves no audit entry', async () => {
    const scraped = await service.call('GET', '/metrics', { token: METRICS_TOKEN });
    assert.equal(scraped.status, 200);
    assert.match(scraped.text, /^cv_ready 1$/m);
    for (const path of ['/admin/nodes', '/v1/vaults', '/auth/me', '/v1/audit']) {
      const { status, body } = await service.call('GET', path, { token: METRICS_TOKEN });
      assert.deepEqual([status, body.error.code], [403, 'INSUFFICIENT_PRIVILEGE'], path);
    }
    const { entries } = await ok(service.call('GET', '/v1/audit?action=metrics:read'));
    assert.deepEqual(entries, []);
  });

  test('is refused if it differs, has something appended, or another credential beside it', async () => {
    for (const token of [`${METRICS_TOKEN}x`, METRICS_TOKEN.slice(0, -1), 'cv_metrics_', METRICS_TOKEN.toUpperCase()]) {
      assert.equal((await service.call('GET', '/metrics', { token })).status, 401, token);
    }
    const headers = {
      'x-client-id': 'f3b6d1c2-9a84-4c6e-8f0b-2d7e51a6c930',
      'x-client-secret': `Svc_${'x'.repeat(40)}`,
    };
    assert.equal((await service.call('GET', '/metrics', { token: METRICS_TOKEN, headers })).status, 401);
    assert.ok(service.logs.every((line) => !line.includes(METRICS_TOKEN)));
  });

  test('is good for nothing where the setting is absent', async () => {
    const other = await startService(kind);
    try {
      assert.equal((await other.call('GET', '/metrics', { token: METRICS_TOKEN })).status, 401);
    } finally {
      await other.close();
    }
  });
});

test('a short or foreign text is refused as CV_METRICS_TOKEN, and not repeated', () => {
  for (const CV_METRICS_TOKEN of ['cv_metrics_short', 'x'.repeat(60), `${METRICS_TOKEN} `]) {
    assert.throws(
      () => loadConfig({ CV_METRICS_TOKEN }),
      (error) => error instanceof ConfigError && !error.message.includes(CV_METRICS_TOKEN),
    );
  }
});

onSqliteAtLanding('metrics while the database is in trouble', (kind) => {
  if (kind === 'sqlite') return;
  let service: Service;
  let proxy: DatabaseProxy;
  before(async () => {
    const databaseUrl = await newMigratedDatabase();
    proxy = await DatabaseProxy.before(databaseUrl);
    service = await startService('postgres', { databaseUrl: proxy.through(databaseUrl), env: ENV });
  });
  after(() => service.close());

  const scrape = () => service.call('GET', '/metrics', { token: METRICS_TOKEN });

  test('all that needs no database is there while it is gone, and the rest once it is back', async () => {
    proxy.weather = { kind: 'silent' };
    proxy.cut();
    const { status, text } = await scrape();
    assert.equal(status, 200);
    assert.match(text, /^cv_http_requests_in_flight /m);
    assert.match(text, /^cv_metrics_missing\{metric="cv_approvals_waiting"\} 1$/m);
    assert.match(text, /^cv_ready 0$|^cv_metrics_missing\{metric="cv_ready"\} 1$/m);
    assert.equal((await service.call('GET', '/metrics')).status, 503, 'that of a person');
    proxy.weather = { kind: 'clear' };
    proxy.cut();
    await until('the numbers of the database are not back', async () => {
      const { text: now } = await scrape();
      return /^cv_ready 1$/m.test(now) && !now.includes('cv_metrics_missing{');
    });
  });
});
