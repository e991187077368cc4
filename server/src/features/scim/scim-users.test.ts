import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addTenant, ok, patOf, refused, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import {
  addScim,
  PATCH_SCHEMA,
  type ScimClient,
  type ScimResource,
  SEARCH_SCHEMA,
  USER_SCHEMA,
} from '../../../../test/support/scim.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';

/** People whom an identity provider provisions, with requests as Okta and Entra send them. */

onBothDatabases('SCIM users', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let idp: ScimClient;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    idp = await addScim(service, tenant.owner.token);
  });
  after(() => service.close());

  const address = () => `${uniqueName('user')}@acme.example`;
  const userOf = async (id: string) => ok(service.call('GET', `/v1/users/${id}`, { token: tenant.owner.token }));
  const find = async (filter: string, client = idp) =>
    (await good(client.call('GET', `/Users?filter=${encodeURIComponent(filter)}`))).Resources as { id: string }[];
  const entryOf = async (answer: Answer, of = tenant) => {
    const id = answer.headers.get('x-request-id');
    const { entries } = await ok(service.call('GET', `/v1/audit?request_id=${id}`, { token: of.owner.token }));
    return entries[0];
  };

  describe('as Okta sends them', () => {
    test('created, found, replaced, deactivated and activated', async () => {
      const userName = address();
      const none = await good(
        idp.call('GET', `/Users?filter=userName%20eq%20%22${userName}%22&startIndex=1&count=100`),
      );
      assert.equal(none.totalResults, 0);
      const body = {
        schemas: [USER_SCHEMA],
        userName,
        name: { givenName: 'Ada', familyName: 'Lovelace' },
        emails: [{ primary: true, value: userName, type: 'work' }],
        displayName: 'Ada Lovelace',
        locale: 'en-US',
        externalId: uniqueName('00u'),
        groups: [],
        password: 'nobody keeps this 1A',
        active: true,
      };
      const created = await idp.call('POST', '/Users', body);
      assert.equal(created.status, 201, created.text);
      assert.equal(created.headers.get('content-type'), 'application/scim+json');
      assert.equal(created.headers.get('location'), created.body.meta.location);
      assert.equal(created.headers.get('etag'), created.body.meta.version);
      const { id, meta, ...shown } = created.body;
      assert.deepEqual(shown, {
        schemas: [USER_SCHEMA],
        userName,
        externalId: body.externalId,
        name: body.name,
        displayName: 'Ada Lovelace',
        emails: [{ value: userName, type: 'work', primary: true }],
        active: true,
      });
      assert.equal(meta.location, `${service.url}/scim/v2/Users/${id}`);
      const account = await userOf(id);
      assert.deepEqual(
        { email: account.email, name: account.name, role: account.role, has_password: account.has_password },
        { email: userName, name: 'Ada Lovelace', role: 'member', has_password: false },
      );
      assert.deepEqual(await find(`userName eq "${userName.toUpperCase()}"`), [created.body]);
      const renamed = { ...body, name: { givenName: 'Ada', familyName: 'King' }, displayName: 'Ada King', id };
      const replaced = await good(idp.call('PUT', `/Users/${id}`, renamed));
      assert.equal(replaced.displayName, 'Ada King');
      assert.notEqual(replaced.meta.version, meta.version);
      const off = { schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', value: { active: false } }] };
      assert.equal((await good(idp.call('PATCH', `/Users/${id}`, off))).active, false);
      assert.equal((await userOf(id)).status, 'disabled');
      const on = { schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', value: { active: true } }] };
      assert.equal((await good(idp.call('PATCH', `/Users/${id}`, on))).active, true);
      assert.equal((await userOf(id)).status, 'active');
      assert.equal((await good(idp.call('PUT', `/Users/${id}`, { ...renamed, active: false }))).active, false);
    });

    test('listed by index, within bounds', async () => {
      const client = await addScim(service, (await addTenant(service)).owner.token);
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push((await client.addUser()).id);
      const page = (query: string) => good(client.call('GET', `/Users?${query}`));
      const first = await page('startIndex=1&count=2');
      assert.deepEqual(
        [first.totalResults, first.startIndex, first.itemsPerPage, first.Resources.map(idOf)],
        [5, 1, 2, ids.slice(0, 2)],
      );
      assert.deepEqual((await page('startIndex=5&count=2')).Resources.map(idOf), ids.slice(4));
      assert.deepEqual((await page('startIndex=0&count=999999999999999')).Resources.map(idOf), ids);
      for (const query of ['count=0', 'count=-1', 'startIndex=6', 'startIndex=999999999999999']) {
        const { totalResults, Resources } = await page(query);
        assert.deepEqual([totalResults, Resources], [5, []], query);
      }
      assert.deepEqual(Object.keys((await page('attributes=userName')).Resources[0]), ['schemas', 'id', 'userName']);
      const slim = (await page('excludedAttributes=emails,name.givenName,meta')).Resources[0];
      assert.deepEqual(Object.keys(slim), ['schemas', 'id', 'userName', 'active']);
      await scimError(client.call('GET', '/Users?count=many'), 400, 'invalidValue');
    });
  });

  describe('as Entra sends them', () => {
    test('found by each attribute that it matches by', async () => {
      const externalId = uniqueName('5f1a');
      const userName = address();
      const email = address();
      const { id } = await idp.addUser({ userName, externalId, displayName: 'Grace', emails: email2(email) });
      const filters = [
        `userName eq "${userName}"`,
        `externalId eq "${externalId}"`,
        `id eq "${id}"`,
        `emails.value eq "${email}"`,
        `emails[type eq "work"].value eq "${email}"`,
        `emails[type eq "work" and value eq "${email}"]`,
        `(userName eq "${userName}" and active eq true)`,
        `externalId eq "nobody" or (displayName eq "Grace" and id eq "${id}")`,
        `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "${userName}"`,
      ];
      for (const filter of filters) assert.deepEqual((await find(filter)).map(idOf), [id], filter);
      for (const filter of [
        `userName eq "${userName}" and active eq "False"`,
        `emails[type eq "home"].value eq "${email}"`,
        'externalId eq "%"',
      ]) {
        assert.deepEqual(await find(filter), [], filter);
      }
      const wrong = [
        'userName gt "a"',
        'userName co ""',
        'active co "true"',
        'not (title pr)',
        'not userName pr',
        'userName',
        'title eq "x"',
        'emails[type eq "work"]',
        'active eq "maybe"',
        'x eq "a',
      ];
      for (const filter of wrong) {
        const path = `/Users?filter=${encodeURIComponent(filter)}`;
        const { detail } = await scimError(idp.call('GET', path), 400, 'invalidFilter');
        assert.match(detail, /What works/);
      }
    });

    test('found by parts of attributes, by their absence, and by what they are not', async () => {
      const client = await addScim(service, tenant.owner.token);
      const found = async (filter: string) => (await find(filter, client)).map(idOf);
      const [ada, bob] = [
        await client.addUser({
          userName: 'Ada.50%@acme.example',
          displayName: 'Ada_L',
          name: { familyName: 'Lovelace' },
        }),
        await client.addUser({ userName: 'bob@acme.example', externalId: 'subject-b', active: false }),
      ];
      const expected: [string, ScimResource[]][] = [
        ['userName sw "ADA"', [ada]],
        ['userName co "%"', [ada]],
        ['userName co "_"', []],
        ['userName ew "@acme.example"', [ada, bob]],
        ['userName ew "xbob@acme.example"', []],
        ['emails.value sw "bob@"', [bob]],
        ['emails[value co "ADA"]', [ada]],
        ['name.familyName co "lace"', [ada]],
        ['externalId pr', [bob]],
        ['not (externalId pr)', [ada]],
        ['externalId ne "subject-b"', [ada]],
        ['not (displayName co "_L" or active eq false)', []],
        ['userName pr and not (active eq true)', [bob]],
      ];
      for (const [filter, people] of expected) {
        assert.deepEqual((await found(filter)).sort(), people.map(idOf).sort(), filter);
      }
    });

    test('searched for with the query in the body, alone and together with groups', async () => {
      const client = await addScim(service, tenant.owner.token);
      const ada = await client.addUser({ userName: 'ada@search.example', name: { givenName: 'Ada', familyName: 'L' } });
      const group = await client.addGroup(uniqueName('Search'), [ada.id]);
      const search = async (path: string, body: object) =>
        good(client.call('POST', `${path}/.search`, { schemas: [SEARCH_SCHEMA], ...body }));
      const whole = await search('', { attributes: ['name.givenName', 'displayName'] });
      assert.deepEqual([whole.totalResults, whole.Resources.length], [2, 2]);
      assert.deepEqual(whole.Resources[0], { schemas: [USER_SCHEMA], id: ada.id, name: { givenName: 'Ada' } });
      assert.equal(whole.Resources[1].displayName, group['displayName']);
      const second = await search('', { startIndex: 2, count: 1 });
      assert.deepEqual([second.totalResults, second.Resources.map(idOf)], [2, [group.id]]);
      assert.deepEqual((await search('', { filter: 'userName sw "ada"' })).Resources.map(idOf), [ada.id]);
      assert.deepEqual((await search('/Users', { filter: 'userName pr' })).Resources.map(idOf), [ada.id]);
      assert.deepEqual((await search('/Groups', { filter: 'members pr' })).Resources.map(idOf), [group.id]);
      for (const path of ['', '/Users'])
        await scimError(client.call('POST', `${path}/.search`, { filter: 'userName gt 1' }), 400, 'invalidFilter');
      assert.equal(
        (await search('', {})).Resources.some(({ id }: { id: string }) => id.startsWith('user_')),
        true,
      );
      const other = await addScim(service, tenant.owner.token);
      assert.equal((await good(other.call('POST', '/.search', {}))).totalResults, 0);
    });

    rule('shown with their groups, which nothing but the groups changes', async () => {
      const client = await addScim(service, tenant.owner.token);
      const ada = await client.addUser({ userName: address() });
      const before = await client.call('GET', `/Users/${ada.id}`);
      assert.equal(before.body.groups, undefined);
      const group = await client.addGroup(uniqueName('Shown'), [ada.id]);
      const after = await client.call('GET', `/Users/${ada.id}`);
      const $ref = `${service.url}/scim/v2/Groups/${group.id}`;
      assert.deepEqual(after.body.groups, [{ value: group.id, display: group['displayName'], type: 'direct', $ref }]);
      assert.notEqual(after.headers.get('etag'), before.headers.get('etag'));
      const [listed] = (await good(client.call('GET', '/Users?attributes=groups.value'))).Resources;
      assert.deepEqual(listed, { schemas: [USER_SCHEMA], id: ada.id, groups: [{ value: group.id }] });
      for (const path of ['id', 'groups', 'meta.created', 'groups[value eq "x"]'])
        await scimError(client.patch(`/Users/${ada.id}`, { op: 'replace', path, value: 'x' }), 400, 'mutability');
      // Okta sends the id of a group with its new name.
      const renamed = await client.patch(`/Groups/${group.id}`, {
        op: 'replace',
        value: { id: group.id, displayName: uniqueName('Renamed') },
      });
      assert.equal(renamed.status, 200, renamed.text);
    });

    rule('changed by paths that are keys of the value', async () => {
      const { id } = await idp.addUser({ userName: address() });
      const email = address();
      const value = { 'name.familyName': 'Hopper', 'emails[type eq "work"].value': email };
      const answer = await idp.patch(`/Users/${id}`, { op: 'add', value });
      assert.deepEqual([answer.body.name, answer.body.emails[0].value], [{ familyName: 'Hopper' }, email]);
      const wrong = { op: 'add', value: { 'emails[type gt "work"].value': email } };
      await scimError(idp.patch(`/Users/${id}`, wrong), 400, 'invalidPath');
    });

    rule('changed by operations with capitals, paths, text for booleans and attributes nobody knows', async () => {
      const { id } = await idp.addUser({ displayName: 'Before', name: { givenName: 'B' } });
      const email = address();
      const answer = await idp.patch(
        `/Users/${id}`,
        { op: 'Replace', path: 'displayName', value: 'After' },
        { op: 'Add', path: 'name.familyName', value: 'Hopper' },
        { op: 'Replace', path: 'emails[type eq "work"].value', value: email.toUpperCase() },
        { op: 'Replace', path: 'emails[type eq "home"].value', value: address() },
        { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'Navy' },
        { op: 'Add', path: 'addresses[type eq "work"].locality', value: 'Paris' },
        { op: 'Remove', path: 'title' },
        { op: 'Replace', path: 'active', value: 'False' },
      );
      const { displayName, name, emails, active } = await good(Promise.resolve(answer));
      assert.deepEqual([displayName, name, active], ['After', { givenName: 'B', familyName: 'Hopper' }, false]);
      assert.deepEqual(emails, [{ value: email, type: 'work', primary: true }]);
      const without = await good(
        idp.patch(`/Users/${id}`, {
          op: 'Add',
          value: { 'name.givenName': 'Grace', 'urn:ietf:params:scim:schemas:core:2.0:User:active': 'True' },
        }),
      );
      assert.deepEqual([without.name, without.active], [{ givenName: 'Grace', familyName: 'Hopper' }, true]);
      const removed = await good(idp.patch(`/Users/${id}`, { op: 'Remove', path: 'name' }));
      assert.equal(removed.name, undefined);
      assert.equal((await entryOf(answer)).action, 'scim:update_user');
    });

    rule('what cannot be done is refused whole, with the error of SCIM', async () => {
      const { id, displayName } = await idp.addUser({ displayName: 'Stays' });
      const cases: [object, string][] = [
        [{ op: 'remove', path: 'userName' }, 'mutability'],
        [{ op: 'remove', path: 'active' }, 'mutability'],
        [{ op: 'remove' }, 'noTarget'],
        [{ op: 'move', path: 'active', value: true }, 'invalidSyntax'],
        [{ op: 'replace', path: 'active', value: 'perhaps' }, 'invalidValue'],
        [{ op: 'replace', path: 'name..x', value: 'a' }, 'invalidPath'],
        [{ op: 'replace', path: 'displayName' }, 'invalidValue'],
        [{ op: 'replace', path: 'displayName', value: 'two\nlines' }, 'invalidValue'],
        [{ op: 'replace', path: 'displayName', value: 'x'.repeat(200) }, 'invalidValue'],
        [{ op: 'replace', path: 'emails', value: [{ value: 'no address' }] }, 'invalidValue'],
        [{ op: 'replace', value: 'text' }, 'invalidValue'],
        [{ op: 'replace', path: 'externalId', value: 'ü' }, 'invalidValue'],
      ];
      for (const [operation, scimType] of cases) {
        const attempt = idp.patch(`/Users/${id}`, { op: 'replace', path: 'displayName', value: 'Gone' }, operation);
        await scimError(attempt, 400, scimType);
      }
      assert.equal((await good(idp.call('GET', `/Users/${id}`))).displayName, displayName);
      await scimError(idp.call('PATCH', `/Users/${id}`, { Operations: [] }), 400, 'invalidValue');
      await scimError(idp.call('POST', '/Users', { schemas: [USER_SCHEMA] }), 400, 'invalidValue');
      await scimError(idp.call('POST', '/Users', { userName: 'no.address' }), 400, 'invalidValue');
      const text = { 'content-type': 'text/plain' };
      await scimError(idp.call('POST', '/Users', { userName: address() }, text), 400, 'invalidSyntax');
      await scimError(idp.call('GET', '/Users/user_00000000000000000000000000'), 404);
      await scimError(idp.call('GET', '/Me'), 404);
      await scimError(idp.call('DELETE', '/Users'), 405);
      const plain = { 'content-type': 'application/json', accept: 'application/json' };
      const asJson = await idp.call('POST', '/Users', { userName: address() }, plain);
      assert.deepEqual([asJson.status, asJson.headers.get('content-type')], [201, 'application/json']);
    });
  });

  test('names and addresses are unique, and no account is joined by its address', async () => {
    const { userName, externalId } = await idp.addUser({ externalId: uniqueName('sub') });
    await scimError(idp.call('POST', '/Users', { userName: String(userName).toUpperCase() }), 409, 'uniqueness');
    await scimError(idp.call('POST', '/Users', { userName: address(), externalId }), 409, 'uniqueness');
    const byHand = { email: address(), role: 'auditor' };
    const made = await ok(service.call('POST', '/v1/users', { token: tenant.owner.token, body: byHand }), 201);
    const { detail } = await scimError(idp.call('POST', '/Users', { userName: byHand.email }), 409, 'uniqueness');
    assert.match(detail, /never joined by address/);
    const { id } = await idp.addUser();
    const taken = { op: 'replace', path: 'emails', value: [{ value: byHand.email, primary: true }] };
    await scimError(idp.patch(`/Users/${id}`, taken), 409, 'uniqueness');
    await scimError(
      idp.patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: externalId }),
      409,
      'uniqueness',
    );
    for (const method of ['GET', 'DELETE']) await scimError(idp.call(method, `/Users/${made.id}`), 404);
    assert.equal((await userOf(made.id)).role, 'auditor');
  });

  test('of requests at the same time one creates the person, and no member is lost', async () => {
    const body = { userName: address(), externalId: uniqueName('sub') };
    const created = await Promise.all(Array.from({ length: 4 }, () => idp.call('POST', '/Users', body)));
    assert.deepEqual(created.map(({ status }) => status).sort(), [201, 409, 409, 409]);
    const { id } = await idp.addGroup(uniqueName('group'));
    const people = await Promise.all(Array.from({ length: 4 }, () => idp.addUser()));
    const joined = people.map(({ id: value }) =>
      idp.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value }] }),
    );
    await Promise.all(joined.map(good));
    const { members } = await good(idp.call('GET', `/Groups/${id}`));
    assert.deepEqual(members.map(({ value }: { value: string }) => value).sort(), people.map(idOf).sort());
  });

  rule('versions guard changes', async () => {
    const { id, meta } = (await idp.addUser()) as unknown as { id: string; meta: { version: string } };
    const body = { schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', path: 'displayName', value: 'New' }] };
    const match = (version: string) => ({ 'if-match': version });
    const path = `/Users/${id}`;
    const changed = await good(idp.call('PATCH', path, body, match(meta.version)));
    for (const method of ['PATCH', 'DELETE']) {
      const sent = method === 'PATCH' ? body : undefined;
      await scimError(idp.call(method, path, sent, match(meta.version)), 412);
    }
    const same = await idp.call('GET', path, undefined, { 'if-none-match': changed.meta.version });
    assert.equal(same.status, 304);
    assert.equal((await idp.call('DELETE', path, undefined, match(changed.meta.version))).status, 204);
  });

  describe('deprovisioning', () => {
    rule('ends tokens at once, and activation does not revive them', async () => {
      const { id } = await idp.addUser();
      const token = await patOf(service, tenant.id, id);
      const me = () => service.call('GET', '/auth/me', { token });
      await ok(me());
      await good(idp.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' }));
      await refused(me(), 401, 'INVALID_TOKEN');
      await good(idp.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' }));
      await refused(me(), 401, 'INVALID_TOKEN');
      const fresh = await patOf(service, tenant.id, id);
      await ok(service.call('GET', '/auth/me', { token: fresh }));
      const gone = await idp.call('DELETE', `/Users/${id}`);
      assert.deepEqual([gone.status, gone.text], [204, '']);
      await refused(service.call('GET', '/auth/me', { token: fresh }), 401, 'INVALID_TOKEN');
      await scimError(idp.call('GET', `/Users/${id}`), 404);
      await scimError(idp.call('DELETE', `/Users/${id}`), 404);
      assert.equal((await entryOf(gone)).action, 'scim:delete_user');
      assert.equal((await entryOf(gone)).actor.kind, 'scim');
    });

    rule('a user whom an admin disabled stays disabled until an admin enables them', async () => {
      const { id } = await idp.addUser();
      const setStatus = (status: string) =>
        ok(service.call('PATCH', `/v1/users/${id}`, { token: tenant.owner.token, body: { status } }));
      await setStatus('disabled');
      for (const active of [true, false, true]) {
        assert.equal(
          (await good(idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: active }))).active,
          false,
        );
      }
      await setStatus('active');
      assert.equal((await good(idp.call('GET', `/Users/${id}`))).active, true);
    });

    rule('so does one whom an admin disabled after the provider had deactivated them', async () => {
      const { id } = await idp.addUser();
      const setActive = async (value: boolean) =>
        (await good(idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value }))).active;
      const change = (body: object) =>
        ok(service.call('PATCH', `/v1/users/${id}`, { token: tenant.owner.token, body }));
      await setActive(false);
      await change({ name: 'Ada' });
      assert.equal(await setActive(true), true, 'no other change by an admin keeps the provider from it');
      await setActive(false);
      await change({ status: 'disabled' });
      assert.deepEqual([await setActive(true), await setActive(false), await setActive(true)], [false, false, false]);
      assert.equal((await userOf(id)).status, 'disabled');
      await change({ status: 'active' });
      assert.deepEqual([await setActive(false), await setActive(true)], [false, true]);
    });

    rule('never touches an owner', async () => {
      const { id } = await idp.addUser();
      const as = { token: tenant.owner.token };
      await ok(service.call('PATCH', `/v1/users/${id}`, { ...as, body: { role: 'owner' } }));
      const attempts = [
        () => idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }),
        () => idp.patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: 'mine-now' }),
        () => idp.call('PUT', `/Users/${id}`, { userName: address() }),
        () => idp.call('DELETE', `/Users/${id}`),
      ];
      for (const attempt of attempts) {
        const { detail } = await scimError(attempt(), 403);
        assert.match(detail, /owner/);
      }
      await good(idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true }));
      const { status, role } = await userOf(id);
      assert.deepEqual([status, role], ['active', 'owner']);
      await scimError(idp.call('DELETE', `/Users/${tenant.owner.id}`), 404);
    });
  });

  rule('a second tenant, and a second provider, see none of it', async () => {
    const { id, userName } = await idp.addUser();
    const elsewhere = await addTenant(service);
    const others = [await addScim(service, elsewhere.owner.token), await addScim(service, tenant.owner.token)];
    for (const other of others) {
      for (const [method, body] of [['GET'], ['DELETE'], ['PUT', { userName: address() }]] as [string, object?][]) {
        await scimError(other.call(method, `/Users/${id}`, body), 404);
      }
      assert.deepEqual(await find(`userName eq "${userName}" or id eq "${id}"`, other), []);
      const group = await other.addGroup(uniqueName('Group'));
      const member = { op: 'add', path: 'members', value: [{ value: id }] };
      await scimError(other.patch(`/Groups/${group.id}`, member), 400, 'invalidValue');
    }
    assert.equal((await userOf(id)).status, 'active');
  });

  rule('what describes the service says what is there', async () => {
    const config = await good(idp.call('GET', '/ServiceProviderConfig'));
    assert.deepEqual([config.patch.supported, config.bulk.supported, config.etag.supported], [true, false, true]);
    const types = await good(idp.call('GET', '/ResourceTypes'));
    assert.deepEqual(types.Resources.map(idOf), ['User', 'Group']);
    assert.equal((await good(idp.call('GET', '/ResourceTypes/Group'))).endpoint, '/Groups');
    const schemas = await good(idp.call('GET', '/Schemas'));
    for (const { id, attributes } of schemas.Resources) {
      assert.deepEqual((await good(idp.call('GET', `/Schemas/${id}`))).attributes, attributes);
    }
    await scimError(idp.call('GET', '/Schemas/urn:x'), 404);
    await scimError(idp.call('GET', '/ResourceTypes/Device'), 404);
  });
});

const idOf = ({ id }: { id: string }) => id;
const email2 = (value: string) => [
  { value: 'another@home.example', type: 'home' },
  { value, type: 'work', primary: 'True' },
];

async function good(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, text, body } = await answer;
  assert.equal(status, 200, text);
  return body;
}

async function scimError(answer: Promise<Answer>, status: number, scimType?: string): Promise<{ detail: string }> {
  const { status: actual, body, text } = await answer;
  assert.deepEqual([actual, body?.scimType], [status, scimType], text);
  return body;
}
