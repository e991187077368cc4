import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { sealZeroKnowledge } from '../../../../../client/src/zero-knowledge-index.ts';
import { addColleague, addTenant, ok, type Tenant, uniqueName } from '../../../../../test/support/people.ts';
import { asTheService, behindItsBack } from '../../../../../test/support/rows.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { Receiver } from '../../../../../test/support/siem-receivers.ts';
import { testAuthority } from '../../../../../test/support/test-authority.ts';
import { until } from '../../../../../test/support/until.ts';
import { addSecret, addVault, readValue, runPurges, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import { pemOf } from '../../certificates/x509.ts';
import { updateSecret } from '../storage/secret-store.ts';

const ENV = { CV_OUTBOUND_ALLOW: '127.0.0.1/32' };
const ZK_SECRET = { key: new Uint8Array(32).fill(7) };
const endIn = (pem: string) => new X509Certificate(pem).validToDate.toISOString();

onBothDatabases('certificates that end soon', (database, { rule }) => {
  let service: Service;
  let receiver: Receiver;
  let tenant: Tenant;
  let vault: string;
  before(async () => {
    service = await startService(database, { env: ENV });
    receiver = await Receiver.start();
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await subscribed(service);
    vault = await addVault(service, {}, tenant.owner.token);
  });

  async function subscribed(at: Service): Promise<Tenant> {
    const added = await addTenant(at);
    const body = { url: receiver.url, events: ['secret.expiring'] };
    await ok(at.call('POST', '/webhooks', { token: added.owner.token, body }), 201);
    return added;
  }
  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { token: tenant.owner.token, ...(body !== undefined && { body }) });
  const certificate = async (days: number) =>
    (await testAuthority({ notAfter: service.clock.now() + days * DAY_MS })).pem;
  const add = (path: string, value: string, more: object = {}) =>
    addSecret(service, vault, path, { type: 'certificate', value, ...more }, tenant.owner.token);
  const put = (path: string, body: object) => ok(call('PUT', secretUrl(vault, path), body));

  /** What the receiver was told about a tenant, oldest first, after the jobs ran and everything was delivered. */
  async function announced(to = tenant): Promise<Answer['body'][]> {
    await runPurges(service);
    const pending = service.app.kernel.database.read
      .selectFrom('webhook_deliveries')
      .select('delivery_id')
      .where('tenant_id', '=', to.id)
      .where('status', '=', 'pending');
    await until('a delivery does not arrive', async () => (await pending.execute()).length === 0);
    return receiver.requests.map(({ body }) => JSON.parse(body)).filter((event) => event.tenant === to.id);
  }
  const announcedPaths = async () => (await announced()).map(({ secret }) => secret.path).sort();
  const endsOf = async () => {
    const query = service.app.kernel.database.read.selectFrom('secrets').select(['path', 'expires_at']);
    const rows = await query.where('tenant_id', '=', tenant.id).execute();
    return Object.fromEntries(rows.map(({ path, expires_at }) => [path, expires_at]));
  };
  const notes = (tenantId = tenant.id) =>
    service.app.kernel.database.read
      .selectFrom('secret_expiry_announcements')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .execute();

  test('are announced 30 days before, once, to their tenant alone, without the value', async () => {
    const other = await subscribed(service);
    const pem = await certificate(31);
    const { id } = await add('tls/web', pem);
    assert.deepEqual(await announced(), []);
    service.clock.advance(DAY_MS);
    const [event, ...more] = await announced();
    assert.deepEqual(more, []);
    assert.equal(event.event, 'secret.expiring');
    assert.deepEqual(event.secret, {
      id,
      resource: `vault/${vault}/tls/web`,
      vault,
      path: 'tls/web',
      version: 1,
      expires_at: endIn(pem),
      within_days: 30,
    });
    assert.deepEqual(Object.keys(event).sort(), ['event', 'secret', 'tenant', 'timestamp']);
    const body = pem.split('\n')[1] ?? '';
    assert.ok(body.length > 10 && !JSON.stringify(receiver.requests).includes(body));
    assert.ok(!service.logs.join().includes(body));
    service.clock.advance(DAY_MS);
    assert.equal((await announced()).length, 1);
    assert.deepEqual(await announced(other), []);
  });

  test('are announced again for a later end, and not for one that was announced', async () => {
    const [first, later, far] = [await certificate(10), await certificate(20), await certificate(100)];
    await add('tls', first);
    assert.equal((await announced()).length, 1);
    await put('tls', { metadata: { owner: 'Ann' } });
    assert.equal((await announced()).length, 1, 'the value is the same');
    await put('tls', { value: far });
    assert.equal((await announced()).length, 1);
    await ok(call('POST', secretUrl(vault, 'tls', 'rotate'), { value: later }));
    const events = await announced();
    assert.deepEqual(
      events.map(({ secret }) => [secret.version, secret.expires_at]),
      [
        [1, endIn(first)],
        [4, endIn(later)],
      ],
    );
    await ok(call('POST', secretUrl(vault, 'tls', 'rollback'), { to_version: 1 }));
    assert.equal((await announced()).length, 2);
    assert.equal((await notes()).length, 2);
  });

  rule('are announced as they are now: replaced in time, or brought back by a rollback', async () => {
    const [near, far] = [await certificate(10), await certificate(100)];
    for (const path of ['renewed', 'rolled-back']) {
      await add(path, near);
      await put(path, { value: far });
    }
    await ok(call('POST', secretUrl(vault, 'rolled-back', 'rollback'), { to_version: 1 }));
    const [event, ...more] = await announced();
    assert.deepEqual([event.secret.path, event.secret.version, more], ['rolled-back', 3, []]);
    assert.equal(event.secret.expires_at, endIn(near));
  });

  rule('are announced wherever they come from: import, copy, move', async () => {
    const near = await certificate(10);
    const body = { secrets: { imported: near }, type: 'certificate' };
    await ok(call('POST', `/v1/vaults/${vault}/import`, body));
    await add('original', near);
    await add('moving', near);
    await ok(call('POST', secretUrl(vault, 'original', 'copy'), { to_path: 'copied' }), 201);
    const to_vault = await addVault(service, {}, tenant.owner.token);
    await ok(call('POST', secretUrl(vault, 'moving', 'move'), { to_vault, to_path: 'moved' }));
    assert.deepEqual(await announcedPaths(), ['copied', 'imported', 'moved', 'original']);
    const moved = (await announced()).find(({ secret }) => secret.path === 'moved');
    assert.equal(moved.secret.vault, to_vault);
    await ok(call('POST', secretUrl(to_vault, 'moved', 'move'), { to_path: 'moved-again' }));
    await ok(call('POST', `/v1/vaults/${vault}/import`, { secrets: { imported: await certificate(100) } }));
    assert.equal((await announced()).length, 4, 'a secret that moves stays the same');
    await ok(call('POST', `/v1/vaults/${vault}/import`, { secrets: { imported: await certificate(20) } }));
    assert.equal((await announced()).length, 5);
  });

  rule('are not announced while the secret or its vault is deleted', async () => {
    await add('deleted', await certificate(10));
    await ok(call('DELETE', secretUrl(vault, 'deleted')));
    const gone = await addVault(service, {}, tenant.owner.token);
    const inGone = { type: 'certificate', value: await certificate(10) };
    await addSecret(service, gone, 'of-a-vault', inGone, tenant.owner.token);
    await ok(call('DELETE', `/v1/vaults/${gone}`));
    assert.deepEqual(await announced(), []);
    await ok(call('POST', secretUrl(vault, 'deleted', 'restore')));
    assert.deepEqual(await announcedPaths(), ['deleted']);
    await ok(call('POST', `/v1/vaults/${gone}/restore`));
    assert.deepEqual(await announcedPaths(), ['deleted', 'of-a-vault']);
  });

  rule('are announced of fortress secrets too', async () => {
    const { id, token } = await addColleague(service, tenant.id, 'member', { mfaAt: service.clock.now() });
    await ok(call('POST', `/v1/vaults/${vault}/members`, { user: id, role: 'writer' }), 201);
    const secret = { type: 'certificate', protection: 'fortress', value: await certificate(10) };
    await addSecret(service, vault, 'guarded', secret, token);
    assert.deepEqual(await announcedPaths(), ['guarded']);
  });

  rule('are not announced of other types, zero-knowledge vaults, and values without an end', async () => {
    const near = await certificate(10);
    await add('generic', near, { type: 'generic' });
    await add('own-type', near, { type: 'tls_bundle' });
    await add('over', (await testAuthority({ notBefore: 0, notAfter: 86_400_000 })).pem);
    const der = Buffer.from((await testAuthority({ notAfter: Date.parse('2031-02-03T04:05:06Z') })).der);
    der.write('319999999999Z', der.indexOf('310203040506Z'), 'latin1');
    const timeless = pemOf('CERTIFICATE', der);
    await add('timeless', timeless);
    const hidden = await addVault(service, { is_zero_knowledge: true }, tenant.owner.token);
    const value = await sealZeroKnowledge(near, ZK_SECRET, { vault: hidden, path: 'hidden', version: 1 });
    await addSecret(service, hidden, 'hidden', { type: 'certificate', value }, tenant.owner.token);
    assert.deepEqual(await announced(), []);
    const none = { generic: null, 'own-type': null, timeless: null, hidden: null };
    assert.deepEqual(await endsOf(), { ...none, over: 86_400_000 });
    assert.equal(await readValue(service, vault, 'timeless', { token: tenant.owner.token }), timeless);
  });

  test('are announced if an earlier release stored them, and bad text of then stays usable', async () => {
    const near = await certificate(10);
    const hidden = await addVault(service, { is_zero_knowledge: true }, tenant.owner.token);
    const value = await sealZeroKnowledge(near, ZK_SECRET, { vault: hidden, path: 'hidden', version: 1 });
    await addSecret(service, hidden, 'hidden', { type: 'certificate', value }, tenant.owner.token);
    for (const path of ['old', 'described', 'replaced', 'deleted']) await add(path, near);
    const bad = await add('bad', 'no certificate', { type: 'generic' });
    const { database } = service.app.kernel;
    await asTheService(database, async (tx) => {
      await updateSecret(tx, { tenant_id: tenant.id, secret_id: bad.id }, { type: 'certificate' });
      // As migration 0032 marks them.
      const marked = tx.updateTable('secrets').set({ expires_at: -1 }).where('type', '=', 'certificate');
      await marked.where('tenant_id', '=', tenant.id).execute();
    });
    await put('described', { metadata: { owner: 'Ann' } });
    await put('replaced', { value: await certificate(100) });
    await ok(call('DELETE', secretUrl(vault, 'deleted')));
    assert.deepEqual(await announcedPaths(), ['described', 'old']);
    const end = Date.parse(endIn(near));
    const { replaced, ...ends } = await endsOf();
    assert.ok(Number(replaced) > end);
    assert.deepEqual(ends, { old: end, described: end, deleted: end, bad: null, hidden: null });
    await put('bad', { metadata: { owner: 'Ann' } });
    await put('bad', { value: near });
    await ok(call('POST', secretUrl(vault, 'bad', 'rollback'), { to_version: 1 }));
    await ok(call('POST', secretUrl(vault, 'bad', 'copy'), { to_path: 'bad-copy' }), 201);
    assert.deepEqual(await announcedPaths(), ['described', 'old']);
  });

  test('are announced to others while one tenant’s webhook is forged, and to that tenant once it is repaired', async () => {
    service.expectErrorLogs(/row/);
    const other = tenant;
    await add('other', await certificate(10));
    tenant = await subscribed(service);
    vault = await addVault(service, {}, tenant.owner.token);
    await add('own', await certificate(10));
    const { database } = service.app.kernel;
    const setUrl = (url: string) =>
      behindItsBack(database, (db) =>
        db.updateTable('webhooks').set({ url }).where('tenant_id', '=', other.id).execute(),
      );
    await setUrl('http://127.0.0.1:9/forged');
    assert.deepEqual(await announcedPaths(), ['own']);
    assert.deepEqual(await notes(other.id), [], 'a note commits only with its event');
    await setUrl(receiver.url);
    assert.equal((await announced(other)).length, 1);
  });

  rule('are not announced while the clock is wrong', async () => {
    const wrong = await startService(database, { env: ENV });
    wrong.expectErrorLogs(/clock/);
    const token = (await subscribed(wrong)).owner.token;
    const inWrong = await addVault(wrong, {}, token);
    const value = (await testAuthority({ notAfter: wrong.clock.now() + 80 * DAY_MS })).pem;
    await addSecret(wrong, inWrong, uniqueName('tls'), { type: 'certificate', value }, token);
    await runPurges(wrong);
    wrong.clock.set({ node: 60 * DAY_MS });
    const setAt = wrong.clock.now();
    const { read } = wrong.app.kernel.database;
    const run = read.selectFrom('job_leases').select('job').where('job', '=', 'announce-expiring-secrets');
    await until('the job does not run', async () => {
      await wrong.app.jobs.runDue();
      return (await run.where('last_finished_at', '>=', setAt).execute()).length > 0;
    });
    assert.deepEqual(await read.selectFrom('secret_expiry_announcements').selectAll().execute(), []);
    await wrong.close();
  });

  // The last one, because tokens end by then.
  test('leave no note once the secret is destroyed', async () => {
    const { id } = await add('short-lived', await certificate(10));
    await add('lasting', await certificate(10));
    assert.equal((await announced()).length, 2);
    await ok(call('DELETE', secretUrl(vault, 'short-lived')));
    service.clock.advance(366 * DAY_MS);
    await runPurges(service);
    const left = await notes();
    assert.deepEqual([left.length, left.some(({ secret_id }) => secret_id === id)], [1, false]);
  });
});
