import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { enrolPasskey, firstPasskey } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  invalid,
  logIn,
  ok,
  openSession,
  refused,
  type Tenant,
} from '../../../../test/support/people.ts';
import { statementsDuring } from '../../../../test/support/queries.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addTotp, beginTotp } from '../../../../test/support/totp.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { TOKENS } from '../tokens/storage/index.ts';

onSqliteAtLanding('what people have besides their password, and how they are called', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const factorsOf = async (id: string, token: string) =>
    (await ok(service.call('GET', `/v1/users/${id}`, { token }))).second_factors;

  test('who may read a person sees which second factors they have and from when each is trusted, and no more', async () => {
    const tenant = await addTenant(service);
    const owner = tenant.owner.token;
    const person = await addPerson(service, { tenant });
    assert.deepEqual(await factorsOf(person.id, owner), []);
    const { id } = await firstPasskey(service, person);
    const { passkeys } = await ok(service.call('GET', '/auth/mfa/passkeys', { token: person.token }));
    const [{ created_at, opens_fortress_from }] = passkeys;
    const first = { kind: 'passkey', added_at: created_at, opens_fortress_from };
    assert.deepEqual(await factorsOf(person.id, owner), [first]);
    service.clock.advance(DAY_MS);
    const later = await addPerson(service, { tenant });
    await addTotp(service, later.id);
    const [app] = await factorsOf(later.id, owner);
    assert.deepEqual(
      [app.kind, Date.parse(app.opens_fortress_from) - Date.parse(app.added_at)],
      ['totp', DAY_MS],
      'a day later',
    );
    const auditor = await addPerson(service, { tenant, role: 'auditor' });
    const list = await service.call('GET', '/v1/users?limit=200', { token: auditor.token });
    const shown = new Map(
      list.body.users.map((user: { id: string; second_factors: unknown[] }) => [user.id, user.second_factors]),
    );
    assert.deepEqual([shown.get(person.id), shown.get(later.id), shown.get(auditor.id)], [[first], [app], []]);
    assert.ok(!list.text.includes(id), 'no id of a passkey');
    await refused(
      service.call('GET', `/v1/users/${person.id}`, { token: person.token }),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    const other = await addTenant(service);
    await refused(service.call('GET', `/v1/users/${person.id}`, { token: other.owner.token }), 404, 'NOT_FOUND');
  });

  test('an enrolment that is not confirmed is no factor, and a removed one is gone', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    await beginTotp(service, person.id);
    assert.deepEqual(await factorsOf(person.id, tenant.owner.token), []);
    await firstPasskey(service, person);
    assert.equal((await factorsOf(person.id, tenant.owner.token)).length, 1);
    await ok(service.call('DELETE', `/v1/users/${person.id}/mfa`, { token: tenant.owner.token }));
    assert.deepEqual(await factorsOf(person.id, tenant.owner.token), []);
  });

  test('a list of many people asks the database for their factors all at once', async () => {
    const tenant = await addTenant(service);
    for (let n = 0; n < 3; n++) await firstPasskey(service, await addPerson(service, { tenant }));
    for (let n = 0; n < 9; n++) await addPerson(service, { tenant });
    const people = await allPages(service, '/v1/users', 'users', { token: tenant.owner.token });
    assert.equal(people.length, 13);
    const list = () => ok(service.call('GET', '/v1/users', { token: tenant.owner.token }));
    const asked = (await statementsDuring(list)).filter(
      ({ sql, parameters }) => /user_totp|user_passkeys/.test(sql) && parameters.includes(tenant.id),
    );
    assert.ok(asked.some(({ parameters }) => people.every(({ id }) => parameters.includes(id))));
    // It is two. A job that looks at everybody may ask a few times meanwhile.
    assert.ok(asked.length < people.length, `${asked.length} for ${people.length}`);
  });

  test('people change their own name, and nothing else of theirs or of others', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const rename = (body: object, token = person.token) => service.call('PATCH', '/auth/me', { token, body });
    const changed = await ok(rename({ name: 'Ana Example' }));
    assert.deepEqual([changed.id, changed.name, changed.role], [person.id, 'Ana Example', 'member']);
    assert.equal((await ok(service.call('GET', '/auth/me', { token: person.token }))).user.name, 'Ana Example');
    assert.equal(await nameOf(person.id, tenant), 'Ana Example');
    await invalid(rename({}), '/body/name');
    await invalid(rename({ name: 'x'.repeat(129) }), '/body/name');
    await invalid(rename({ name: 'two\nlines' }), '/body/name');
    await invalid(rename({ name: 'Ana', role: 'owner' }), '/body/role');
    const { token } = await addToken(service, person.token, { scope: { actions: ['self:*'] } });
    await refused(rename({ name: 'By a token' }, token), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal(await nameOf(person.id, tenant), 'Ana Example');
    await ok(rename({ name: '' }));
    assert.equal(await nameOf(person.id, tenant), '');
    const { entries } = await ok(service.call('GET', '/v1/audit?action=self:update', { token: tenant.owner.token }));
    assert.equal(entries.filter((entry: { decision: string }) => entry.decision === 'allow').length, 2);
  });

  const nameOf = async (id: string, tenant: Tenant) =>
    (await ok(service.call('GET', `/v1/users/${id}`, { token: tenant.owner.token }))).name;

  test('the owner is notified of the first token while it is good and they have another way in', async () => {
    const tenant = await addTenant(service);
    const { id, token } = tenant.owner;
    const codes = async (by: string): Promise<string[]> => {
      const { warnings } = await ok(service.call('GET', '/auth/me', { token: by }));
      return warnings.map(({ code }: { code: string }) => code);
    };
    assert.deepEqual(await codes(token), [], 'it is the only way in');
    const session = await openSession(service, id);
    const body = { name: 'first token of the owner' };
    await ok(service.call('POST', '/auth/tokens', { token: session, body }), 201);
    await enrolPasskey(service, session);
    assert.deepEqual(await codes(session), ['first_token'], 'a passkey is another');
    const { credential: first } = await ok(service.call('GET', '/auth/me', { token }));
    const admin = await addPerson(service, { tenant, role: 'admin' });
    assert.deepEqual(await codes(await logIn(service, admin)), ['two_admins'], 'others cannot revoke it');
    await ok(service.call('DELETE', `/auth/tokens/${first.id}`, { token: session }));
    assert.deepEqual(await codes(session), ['two_admins'], 'it is gone, and the other one only has its name');
  });

  test('a first token of an earlier release is one too, whatever its name; one that was requested is not', async () => {
    const { id: tenantId, owner } = await addTenant(service);
    const session = await openSession(service, owner.id);
    const body = { name: 'first token of the owner' };
    const own = await ok(service.call('POST', '/auth/tokens', { token: session, body }), 201);
    await enrolPasskey(service, session);
    const { credential: first } = await ok(service.call('GET', '/auth/me', { token: owner.token }));
    await recorded(service.app.kernel, tenantId, async (tx) => {
      for (const token_id of [first.id, own.id]) {
        const change = { handed_out: null, ...(token_id === first.id && { name: 'renamed' }) };
        await TOKENS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenantId, token_id }), change);
      }
    });
    const warned = async (): Promise<string[]> => {
      const { warnings } = await ok(service.call('GET', '/auth/me', { token: session }));
      return warnings.map(({ message }: { message: string }) => /token_\w+/.exec(message)?.[0]);
    };
    assert.deepEqual(await warned(), [first.id]);
    await ok(service.call('DELETE', `/auth/tokens/${first.id}`, { token: session }));
    assert.deepEqual(await warned(), []);
  });
});
