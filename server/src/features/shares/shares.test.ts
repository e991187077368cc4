import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openShare, sealShare } from '../../../../client/src/index.ts';
import { addColleague, addTenant, invalid, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, auditOf, runPurges } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { OPEN_MAX } from './service.ts';

const VALUE = 'hunter2 with an ü';

onBothDatabases('shares', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
  });

  const as = ({ token }: { token: string | null }, method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const open = (id: string) => as({ token: null }, 'POST', `/v1/shares/${id}/open`);
  async function share(more: object = {}, by: { token: string } = tenant.owner, passphrase: string | null = null) {
    const { envelope, key } = await sealShare(VALUE, passphrase);
    const { id } = await ok(as(by, 'POST', '/v1/shares', { envelope, expires_in_seconds: 3600, ...more }), 201);
    return { id, envelope, key };
  }
  const nothing = (id: string) => refused(open(id), 404, 'NOT_FOUND');
  const listed = async (by: { token: string } = tenant.owner) => (await ok(as(by, 'GET', '/v1/shares'))).shares;

  test('open once for anybody who has the link, and are gone then', async () => {
    const { id, envelope, key } = await share();
    const opened = await ok(open(id));
    assert.deepEqual(opened, { envelope, views_left: 0 });
    assert.equal(await openShare(opened.envelope, key), VALUE);
    await nothing(id);
    const [one] = await listed();
    assert.deepEqual([one.id, one.status, one.views_left], [id, 'opened', 0]);
    const { read } = service.app.kernel.database;
    const row = await read.selectFrom('shares').select('envelope').where('share_id', '=', id).executeTakeFirst();
    assert.equal(row?.envelope, null);
  });

  test('open as often as they are allowed, and once each, no matter how many open them at once', async () => {
    const { id } = await share({ views: 3 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => open(id)));
    const statuses = answers.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, [200, 200, 200, 404, 404, 404, 404, 404]);
    await nothing(id);
  });

  test('are opened by no program that follows links', async () => {
    const { id } = await share();
    for (const path of [`/s/${id}`, `/v1/shares/${id}/open`, `/v1/shares/${id}`]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) await fetch(`${service.url}${path}`, { method });
    }
    assert.equal((await as({ token: null }, 'GET', `/v1/shares/${id}/open`)).status, 405);
    const page = await as({ token: null }, 'GET', `/s/${id}`);
    assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self'/);
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.equal(page.text, (await as({ token: null }, 'GET', '/s/share_nowhere')).text);
    for (const name of ['script.js', 'style.css']) assert.ok(page.text.includes(`"${name}"`));
    assert.doesNotMatch(page.text, /https?:/);
    const other = { token: null, headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } };
    await refused(service.call('POST', `/v1/shares/${id}/open`, other), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(open(id));
  });

  test('are not opened again by a repeated request', async () => {
    const { id } = await share();
    const repeated = () =>
      service.call('POST', `/v1/shares/${id}/open`, { token: null, headers: { 'idempotency-key': 'the-same' } });
    const answers = [await repeated(), await repeated()].map(({ status }) => status);
    assert.ok(!(answers[0] === 200 && answers[1] === 200), String(answers));
  });

  test('end at their second, and are deleted then', async () => {
    const { id } = await share({ expires_in_seconds: 60 });
    service.clock.advance(59 * SECOND_MS);
    const { id: other } = await share({ expires_in_seconds: 3600 });
    service.clock.advance(SECOND_MS);
    await nothing(id);
    assert.equal((await listed())[1].status, 'expired');
    await runPurges(service);
    service.clock.advance(HOUR_MS);
    await runPurges(service);
    const left = await service.app.kernel.database.read.selectFrom('shares').select('share_id').execute();
    assert.ok(!left.some(({ share_id }) => share_id === id || share_id === other));
    const [entry] = await auditOf(service, 'action=shares:purge', tenant.owner.token);
    assert.ok(entry.details.removed > 0);
  });

  test('are revoked by their author and by admins, in a race too', async () => {
    const member = await addColleague(service, tenant.id, 'member');
    const stranger = await addColleague(service, tenant.id, 'member');
    const outsider = (await addTenant(service)).owner;
    const [one, two, three] = [await share({}, member), await share({}, member), await share({}, member)];
    for (const by of [stranger, outsider]) await refused(as(by, 'DELETE', `/v1/shares/${one.id}`), 404, 'NOT_FOUND');
    await ok(as(member, 'DELETE', `/v1/shares/${one.id}`));
    await ok(as(tenant.owner, 'DELETE', `/v1/shares/${two.id}`));
    for (const { id } of [one, two]) await nothing(id);
    await refused(as(member, 'DELETE', `/v1/shares/${one.id}`), 404, 'NOT_FOUND');
    const [opened, revoked] = await Promise.all([open(three.id), as(member, 'DELETE', `/v1/shares/${three.id}`)]);
    assert.ok(opened.status === 404 || opened.status === 200);
    assert.equal(revoked.status, 200);
    await nothing(three.id);
    const statuses = (await listed(member)).map(({ status }: { status: string }) => status);
    assert.deepEqual(statuses, ['revoked', 'revoked', 'revoked']);
    assert.deepEqual([await listed(stranger), await listed(outsider)], [[], []]);
    assert.equal((await listed(tenant.owner)).length, 3);
  });

  test('are in the audit log, without what was shared and without the key', async () => {
    const { id, envelope, key } = await share();
    await ok(open(id));
    await nothing(id);
    const entries = await auditOf(service, 'decision=allow', tenant.owner.token);
    const text = JSON.stringify(entries);
    for (const action of ['share_created', 'share_opened'])
      assert.ok(
        entries.some((one) => one.action === action && JSON.stringify(one).includes(id)),
        action,
      );
    for (const secret of [envelope, envelope.split(':').at(-1) ?? '', key]) {
      assert.ok(!text.includes(secret));
      assert.ok(!service.logs.join().includes(secret));
    }
  });

  test('go with the person and are shut with the tenant', async () => {
    const member = await addColleague(service, tenant.id, 'member');
    const [theirs, own] = [await share({}, member), await share()];
    await ok(as(tenant.owner, 'DELETE', `/v1/users/${member.id}`));
    await nothing(theirs.id);
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } }));
    await nothing(own.id);
  });

  test('that somebody changed in the database are not served', async () => {
    service.expectErrorLogs(/row/);
    const { id } = await share();
    await behindItsBack(service.app.kernel.database, (db) =>
      db.updateTable('shares').set({ views_left: 50 }).where('share_id', '=', id).execute(),
    );
    assert.ok((await open(id)).status >= 500);
  });

  test('are bounded for each person', async () => {
    const { envelope } = await sealShare(VALUE);
    const body = { envelope, expires_in_seconds: 3600 };
    for (let i = 0; i < OPEN_MAX; i++) await ok(as(tenant.owner, 'POST', '/v1/shares', body), 201);
    await refused(as(tenant.owner, 'POST', '/v1/shares', body), 403, 'QUOTA_EXCEEDED');
    const other = await addColleague(service, tenant.id, 'member');
    await ok(as(other, 'POST', '/v1/shares', body), 201);
    const page = await ok(as(tenant.owner, 'GET', '/v1/shares?limit=60'));
    const next = await ok(as(tenant.owner, 'GET', `/v1/shares?limit=60&cursor=${page.next_cursor}`));
    assert.deepEqual([page.shares.length, next.shares.length, next.next_cursor], [60, OPEN_MAX + 1 - 60, null]);
  });

  test('are tried by an unknown caller only so often', async () => {
    const limited = await startService(database);
    const ask = () => limited.call('POST', '/v1/shares/share_nowhere/open', { token: null });
    let refusals = 0;
    for (let i = 0; i < 400 && refusals === 0; i++) if ((await ask()).status === 429) refusals++;
    assert.equal(refusals, 1);
    await limited.close();
  });

  rule('are not created by somebody whom a policy denies it', async () => {
    const member = await addColleague(service, tenant.id, 'member');
    const statement = { effect: 'deny' as const, action: ['shares:create'], resource: ['self/shares'] };
    await addPolicy(service, { user: member.id }, [statement], tenant.owner.token);
    const { envelope } = await sealShare(VALUE);
    const body = { envelope, expires_in_seconds: 3600 };
    await refused(as(member, 'POST', '/v1/shares', body), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(as({ token: null }, 'POST', '/v1/shares', body), 401, 'INVALID_TOKEN');
  });

  rule('are refused if they are not sealed, are too long or have bad bounds', async () => {
    const { envelope } = await sealShare(VALUE);
    const refuse = (more: object, pointer: string) =>
      invalid(as(tenant.owner, 'POST', '/v1/shares', { envelope, expires_in_seconds: 3600, ...more }), pointer);
    for (const wrong of ['', VALUE, 'share:v1:key:AAAA:AAAA', `${envelope}=`, envelope.replace('v1', 'v2')])
      await refuse({ envelope: wrong }, '/body/envelope');
    await refuse({ envelope: `${envelope}${'A'.repeat(45_000)}` }, '/body/envelope');
    for (const expires_in_seconds of [59, (30 * DAY_MS) / SECOND_MS + 1, '60'])
      await refuse({ expires_in_seconds }, '/body/expires_in_seconds');
    for (const views of [0, 101, 1.5]) await refuse({ views }, '/body/views');
    assert.deepEqual(await listed(), []);
    for (const id of ['nothing', `share_${'0'.repeat(26)}`, '%00', 'x'.repeat(64)]) {
      const { status } = await open(id);
      assert.ok(status === 404 || status === 422, String(status));
    }
  });
});

