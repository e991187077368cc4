import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  approved,
  done,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
} from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('personal access tokens', (database) => {
  let service: Service;
  let admin: Person;
  let member: Person;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
    admin = await addPerson(service, { role: 'admin' });
    member = await addPerson(service);
  });
  after(() => service.close());

  const get = (token: string, path: string, from?: string) =>
    service.call('GET', path, { token, ...(from !== undefined && { headers: { 'x-forwarded-for': from } }) });
  const isDead = (token: string) => refused(get(token, '/auth/me'), 401, 'INVALID_TOKEN');
  const works = (token: string) => ok(get(token, '/auth/me'));
  const revoke = (id: string, by: string) => service.call('DELETE', `/auth/tokens/${id}`, { token: by });
  const patchUser = (id: string, body: object) =>
    done(service, service.call('PATCH', `/v1/users/${id}`, { body }), 200);

  test('a token is shown once, and only its hash is stored', async () => {
    const made = await addToken(service, member.token, { name: 'deploy' });
    assert.match(made.token, /^cv_pat_[\w-]+\.[\w-]+\.[\w-]+$/);
    const claims = JSON.parse(Buffer.from(made.token.split('.')[1], 'base64url').toString());
    assert.equal(claims.jti, made.id);
    const read = await get(member.token, `/auth/tokens/${made.id}`);
    const list = await get(member.token, '/auth/tokens');
    const byAdmin = await get(admin.token, `/auth/tokens?user_id=${member.id}`);
    for (const { text } of [read, list, byAdmin]) {
      assert.ok(text.includes(made.id));
      assert.ok(!text.includes(made.token) && !text.includes('"token"') && !text.includes('hash'));
    }
    const rows = await service.app.kernel.database.read.selectFrom('tokens').selectAll().execute();
    const signature = String(made.token.split('.')[2]);
    assert.ok(!JSON.stringify(rows).includes(signature));
  });

  test('it lives 90 days unless told, and never more than 365', async () => {
    const lifetime = async (body: object) => {
      const { created_at, expires_at } = await addToken(service, await logIn(service, member), body);
      return Math.round((Date.parse(expires_at) - Date.parse(created_at)) / DAY_MS);
    };
    assert.equal(await lifetime({}), 90);
    assert.equal(await lifetime({ ttl_days: 365 }), 365);
    for (const ttl_days of [366, 0, -1, 1.5, '30', null]) {
      const body = { name: 'x', ttl_days };
      await invalid(service.call('POST', '/auth/tokens', { token: member.token, body }), '/body/ttl_days');
    }
  });

  test('it stops working when it expires, and is listed as expired', async () => {
    const { token, id } = await addToken(service, member.token, { ttl_days: 1 });
    service.clock.advance(DAY_MS - MINUTE_MS);
    await works(token);
    service.clock.advance(MINUTE_MS);
    await isDead(token);
    assert.equal((await ok(get(member.token, `/auth/tokens/${id}`))).status, 'expired');
  });

  describe('scope', () => {
    test('lets through the actions named and nothing else', async () => {
      const { token } = await addToken(service, admin.token, { scope: { actions: ['users:list', 'groups:*'] } });
      await ok(get(token, '/v1/users'));
      await ok(service.call('POST', '/v1/groups', { token, body: { name: `scoped-${database}` } }), 201);
      const before = (await allPages(service, '/v1/users', 'users')).length;
      const body = { email: 'never@example.com' };
      await refused(service.call('POST', '/v1/users', { token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(get(token, `/v1/users/${member.id}`), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(get(token, '/v1/audit'), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal((await allPages(service, '/v1/users', 'users')).length, before);
    });

    test('with vaults closes everything that is in no vault, but not one’s own things', async () => {
      const { token } = await addToken(service, admin.token, { scope: { vaults: ['prod'] } });
      await refused(get(token, '/v1/users'), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(get(token, '/v1/audit'), 403, 'INSUFFICIENT_PRIVILEGE');
      await ok(get(token, '/auth/tokens'));
    });

    test('that is empty permits nothing but to ask who one is', async () => {
      const { token } = await addToken(service, admin.token, { scope: { actions: [] } });
      await works(token);
      await refused(get(token, '/auth/tokens'), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(
        service.call('POST', '/auth/tokens', { token, body: { name: 'x' } }),
        403,
        'INSUFFICIENT_PRIVILEGE',
      );
    });

    test('never adds to what its owner may do', async () => {
      const { token } = await addToken(service, member.token, { scope: { actions: ['*'], vaults: ['*'] } });
      await refused(get(token, '/v1/users'), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('is told back, and bad patterns are pointed at', async () => {
      const scope = { actions: ['secrets:read'], vaults: ['prod', 'stage-*'] };
      assert.deepEqual((await addToken(service, member.token, { scope })).scope, scope);
      const tries: [object, string][] = [
        [{ scope: { actions: ['secrets'] } }, '/body/scope/actions/0'],
        [{ scope: { actions: ['a:b', 'a:b:c'] } }, '/body/scope/actions/1'],
        [{ scope: { vaults: ['a/b'] } }, '/body/scope/vaults/0'],
        [{ scope: { paths: ['a'] } }, '/body/scope/paths'],
        [{ ip_allowlist: [] }, '/body/ip_allowlist'],
        [{ ip_allowlist: ['10.0.0.0/8', '10.0.0.300'] }, '/body/ip_allowlist/1'],
        [{ name: '' }, '/body/name'],
        [{ rate_limits: { read: 0 } }, '/body/rate_limits/read'],
        [{ user_id: admin.id }, '/body/user_id'],
      ];
      for (const [part, pointer] of tries) {
        const body = { name: 'x', ...part };
        await invalid(service.call('POST', '/auth/tokens', { token: member.token, body }), pointer);
      }
    });
  });

  test('an address list is obeyed on every endpoint, whatever the client says of itself', async () => {
    const ip_allowlist = ['203.0.113.0/24', '2001:db8::/32'];
    const { token } = await addToken(service, admin.token, { ip_allowlist });
    for (const path of ['/auth/me', '/v1/users', '/auth/tokens']) {
      await ok(get(token, path, '203.0.113.7'));
      await ok(get(token, path, '2001:db8:1::1'));
      // Only the last hop was written by the proxy; whatever stands before it, the client wrote.
      for (const from of [
        '198.51.100.1',
        '203.0.113.7, 198.51.100.1',
        '203.0.114.1',
        '2001:db9::1',
        'nonsense',
        undefined,
      ]) {
        await refused(get(token, path, from), 403, 'IP_NOT_ALLOWED');
      }
    }
  });

  describe('made with another token', () => {
    test('stays inside that one’s scope and addresses', async () => {
      const parent = await addToken(service, admin.token, {
        scope: { actions: ['tokens:create', 'users:*'] },
        ip_allowlist: ['127.0.0.1'],
      });
      const child = await addToken(service, parent.token, { scope: { actions: ['*'] }, ip_allowlist: ['0.0.0.0/0'] });
      await ok(get(child.token, '/v1/users'));
      await refused(get(child.token, '/v1/groups'), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(get(child.token, '/v1/users', '203.0.113.7'), 403, 'IP_NOT_ALLOWED');
      const grandchild = await addToken(service, child.token, { scope: { actions: ['users:list', 'groups:list'] } });
      await ok(get(grandchild.token, '/v1/users'));
      await refused(get(grandchild.token, '/v1/groups'), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('ends with it, by time', async () => {
      const parent = await addToken(service, member.token, { ttl_days: 1 });
      const long = { name: 'long', ttl_days: 365 };
      const refusal = await service.call('POST', '/auth/tokens', { token: parent.token, body: long });
      await invalid(Promise.resolve(refusal), '/body/ttl_days');
      assert.match(refusal.body.error.message, /expires within a day|at most 1 day /);
      const child = await addToken(service, parent.token);
      assert.equal(child.expires_at, parent.expires_at);
      service.clock.advance(DAY_MS);
      await isDead(child.token);
    });

    test('ends with it, by revocation, through every generation', async () => {
      const parent = await addToken(service, member.token);
      const child = await addToken(service, parent.token);
      const grandchild = await addToken(service, child.token);
      await works(grandchild.token);
      await ok(revoke(parent.id, member.token), 200);
      for (const { token } of [parent, child, grandchild]) await isDead(token);
      await works(member.token);
      assert.equal((await ok(get(member.token, `/auth/tokens/${grandchild.id}`))).status, 'revoked');
    });

    test('ends with it also when both happen at once', async () => {
      for (let round = 0; round < 10; round++) {
        const parent = await addToken(service, member.token);
        const body = { name: 'child' };
        const children = Array.from({ length: 4 }, () =>
          service.call('POST', '/auth/tokens', { token: parent.token, body }),
        );
        const [revoked, ...answers] = await Promise.all([revoke(parent.id, member.token), ...children]);
        assert.equal(revoked.status, 200);
        for (const { status, body: child } of answers) if (status === 201) await isDead(child.token);
      }
    });

    test('goes eight deep and no deeper', async () => {
      let { token } = await addToken(service, await logIn(service, member));
      for (let depth = 2; depth <= 8; depth++) token = (await addToken(service, token)).token;
      await refused(service.call('POST', '/auth/tokens', { token, body: { name: 'ninth' } }), 409, 'IN_USE');
    });
  });

  test('made in a session, it outlives the session', async () => {
    const session = await logIn(service, member);
    const { token } = await addToken(service, session);
    await ok(service.call('POST', '/auth/logout', { token: session }), 204);
    await works(token);
  });

  test('revoking takes effect on the next request, and once is enough', async () => {
    const made = await addToken(service, member.token);
    await works(made.token);
    await ok(revoke(made.id, member.token), 200);
    const error = await isDead(made.token);
    assert.deepEqual(error.details, { jti: made.id });
    await ok(revoke(made.id, member.token), 200);
  });

  test('a token can revoke itself', async () => {
    const made = await addToken(service, member.token);
    await ok(revoke(made.id, made.token), 200);
    await isDead(made.token);
  });

  describe('when its owner changes', () => {
    test('a demotion takes its power on the very next request', async () => {
      const person = await addPerson(service, { role: 'admin' });
      await ok(get(person.token, '/v1/users'));
      await patchUser(person.id, { role: 'member' });
      await refused(get(person.token, '/v1/users'), 403, 'INSUFFICIENT_PRIVILEGE');
      await patchUser(person.id, { role: 'admin' });
      await ok(get(person.token, '/v1/users'));
    });

    test('who is disabled can do nothing, and has to log in anew once enabled again', async () => {
      const person = await addPerson(service, { role: 'admin' });
      const session = await logIn(service, person);
      await patchUser(person.id, { status: 'disabled' });
      await isDead(person.token);
      await isDead(session);
      await patchUser(person.id, { status: 'active' });
      // What was made before may be in other hands: that is often why somebody was disabled.
      await isDead(person.token);
      await isDead(session);
      await works(await logIn(service, person));
    });

    test('who is deleted takes every token along', async () => {
      const person = await addPerson(service, { role: 'admin' });
      const session = await logIn(service, person);
      await approved(service, service.call('DELETE', `/v1/users/${person.id}`), admin.token);
      await isDead(person.token);
      await isDead(session);
      const { tokens } = await ok(get(admin.token, `/auth/tokens?user_id=${person.id}`));
      assert.ok(tokens.length > 0 && tokens.every((t: Answer['body']) => t.status === 'revoked'));
    });
  });

  test('other people’s tokens are closed to a member, whether they exist or not', async () => {
    const { id } = await addToken(service, admin.token);
    const there = await refused(get(member.token, `/auth/tokens/${id}`), 403, 'INSUFFICIENT_PRIVILEGE');
    const gone = await refused(get(member.token, '/auth/tokens/token_none'), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal(there.message, gone.message);
    await refused(revoke(id, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(get(member.token, `/auth/tokens?user_id=${admin.id}`), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal((await ok(get(admin.token, `/auth/tokens/${id}`))).status, 'active');
  });

  test('tokens of another tenant do not exist', async () => {
    const { owner } = await addTenant(service);
    const made = await addToken(service, admin.token);
    await refused(get(owner.token, `/auth/tokens/${made.id}`), 404, 'NOT_FOUND');
    await refused(revoke(made.id, owner.token), 404, 'NOT_FOUND');
    assert.deepEqual((await ok(get(owner.token, `/auth/tokens?user_id=${admin.id}`))).tokens, []);
    await works(made.token);
  });

  test('the list is newest first and complete, page by page', async () => {
    const person = await addPerson(service);
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift((await addToken(service, person.token)).id);
    const rows = await allPages(service, '/auth/tokens?limit=2', 'tokens', { token: person.token });
    assert.deepEqual(
      rows.map((row) => row.id).filter((id) => made.includes(id)),
      made,
    );
    assert.equal(rows.length, 7, 'the session and the first token are there too');
  });

  test('public keys are published without their private part and rotate with overlap', async () => {
    const keys = async () => (await ok(service.call('GET', '/.well-known/jwks.json', { token: null }))).keys;
    const kidOf = (token: string) =>
      JSON.parse(Buffer.from(token.slice(7).split('.')[0] ?? '', 'base64url').toString()).kid;
    assert.ok((await keys()).every((key: object) => !('d' in key)));
    const old = await addToken(service, member.token);
    service.clock.advance(30 * DAY_MS);
    await service.app.kernel.signingKeys.rotate();
    const published = await keys();
    assert.equal(kidOf((await addToken(service, member.token)).token), kidOf(old.token), 'published before it signs');
    service.clock.advance(2 * HOUR_MS);
    const fresh = await addToken(service, member.token);
    assert.notEqual(kidOf(fresh.token), kidOf(old.token));
    assert.ok(published.some((key: { kid: string }) => key.kid === kidOf(fresh.token)));
    await works(old.token);
    await works(fresh.token);
  });
});
