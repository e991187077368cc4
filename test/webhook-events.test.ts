import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { DAY_MS, MINUTE_MS } from '../server/src/kernel/base/clock.ts';
import { tick } from './support/background-work.ts';
import { addConnection } from './support/machines.ts';
import { addColleague, addTenant, approve, ok, type Tenant, uniqueName } from './support/people.ts';
import { freePort } from './support/ports.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from './support/service.ts';
import { Receiver } from './support/siem-receivers.ts';
import { testAuthority } from './support/test-authority.ts';
import { until } from './support/until.ts';
import { addSecret, addVault, runJobs, runPurges, secretUrl } from './support/vaults.ts';

const BACKEND_ROTATION = { interval_days: 30, backend: { kind: 'postgres_role' } };

/** Each event where it happens: a request or a job causes it, and a receiver gets it. */

onSqliteAtLanding('events', (database) => {
  let service: Service;
  let tenant: Tenant;
  let receiver: Receiver;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    tenant = await addTenant(service);
    receiver = await Receiver.start();
    const events = [
      'secret.rotated',
      'rotation.failed',
      'approval.requested',
      'approval.decided',
      'exporter.failing',
      'certificate.expiring',
      'secret.expiring',
    ];
    await ok(call('POST', '/webhooks', { url: receiver.url, events }), 201);
  });
  after(() => service.close());

  function call(method: string, path: string, body?: unknown, token = tenant.owner.token): Promise<Answer> {
    return service.call(method, path, { token, ...(body !== undefined && { body }) });
  }

  const sent = (event: string): Answer['body'][] =>
    receiver.requests.map(({ body }) => JSON.parse(body)).filter((one) => one.event === event);

  async function nextOf(event: string, act: () => Promise<unknown>): Promise<Answer['body']> {
    const before = sent(event).length;
    await act();
    await until(`no ${event} arrives`, () => sent(event).length > before);
    assert.equal(sent(event).length, before + 1);
    const told = sent(event).at(-1);
    assert.equal(told.tenant, tenant.id);
    return told;
  }

  test('secret.rotated: by a request, and by schedule', async () => {
    const vault = await addVault(service, {}, tenant.owner.token);
    const rotation = { interval_days: 30 };
    const made = await addSecret(service, vault, 'db/main', { type: 'api_key', rotation }, tenant.owner.token);
    const byRequest = await nextOf('secret.rotated', () => ok(call('POST', secretUrl(vault, 'db/main', 'rotate'), {})));
    assert.deepEqual(byRequest.secret, { id: made.id, vault, path: 'db/main', version: 2 });
    const byJob = await nextOf('secret.rotated', async () => {
      service.clock.advance(30 * DAY_MS + MINUTE_MS);
      await runJobs(service);
    });
    assert.deepEqual(byJob.secret, { id: made.id, vault, path: 'db/main', version: 3 });
  });

  test('rotation.failed: of a server that cannot be reached', async () => {
    const vault = await addVault(service, {}, tenant.owner.token);
    const [port, marker] = [await freePort(), uniqueName('password')];
    const login = { host: '127.0.0.1', port, database: 'x', username: 'x', password: marker, tls: false };
    const secret = { type: 'database', value: JSON.stringify(login), rotation: BACKEND_ROTATION };
    const { id } = await addSecret(service, vault, 'db/gone', secret, tenant.owner.token);
    const told = await nextOf('rotation.failed', () => ok(call('POST', secretUrl(vault, 'db/gone', 'rotate'), {})));
    assert.deepEqual(told.rotation, { secret: id, vault, path: 'db/gone', failure: 'unreachable' });
    assert.ok(receiver.requests.every(({ body }) => !body.includes(marker)));
  });

  test('certificate.expiring: a week before, once, and not if a later one is there', async () => {
    const vault = await addVault(service, {}, tenant.owner.token);
    const add = (days: number) => addConnection(service, vault, { certificate_ttl_days: days }, tenant.owner.token);
    const [machine, renewed] = [await add(20), await add(20)];
    // One that lives for a week or less is renewed by its owner anyway.
    await add(6);
    const rotation = { certificate: true, certificate_ttl_days: 90 };
    await ok(call('POST', `/v1/app-connections/${renewed.client_id}/rotate`, rotation));
    const runDaily = async () => {
      service.clock.advance(DAY_MS);
      await runJobs(service);
    };
    const told = await nextOf('certificate.expiring', async () => {
      for (let day = 0; day < 14; day++) await runDaily();
    });
    const { serialNumber, validToDate } = new X509Certificate(machine.certificate);
    assert.deepEqual(told.certificate, {
      serial: serialNumber.toLowerCase(),
      client_id: machine.client_id,
      app_connection_id: machine.id,
      expires_at: validToDate.toISOString(),
    });
    for (let day = 0; day < 3; day++) await runDaily();
    await tick(service, 'webhook deliveries');
    assert.equal(sent('certificate.expiring').length, 1);
  });

  test('secret.expiring: 30 days before the certificate in a secret ends', async () => {
    const vault = await addVault(service, {}, tenant.owner.token);
    const notAfter = service.clock.now() + 29 * DAY_MS;
    const value = (await testAuthority({ notAfter })).pem;
    const { id } = await addSecret(service, vault, 'tls/web', { type: 'certificate', value }, tenant.owner.token);
    const told = await nextOf('secret.expiring', () => runPurges(service));
    const expires_at = new X509Certificate(value).validToDate.toISOString();
    const resource = `vault/${vault}/tls/web`;
    assert.deepEqual(told.secret, { id, resource, vault, path: 'tls/web', version: 1, expires_at, within_days: 30 });
  });

  test('exporter.failing: at the fifth failure in a row, and again only after a success', async () => {
    const siem = await Receiver.start();
    siem.respond = () => ({ status: 503 });
    const name = uniqueName('siem');
    const body = { name, type: 'https_json', endpoint: siem.url };
    const exporter = await ok(call('POST', '/v1/audit/exporters', body), 201);
    const sendTimes = (count: number) => {
      const goal = siem.requests.length + count;
      return until('the exporter does not send', async () => {
        service.clock.advance(6 * MINUTE_MS);
        await tick(service, 'exporters');
        return siem.requests.length >= goal;
      });
    };
    const told = await nextOf('exporter.failing', () => sendTimes(5));
    const error = 'the receiver responded with status 503';
    assert.deepEqual(told.exporter, { id: exporter.id, name, type: 'https_json', error });
    await sendTimes(5);
    await tick(service, 'webhook deliveries');
    assert.equal(sent('exporter.failing').length, 1);
    siem.respond = () => ({ status: 200 });
    await sendTimes(1);
    siem.respond = () => ({ status: 503 });
    await nextOf('exporter.failing', async () => {
      await ok(call('GET', '/v1/groups'));
      await sendTimes(5);
    });
    await ok(call('DELETE', `/v1/audit/exporters/${exporter.id}`));
  });

  test('approval.requested and approval.decided: approved, rejected, and approved in vain', async () => {
    const { token } = await addColleague(service, tenant.id, 'admin');
    const request = async (): Promise<string> => {
      const body = { name: uniqueName('siem'), type: 'syslog', endpoint: 'tls://x.example:6514' };
      return (await ok(call('POST', '/v1/audit/exporters', body), 202)).approval_id;
    };
    let approvalId = '';
    const requested = await nextOf('approval.requested', async () => {
      approvalId = await request();
    });
    const about = { kind: 'siem_change', operation: 'createExporter', resource: 'exporter/*' };
    const requested_by = tenant.owner.id;
    assert.deepEqual(requested.approval, { id: approvalId, ...about, requested_by, status: 'pending' });
    const approvedOne = await nextOf('approval.decided', () => ok(approve(service, approvalId, token)));
    assert.deepEqual(approvedOne.approval, { id: approvalId, ...about, requested_by, status: 'completed' });

    const second = await request();
    const rejected = await nextOf('approval.decided', () => ok(call('POST', `/approvals/${second}/reject`, {}, token)));
    assert.deepEqual([rejected.approval.id, rejected.approval.status], [second, 'rejected']);

    // Two requests for the same name: when the second is approved, the name is in use.
    const body = { name: uniqueName('siem'), type: 'syslog', endpoint: 'tls://x.example:6514' };
    const other = { ...body, endpoint: 'tls://y.example:6514' };
    const [first, late] = [
      (await ok(call('POST', '/v1/audit/exporters', body), 202)).approval_id,
      (await ok(call('POST', '/v1/audit/exporters', other), 202)).approval_id,
    ];
    await nextOf('approval.decided', () => ok(approve(service, first, token)));
    const failed = await nextOf('approval.decided', () => ok(approve(service, late, token)));
    assert.deepEqual([failed.approval.id, failed.approval.status], [late, 'failed']);
  });
});
