import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ownerOf, SAME_ORIGIN, withSession } from '../support/console-requests.ts';
import { addPerson, addTenant, addToken, ok, type Person, type Tenant, uniqueName } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

/** A program on another port of the host replaces the cookie of the console, which no attribute of cookies prevents. */

const JSON_BODY = { 'content-type': 'application/json' };

onBothDatabases('a session that another program put into the browser', (database) => {
  let service: Service;
  let victims: Tenant;
  let attackers: Tenant;
  let victim: Person;
  let attacker: Person;
  before(async () => {
    service = await startService(database, { env: { CV_CONSOLE: 'on' } });
    [victims, attackers] = [await addTenant(service), await addTenant(service)];
    victim = await addPerson(service, { tenant: victims, role: 'admin' });
    attacker = await addPerson(service, { tenant: attackers, role: 'admin' });
    for (const tenant of [victims, attackers]) {
      const { token } = tenant.owner;
      await ok(service.call('POST', '/v1/vaults', { token, body: { name: 'shared-name' } }), 201);
      const body = { path: 'database', value: 'before' };
      await ok(service.call('POST', '/v1/vaults/shared-name/secrets', { token, body }), 201);
    }
  });
  after(() => service.close());

  const signIn = async ({ email, password }: Person, { name }: Tenant) => {
    const answer = await fetch(`${service.url}/console/api/auth/login`, {
      method: 'POST',
      headers: { ...SAME_ORIGIN, ...JSON_BODY },
      body: JSON.stringify({ email, password, tenant: name }),
    });
    assert.equal(answer.status, 200);
    const session = (await answer.json()) as { user_id: string; tenant_id: string };
    const cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    assert.equal(`${session.tenant_id}/${session.user_id}`, ownerOf(cookie), 'the console learns whose session it is');
    return cookie;
  };
  const send = async (headers: Record<string, string>, method = 'GET', path = '/auth/me', body?: object) => {
    const answer = await fetch(`${service.url}/console/api${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && JSON_BODY) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, code: text === '' ? null : (JSON.parse(text).error?.code ?? null) };
  };
  const valueIn = async ({ owner: { token } }: Tenant) =>
    (await ok(service.call('GET', '/v1/vaults/shared-name/secrets/database', { token }))).value;
  const REFUSED = { status: 403, code: 'SESSION_CHANGED' };

  test('does not receive what the person writes, nor show them what it may read', async () => {
    const [own, planted] = [await signIn(victim, victims), await signIn(attacker, attackers)];
    const swapped = withSession(planted, ownerOf(own));
    const path = '/v1/vaults/shared-name/secrets/database';
    assert.deepEqual(await send(swapped, 'PUT', path, { value: 'new production password' }), REFUSED);
    assert.deepEqual(await send(swapped, 'GET', path), REFUSED);
    assert.deepEqual(await send(swapped, 'POST', '/auth/step-up/options'), REFUSED);
    assert.deepEqual(await send(swapped, 'POST', '/auth/logout'), REFUSED);
    assert.equal(await valueIn(attackers), 'before');
    assert.equal(await valueIn(victims), 'before');
    assert.equal((await send(withSession(own))).status, 200);
    assert.equal((await send(withSession(planted))).status, 200, 'its own console may use it');
  });

  test('is refused if the request names nobody, or only a part of somebody', async () => {
    const own = await signIn(victim, victims);
    const [tenant = '', user = ''] = ownerOf(own).split('/');
    const owners = ['', tenant, user, `/${user}`, `${tenant}/`, `${user}/${tenant}`, ` ${tenant} / ${user}`];
    for (const owner of [...owners, ownerOf(own).toUpperCase(), `${ownerOf(own)}, ${ownerOf(own)}`, '*']) {
      assert.deepEqual(await send(withSession(own, owner)), REFUSED, owner);
    }
    assert.deepEqual(await send({ ...SAME_ORIGIN, cookie: own }), REFUSED);
  });

  test('leaves nothing of what the person did in the log of its owner', async () => {
    const own = await signIn(victim, victims);
    const path = uniqueName('merger-with-globex');
    const ended = await signIn(attacker, attackers);
    assert.equal((await send(withSession(ended), 'POST', '/auth/logout')).status, 204);
    const { token: pat } = await addToken(service, attackers.owner.token);
    const planted = [await signIn(attacker, attackers), ended, `__Host-coffer-session=${pat}`];
    for (const cookie of planted) {
      const swapped = withSession(cookie, ownerOf(own));
      for (const at of [`/v1/vaults/${path}`, `/v1/vaults/shared-name/secrets/${path}`, '/clusters/heartbeat']) {
        assert.ok([401, 403].includes((await send(swapped, 'GET', at)).status), at);
      }
    }
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=200', { token: attackers.owner.token }));
    assert.ok(entries.length > 0);
    assert.ok(!JSON.stringify(entries).includes(path));
    const { entries: ofOperator } = await ok(service.call('GET', '/v1/audit?limit=200'));
    const refused = ofOperator.filter(({ resource }: { resource: string }) => resource.includes(path));
    assert.ok(refused.length > 0, 'the operator sees the refusals');
    assert.ok(refused.some(({ reason }: { reason: string }) => /not of the user it was sent for/.test(reason)));
  });

  test('ends when the person signs in again over it', async () => {
    const planted = await signIn(attacker, attackers);
    const { email, password } = victim;
    const answer = await fetch(`${service.url}/console/api/auth/login`, {
      method: 'POST',
      headers: { ...SAME_ORIGIN, ...JSON_BODY, cookie: planted },
      body: JSON.stringify({ email, password, tenant: victims.name }),
    });
    assert.equal(answer.status, 200);
    assert.equal((await send(withSession(planted))).status, 401);
  });
});