test('the page opens what the client library seals, and refuses what the client library refuses', async () => {
  const { openEnvelope, takesPassphrase } = await import(new URL('./assets/script.js', import.meta.url).href);
  for (const passphrase of [null, 'a passphrase, ü']) {
    const { envelope, key } = await sealShare(VALUE, passphrase);
    assert.equal(takesPassphrase(envelope), passphrase !== null);
    assert.equal(await openEnvelope(envelope, key, passphrase), VALUE);
    assert.equal(await openShare(envelope, key, passphrase), VALUE);
    const other = (await sealShare(VALUE)).key;
    const changed = `${envelope.slice(0, -1)}${envelope.endsWith('A') ? 'Q' : 'A'}`;
    const attempts: [string, string, string | null][] = [
      [envelope, other, passphrase],
      [changed, key, passphrase],
      ...(passphrase === null
        ? []
        : ([
            [envelope, key, 'another'],
            [envelope, key, null],
          ] as [string, string, string | null][])),
    ];
    for (const attempt of attempts) {
      await assert.rejects(openEnvelope(...attempt));
      await assert.rejects(openShare(...attempt), { code: 'INVALID_ARGUMENT' });
    }
  }
  await assert.rejects(sealShare('x'.repeat(32 * 1024 + 1)), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(sealShare(VALUE, ''), { code: 'INVALID_ARGUMENT' });
});
