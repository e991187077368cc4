import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sealZeroKnowledge } from '../../../../../client/src/zero-knowledge-index.ts';
import { addColleague, addTenant, invalid, ok, type Tenant } from '../../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { Receiver } from '../../../../../test/support/siem-receivers.ts';
import { testAuthority } from '../../../../../test/support/test-authority.ts';
import { until } from '../../../../../test/support/until.ts';
import { addPolicy, addSecret, addVault, pathsIn, runPurges, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';

const ENV = { CV_OUTBOUND_ALLOW: '127.0.0.1/32' };

onBothDatabases('ends that are given to values', (database, { rule }) => {
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
    tenant = await addTenant(service);
    const body = { url: receiver.url, events: ['secret.expiring'] };
    await ok(call('POST', '/webhooks', body), 201);
    vault = await addVault(service, {}, tenant.owner.token);
  });

  const call = (method: string, path: string, body?: unknown, token = tenant.owner.token) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const inDays = (days: number) => new Date(service.clock.now() + days * DAY_MS).toISOString();
  const add = (path: string, more: object = {}) => addSecret(service, vault, path, more, tenant.owner.token);
  const put = (path: string, body: object) => ok(call('PUT', secretUrl(vault, path), body));
  const endOf = async (path: string, query = '') =>
    (await ok(call('GET', `${secretUrl(vault, path)}${query}`))).expires_at;

  async function announced(): Promise<Answer['body'][]> {
    await runPurges(service);
    const pending = service.app.kernel.database.read
      .selectFrom('webhook_deliveries')
      .select('delivery_id')
      .where('tenant_id', '=', tenant.id)
      .where('status', '=', 'pending');
    await until('a delivery does not arrive', async () => (await pending.execute()).length === 0);
    return receiver.requests.map(({ body }) => JSON.parse(body)).filter((event) => event.tenant === tenant.id);
  }
  const stages = async () => (await announced()).map(({ secret }) => [secret.path, secret.within_days]);

  test('are announced 30, 7 and 1 days before, once each', async () => {
    const expires_at = inDays(40);
    const made = await add('key', { expires_at });
    assert.equal(made.expires_at, expires_at);
    assert.deepEqual(await stages(), []);
    service.clock.advance(11 * DAY_MS);
    assert.deepEqual(await stages(), [['key', 30]]);
    assert.deepEqual(await stages(), [['key', 30]]);
    service.clock.advance(23 * DAY_MS);
    assert.deepEqual((await stages()).slice(1), [['key', 7]]);
    service.clock.advance(5 * DAY_MS);
    assert.deepEqual((await stages()).slice(2), [['key', 1]]);
    const [event] = await announced();
    assert.equal(event.secret.expires_at, expires_at);
    service.clock.advance(2 * DAY_MS);
    assert.equal((await stages()).length, 3);
    assert.equal(await endOf('key'), expires_at, 'the value can be read after its end');
  });

  test('are announced at the nearest time only, if they are near from the start', async () => {
    await add('soon', { expires_at: inDays(5) });
    await add('at-once', { expires_at: inDays(0.5) });
    assert.deepEqual((await stages()).toSorted(), [
      ['at-once', 1],
      ['soon', 7],
    ]);
    await put('soon', { expires_at: inDays(20) });
    assert.deepEqual((await stages()).at(-1), ['soon', 30], 'another end is announced anew');
  });

  test('filter lists, which are complete with any page size', async () => {
    for (const days of [10, 20, 30, 40]) await add(`in/${days}`, { expires_at: inDays(days) });
    await add('without', { metadata: { tags: ['x'] } });
    await add('tagged', { expires_at: inDays(3), metadata: { tags: ['x'] } });
    const { token } = tenant.owner;
    const before35 = `expires_before=${inDays(35)}`;
    assert.deepEqual(await pathsIn(service, vault, before35, token), ['in/10', 'in/20', 'in/30', 'tagged']);
    assert.deepEqual(await pathsIn(service, vault, `limit=1&${before35}`, token), [
      'in/10',
      'in/20',
      'in/30',
      'tagged',
    ]);
    assert.deepEqual(await pathsIn(service, vault, `tags=x&${before35}`, token), ['tagged']);
    await invalid(call('GET', `/v1/vaults/${vault}/secrets?expires_before=soon`), '/query/expires_before');
    const both = `/v1/vaults/${vault}/secrets?deleted=true&${before35}`;
    await invalid(call('GET', both), '/query/expires_before');
    const due = await ok(call('GET', '/v1/secrets/due?kind=expiry&within_days=15'));
    assert.deepEqual(
      due.secrets.map(({ path }: { path: string }) => path),
      ['tagged', 'in/10'],
    );
  });

  rule('belong to the value: a new one has none, whatever writes it', async () => {
    const end = inDays(50);
    await add('key', { type: 'api_key', expires_at: end });
    await put('key', { metadata: { owner: 'Ann' } });
    assert.equal(await endOf('key'), end);
    await put('key', { value: 'another' });
    assert.equal(await endOf('key'), null);
    assert.equal(await endOf('key', '?version=1'), null, 'the history does not have it');
    await put('key', { value: 'a third', expires_at: end });
    assert.equal(await endOf('key'), end);
    await ok(call('POST', secretUrl(vault, 'key', 'rotate'), {}));
    assert.equal(await endOf('key'), null);
    await ok(call('POST', secretUrl(vault, 'key', 'rotate'), { expires_at: end }));
    assert.equal(await endOf('key'), end);
    await put('key', { expires_at: null });
    assert.equal(await endOf('key'), null);
    await put('key', { expires_at: end });
    const { version } = await put('key', { metadata: { owner: 'Bo' } });
    await ok(call('POST', secretUrl(vault, 'key', 'rollback'), { to_version: version - 1 }));
    assert.equal(await endOf('key'), end, 'the value is the same');
    await ok(call('POST', secretUrl(vault, 'key', 'rollback'), { to_version: 1 }));
    assert.equal(await endOf('key'), null);
  });

  rule('go with the secret: move, copy, deletion and restoration', async () => {
    const end = inDays(50);
    await add('key', { expires_at: end });
    await ok(call('POST', secretUrl(vault, 'key', 'copy'), { to_path: 'copied' }), 201);
    const to_vault = await addVault(service, {}, tenant.owner.token);
    const moved = await ok(call('POST', secretUrl(vault, 'key', 'move'), { to_vault, to_path: 'moved' }));
    assert.deepEqual([await endOf('copied'), moved.expires_at], [end, end]);
    await ok(call('DELETE', secretUrl(vault, 'copied')));
    assert.equal((await ok(call('POST', secretUrl(vault, 'copied', 'restore')))).expires_at, end);
  });

  rule('stay when a secret becomes a fortress secret', async () => {
    const { id, token } = await addColleague(service, tenant.id, 'member', { mfaAt: service.clock.now() });
    await ok(call('POST', `/v1/vaults/${vault}/members`, { user: id, role: 'writer' }), 201);
    const end = inDays(50);
    await add('key', { expires_at: end });
    const raised = await ok(call('PUT', secretUrl(vault, 'key'), { protection: 'fortress' }, token));
    assert.equal(raised.expires_at, end);
  });

  rule('are refused if they are over, no time, or of a certificate', async () => {
    const refuse = (more: object) =>
      invalid(call('POST', `/v1/vaults/${vault}/secrets`, { path: 'x', value: 'v', ...more }), '/body/expires_at');
    await refuse({ expires_at: inDays(-1) });
    await refuse({ expires_at: inDays(0) });
    await refuse({ expires_at: 'soon' });
    await refuse({ expires_at: 5 });
    await refuse({ expires_at: null });
    await refuse({ expires_at: `2027-01-31${' '.repeat(100)}` });
    const { pem: value } = await testAuthority({ notAfter: service.clock.now() + 100 * DAY_MS });
    await refuse({ type: 'certificate', value, expires_at: inDays(5) });
    const made = await add('tls', { type: 'certificate', value });
    assert.ok(Math.abs(Date.parse(made.expires_at) - Date.parse(inDays(100))) < DAY_MS);
    await invalid(call('PUT', secretUrl(vault, 'tls'), { expires_at: null }), '/body/expires_at');
    await invalid(
      call('POST', secretUrl(vault, 'tls', 'rotate'), { value, expires_at: inDays(5) }),
      '/body/expires_at',
    );
    assert.equal((await ok(call('GET', secretUrl(vault, 'tls')))).version, 1, 'nothing was changed');
    assert.equal((await add('dated', { expires_at: '2099-01-31' })).expires_at, '2099-01-31T00:00:00.000Z');
  });

  rule(
    'are given in a zero-knowledge vault for every type, and stay when a value is sealed for another path',
    async () => {
      const name = await addVault(service, { is_zero_knowledge: true }, tenant.owner.token);
      const key = { key: new Uint8Array(32).fill(7) };
      const sealed = (path: string, version: number) => sealZeroKnowledge('v', key, { vault: name, path, version });
      const end = inDays(50);
      const more = { type: 'certificate', value: await sealed('hidden', 1), expires_at: end };
      await addSecret(service, name, 'hidden', more, tenant.owner.token);
      const body = { to_path: 'elsewhere', value: await sealed('elsewhere', 2) };
      assert.equal((await ok(call('POST', secretUrl(name, 'hidden', 'move'), body))).expires_at, end);
    },
  );

  rule('are hidden from callers who may list a secret and not its metadata', async () => {
    await add('key', { expires_at: inDays(5) });
    const { id, token } = await addColleague(service, tenant.id, 'member');
    const resource = [`vault/${vault}`, `vault/${vault}/**`];
    await addPolicy(service, { user: id }, [{ action: ['secrets:list'], resource }], tenant.owner.token);
    const list = (query: string) => ok(call('GET', `/v1/vaults/${vault}/secrets?${query}`, undefined, token));
    const [listed] = (await list('')).secrets;
    assert.deepEqual([listed.path, listed.expires_at], ['key', null]);
    assert.deepEqual((await list(`expires_before=${inDays(10)}`)).secrets, []);
  });

  rule('raise the risk as they come near', async () => {
    await add('key', { expires_at: inDays(20) });
    const factors = async () =>
      (await ok(call('GET', `${secretUrl(vault, 'key')}/risk`))).risk_factors
        .filter(({ factor }: { factor: string }) => factor === 'ends_soon')
        .map(({ points }: { points: number }) => points);
    assert.deepEqual(await factors(), [5]);
    service.clock.advance(15 * DAY_MS);
    assert.deepEqual(await factors(), [10]);
    service.clock.advance(10 * DAY_MS);
    assert.deepEqual(await factors(), [20]);
  });
});
