import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, addToken, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy } from '../../../../test/support/vaults.ts';
import { DECLARATIONS } from '../../tools/declarations.ts';

const PASSWORD = 'correct horse battery 9';

/** A token with a ceiling must find no way to lift it: neither through its owner's account nor through another one. */
onSqliteAtLanding('a token with a scope or an address list', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const restricted = (more: object) => addToken(service, service.adminToken, more);

  const ceilings: [string, object][] = [
    ['bound to vaults', { scope: { vaults: ['ci'] } }],
    ['bound to an address', { ip_allowlist: ['127.0.0.1'] }],
    [
      'bound to actions that cover the account',
      { scope: { actions: ['password:*', 'mfa:*', 'tokens:*', 'users:*', 'sessions:*'] } },
    ],
  ];
  for (const [name, ceiling] of ceilings) {
    test(`${name}: changes nothing of one’s own account, and gives nothing away`, async () => {
      const { token } = await restricted(ceiling);
      const body = { new_password: PASSWORD };
      await refused(service.call('POST', '/auth/password', { token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(service.call('POST', '/auth/mfa/totp', { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const confirm = service.call('POST', '/auth/mfa/totp/confirm', { token, body: { otp: '123456' } });
      await refused(confirm, 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(service.call('DELETE', '/auth/mfa/totp', { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const passkey = `/auth/mfa/passkeys/passkey_${'0'.repeat(26)}`;
      const rename = service.call('PATCH', passkey, { token, body: { name: 'mine' } });
      await refused(rename, 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(service.call('DELETE', passkey, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(service.call('DELETE', '/auth/links/okta', { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const access = `/v1/access-requests/access_${'0'.repeat(26)}`;
      await refused(service.call('DELETE', access, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const wanted = { vault: 'ci', role: 'reader', ttl_seconds: 3600, reason: 'to see it' };
      const request = service.call('POST', '/v1/access-requests', { token, body: wanted });
      await refused(request, 403, 'INSUFFICIENT_PRIVILEGE');
      // A share gives away only what its maker has already, so it is refused by a scope, and not by an address list.
      if ('scope' in ceiling) {
        const shared = {
          envelope: 'share:v1:key:kPp1x0o7w2N4q8aB:3mJtqg0zcQfUqS1v8X9pLwYkZrA7',
          expires_in_seconds: 3600,
        };
        await refused(service.call('POST', '/v1/shares', { token, body: shared }), 403, 'INSUFFICIENT_PRIVILEGE');
        const share = `/v1/shares/share_${'0'.repeat(26)}`;
        await refused(service.call('DELETE', share, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const session = `/auth/sessions/token_${'0'.repeat(26)}`;
      await refused(service.call('DELETE', session, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(service.call('DELETE', '/auth/sessions', { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const login = { email: 'admin@localhost', password: PASSWORD };
      await refused(service.call('POST', '/auth/login', { token: null, body: login }), 401, 'LOGIN_DENIED');
    });

    test(`${name}: cannot make or take over an account with rights`, async () => {
      const { token } = await restricted(ceiling);
      for (const role of ['owner', 'admin', 'auditor']) {
        const body = { email: `${uniqueName('evil')}@example.com`, role, password: PASSWORD };
        await refused(service.call('POST', '/v1/users', { token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const victim = await addPerson(service, { role: 'admin' });
      for (const body of [{ password: PASSWORD }, { role: 'member' }]) {
        const change = service.call('PATCH', `/v1/users/${victim.id}`, { token, body });
        await refused(change, 403, 'INSUFFICIENT_PRIVILEGE');
      }
    });
  }

  test('gives nobody rights that it has not, through a group or by taking a policy away', async () => {
    // A tenant with one admin, where nothing waits for another.
    const tenant = await addTenant(service);
    const owner = tenant.owner.token;
    const accomplice = await addPerson(service, { tenant });
    const name = uniqueName('group');
    const group = await ok(service.call('POST', '/v1/groups', { token: owner, body: { name } }), 201);
    await addPolicy(service, { group: name }, [{ action: ['*'], resource: ['*'] }], owner);
    const principal = { user: accomplice.id };
    const denial = await addPolicy(
      service,
      principal,
      [{ effect: 'deny', action: ['secrets:read'], resource: ['*'] }],
      owner,
    );
    const members = `/v1/groups/${group.id}/members`;
    for (const more of [{ scope: { actions: ['groups:*', 'policies:*'] } }, { ip_allowlist: ['127.0.0.1'] }]) {
      const { token } = await addToken(service, owner, more);
      const tries: [method: string, path: string, body?: object][] = [
        ['POST', members, { user_id: accomplice.id }],
        ['DELETE', `${members}/${accomplice.id}`],
        ['DELETE', `/v1/groups/${group.id}`],
        ['POST', `/v1/policies/${denial}/detach`, { principal }],
      ];
      for (const [method, path, body] of tries) {
        await refused(service.call(method, path, { token, ...(body && { body }) }), 403, 'INSUFFICIENT_PRIVILEGE');
      }
    }
    await refused(service.call('GET', '/v1/users', { token: accomplice.token }), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('bound to vaults: reaches nothing of its owner’s but to look, and to make a token bound the same', async () => {
    const other = await addToken(service, service.adminToken);
    const { token } = await restricted({ scope: { vaults: ['ci'] } });
    await refused(service.call('DELETE', `/auth/tokens/${other.id}`, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(service.call('GET', '/auth/me', { token }));
    const child = await addToken(service, token);
    await refused(service.call('GET', '/v1/users', { token: child.token }), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('every endpoint on one’s own things that changes something refuses it, unless it is listed here', async () => {
    // A session has no ceiling, so what only sessions can do needs no row.
    const changing = DECLARATIONS.filter(
      ({ resource, effect, credentials }) =>
        resource.startsWith('self') && effect === 'change' && credentials.includes('pat'),
    );
    assert.deepEqual(
      changing.map((d) => d.name).toSorted(),
      [
        'approveApproval',
        'changePassword',
        'confirmTotp',
        'createShare',
        'createToken',
        'deletePasskey',
        'deleteSsoLink',
        'disableTotp',
        'endAccess',
        'endSession',
        'endSessions',
        'enrolTotp',
        'rejectApproval',
        'renamePasskey',
        'requestAccess',
        'revokeShare',
        'updateMe',
      ],
      'a new one needs a row in the tests above',
    );
  });
});

onSqliteAtLanding('accounts', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('nobody changes their own password without the current one', async () => {
    const admin = await addPerson(service, { role: 'admin' });
    const body = { password: PASSWORD };
    const { error } = (await service.call('PATCH', `/v1/users/${admin.id}`, { token: admin.token, body })).body;
    assert.equal(error.details.fields[0].pointer, '/body/password');
  });

  test('an admin cannot revoke an owner’s token, and so cannot lock the owner out', async () => {
    const admin = await addPerson(service, { role: 'admin' });
    const { credential } = await ok(service.call('GET', '/auth/me'));
    const revoke = service.call('DELETE', `/auth/tokens/${credential.id}`, { token: admin.token });
    await refused(revoke, 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(service.call('GET', '/auth/me'));
  });

  test('an account that is disabled loses its tokens for good', async () => {
    const person = await addPerson(service);
    const { token } = await addToken(service, person.token);
    for (const status of ['disabled', 'active']) {
      await ok(service.call('PATCH', `/v1/users/${person.id}`, { body: { status } }));
    }
    await refused(service.call('GET', '/auth/me', { token }), 401, 'INVALID_TOKEN');
  });

  test('a tenant finds what the operator changed in its own log', async () => {
    const tenant = await addTenant(service);
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { plan: 'professional' } }));
    const { entries } = await ok(service.call('GET', '/v1/audit?action=tenants:update', { token: tenant.owner.token }));
    assert.equal(entries.length, 1);
    assert.deepEqual([entries[0].actor.kind, entries[0].ip], ['operator', '']);
    assert.equal((await ok(service.call('GET', '/v1/audit/verify', { token: tenant.owner.token }))).valid, true);
  });

  test('a stored response holds nothing from which a password could be guessed', async () => {
    const body = { email: `${uniqueName('kept')}@example.com`, password: PASSWORD };
    await ok(service.call('POST', '/v1/users', { body, headers: { 'idempotency-key': 'guess-me' } }), 201);
    const rows = await service.app.kernel.database.read.selectFrom('idempotency_keys').selectAll().execute();
    const asked = JSON.stringify(['createUser', {}, body]);
    const digest = createHash('sha256').update(asked).digest();
    for (const row of rows) {
      for (const column of Object.values(row)) {
        const bytes = typeof column === 'object' ? Buffer.from(column) : Buffer.from(String(column));
        for (const form of [digest, Buffer.from(digest.toString('hex')), Buffer.from(digest.toString('base64'))]) {
          assert.equal(bytes.indexOf(form), -1);
        }
      }
    }
    assert.ok(rows.length > 0);
  });
});
