import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { granter } from '../../../../test/support/isolation.ts';
import { firstPasskey, signIn } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  allPages,
  approve,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { catchUp } from '../../../../test/support/rollups.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('people who are created as members of vaults', (database) => {
  let service: Service;
  let admin: Person;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    admin = await addPerson(service, { role: 'admin' });
  });
  after(() => service.close());

  const create = (vaults: unknown, token = service.adminToken, more: object = {}) =>
    service.call('POST', '/v1/users', {
      token,
      body: { email: `${uniqueName('new')}@example.com`, invite: true, vaults, ...more },
    });
  const vaultsOf = async (id: string, token = service.adminToken) =>
    (await ok(service.call('GET', `/v1/users/${id}/vaults`, { token }))).vaults;
  const userBy = async (email: string) =>
    (await allPages(service, '/v1/users', 'users')).find((user) => user.email === email);

  test('read what they may from their first sign-in on, and each vault has it in its log', async () => {
    const [one, two] = [await addVault(service), await addVault(service)];
    await addSecret(service, one, 'db');
    const made = await ok(
      create([
        { vault: two, role: 'writer' },
        { vault: one, role: 'reader' },
      ]),
      201,
    );
    const body = { token: made.invitation.token, password: 'chosen by themselves' };
    const { token } = await ok(service.call('POST', '/auth/accept-invite', { token: null, body }));
    assert.equal((await ok(service.call('GET', secretUrl(one, 'db'), { token }))).value, 'value of db');
    const shown = (await vaultsOf(made.id)).map((each: Record<string, unknown>) => [each['vault'], each['role']]);
    assert.deepEqual(
      shown,
      [
        [one, 'reader'],
        [two, 'writer'],
      ].toSorted((a, b) => ((a[0] as string) < (b[0] as string) ? -1 : 1)),
    );
    const { entries } = await ok(service.call('GET', `/v1/audit?vault=${two}&action=vault_member_added`));
    assert.deepEqual(entries[0].details, { member: made.id, role: 'writer' });
  });

  test('for a production vault a second person approves all of it, and sees which', async () => {
    const vault = await addVault(service, { environment: 'production' });
    const email = `${uniqueName('new')}@example.com`;
    const { approval_id } = await ok(create([{ vault, role: 'reader' }], service.adminToken, { email }), 202);
    assert.equal(await userBy(email), undefined);
    const { request } = await ok(service.call('GET', `/approvals/${approval_id}`, { token: admin.token }));
    assert.deepEqual(request.differences, [
      { what: `role of ${email} in vault ${vault}`, before: null, after: 'reader' },
    ]);
    const decided = await ok(approve(service, approval_id, admin.token));
    assert.equal(decided.status, 'completed', JSON.stringify(decided.failure));
    assert.equal((await vaultsOf((await userBy(email))?.id))[0].vault, vault);
  });

  test('a caller without permission to add members creates nobody, and does not learn which vaults there are', async () => {
    const vault = await addVault(service);
    const maker = await addPerson(service);
    await (await granter(service, maker.id, admin))([{ action: ['users:create'], resource: ['user'] }]);
    const email = `${uniqueName('new')}@example.com`;
    const there = await refused(
      create([{ vault, role: 'reader' }], maker.token, { email }),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    const missing = await refused(
      create([{ vault: uniqueName('none'), role: 'reader' }], maker.token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    assert.equal(there.message, missing.message);
    assert.equal(await userBy(email), undefined);
    await ok(create([], maker.token), 201);
  });

  test('a vault of another tenant, of nobody, or named twice creates nobody', async () => {
    const foreign = await addTenant(service);
    const theirs = await addVault(service, {}, foreign.owner.token);
    const email = `${uniqueName('new')}@example.com`;
    for (const vault of [theirs, uniqueName('none')]) {
      const asked = create([{ vault, role: 'reader' }], service.adminToken, { email });
      await refused(asked, 404, 'VAULT_NOT_FOUND');
    }
    const vault = await addVault(service);
    const twice = [
      { vault, role: 'reader' },
      { vault, role: 'manager' },
    ];
    await invalid(create(twice), '/body/vaults/1/vault');
    await invalid(create([{ vault, role: 'owner' }]), '/body/vaults/0/role');
    const many = Array.from({ length: 21 }, (_, i) => ({ vault: `v${i}`, role: 'reader' }));
    await invalid(create(many), '/body/vaults');
    assert.equal(await userBy(email), undefined);
  });

  test('a vault with fortress secrets takes the proof that adding a member takes', async () => {
    const tenant = await addTenant(service);
    const keeper = await addPerson(service, { tenant, role: 'admin' });
    const { passkey } = await firstPasskey(service, keeper);
    service.clock.advance(DAY_MS);
    const proven = await signIn(service, passkey);
    const vault = await addVault(service, {}, keeper.token);
    await addSecret(service, vault, 'gold', { protection: 'fortress' }, proven);
    await refused(create([{ vault, role: 'reader' }], keeper.token), 403, 'MFA_REQUIRED');
    await ok(create([{ vault, role: 'reader' }], proven), 201);
  });

  test('the list has memberships by groups, in pages, and only of vaults whose members the caller may list', async () => {
    const [one, two] = [await addVault(service), await addVault(service)].toSorted() as [string, string];
    const { id } = await ok(create([{ vault: one, role: 'reader' }]), 201);
    const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
    await ok(service.call('POST', `/v1/groups/${group.id}/members`, { body: { user_id: id } }), 201);
    const body = { group: group.name, role: 'manager' };
    await ok(service.call('POST', `/v1/vaults/${two}/members`, { body }), 201);
    const first = await ok(service.call('GET', `/v1/users/${id}/vaults?limit=1`));
    const next = encodeURIComponent(first.next_cursor);
    const second = await ok(service.call('GET', `/v1/users/${id}/vaults?limit=1&cursor=${next}`));
    assert.equal(second.next_cursor, null);
    const pages = [...first.vaults, ...second.vaults];
    assert.deepEqual(
      pages.map((each) => [each.vault, each.role, each.group]),
      [
        [one, 'reader', null],
        [two, 'manager', group.name],
      ],
    );
    const looker = await addPerson(service);
    await refused(
      service.call('GET', `/v1/users/${id}/vaults`, { token: looker.token }),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    await (await granter(service, looker.id, admin))([
      { action: ['users:read'], resource: ['user/*'] },
      { action: ['members:list'], resource: [`vault/${two}`] },
    ]);
    const seen = await vaultsOf(id, looker.token);
    assert.deepEqual(
      seen.map((each: Record<string, unknown>) => [each['vault'], each['group']]),
      [[two, group.id]],
      'the name of a group that they may not read is not told',
    );
  });

  test('are seen when they did something, and not when somebody was refused in their name', async () => {
    const person = await addPerson(service);
    const count = () => catchUp(service.app.kernel, service.app.kernel.operatorTenantId, new AbortController().signal);
    const seenAt = async () => (await ok(service.call('GET', `/v1/users/${person.id}`))).last_seen_at;
    await count();
    const first = await seenAt();
    service.clock.advance(HOUR_MS);
    await refused(service.call('GET', '/v1/users', { token: person.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    await count();
    assert.equal(await seenAt(), first);
    const before = service.clock.now();
    await logIn(service, person);
    await count();
    assert.ok(Date.parse(await seenAt()) >= before);
    const listed = await userBy(person.email);
    assert.equal(listed?.last_seen_at, await seenAt());
    await ok(service.call('DELETE', `/v1/users/${person.id}`));
    await count();
    const query = service.app.kernel.database.read.selectFrom('user_activity').selectAll();
    assert.deepEqual(await query.where('user_id', '=', person.id).execute(), []);
  });
});
