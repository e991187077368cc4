import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addConnection,
  callAs,
  type Machine,
  newDpopKey,
  proofBy,
  tlsCall,
} from '../../../../test/support/machines.ts';
import { addColleague, ok, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addUnlistedVault, addVault, POLICY_VERSION, secretUrl } from '../../../../test/support/vaults.ts';

/** As the operator's webhook provider asks: the key is escaped as in a query, and an unset version is an empty parameter. */
onSqliteAtLanding('external secrets', (database) => {
  let service: Service;
  let vault: string;
  let machine: Machine;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    await addSecret(service, vault, 'db/main', { value: '{"user":"a","password":"b"}', type: 'json' });
    await addSecret(service, vault, 'hidden');
    machine = await addConnection(service, vault, { allowed_paths: ['db/*'], scopes: ['eso:read'] });
  });
  after(() => service.close());

  const byName = (name: string, more = '') =>
    callAs(service, machine, 'GET', `/eso/secrets/by-name?vault=${vault}&name=${encodeURIComponent(name)}${more}`);
  const byId = (id: string | number) => callAs(service, machine, 'GET', `/eso/secrets/by-id?id=${id}`);

  test('by name and by either id, with the fields of the interface and no others', async () => {
    const made = await ok(service.call('GET', secretUrl(vault, 'db/main')));
    const named = await byName('db/main', '&version=');
    assert.equal(named.status, 200);
    const { id, updated_at } = made;
    const value = '{"user":"a","password":"b"}';
    assert.deepEqual(named.body, {
      id,
      name: 'db/main',
      vault,
      path: 'db/main',
      type: 'json',
      value,
      version: 1,
      updated_at,
    });
    assert.deepEqual((await byId(made.id)).body, named.body);
    assert.deepEqual((await byId(made.secret_id)).body, named.body);
    assert.match(named.headers.get('content-type') ?? '', /^application\/json/);
    const conditional = await callAs(service, machine, 'GET', `/eso/secrets/by-name?vault=${vault}&name=db%2Fmain`, {
      headers: { 'if-none-match': named.headers.get('etag') ?? '"v1"' },
    });
    assert.equal(conditional.status, 200, 'never a 304, which the operator does not understand');
  });

  test('a property is one member of a JSON object, and never the whole value in its place', async () => {
    const value = JSON.stringify({
      user: 'a',
      port: 5432,
      'a.b': 'dotted',
      a: { b: 'nested', c: null },
      list: [1],
      empty: '',
    });
    const { id } = await addSecret(service, vault, 'db/object', { value, type: 'json' });
    const given = {
      user: 'a',
      port: '5432',
      'a.b': 'dotted',
      a: '{"b":"nested","c":null}',
      'a.c': 'null',
      list: '[1]',
      empty: '',
    };
    for (const [property, expected] of Object.entries(given)) {
      const query = `property=${encodeURIComponent(property)}`;
      assert.equal((await byName('db/object', `&${query}`)).body.value, expected, property);
      assert.equal((await byId(`${id}&${query}`)).body.value, expected, property);
    }
    assert.equal((await byName('db/object', '&property=')).body.value, value);
    await addSecret(service, vault, 'db/text', { value: 'plain s3cret' });
    const refusals: [string, string][] = [
      ['object', 'none'],
      ['object', 'a.none'],
      ['object', 'user.length'],
      ['object', '__proto__'],
      ['object', 'toString'],
      ['text', 'x'],
    ];
    for (const [name, property] of refusals) {
      const { status, body } = await byName(`db/${name}`, `&property=${property}`);
      assert.deepEqual([status, body.error.details?.fields?.[0]?.pointer], [422, '/query/property'], property);
      assert.doesNotMatch(JSON.stringify(body), /s3cret|nested|5432/);
    }
  });

  test('an older version is found by its number', async () => {
    await addSecret(service, vault, 'db/two', { value: 'one' });
    await ok(service.call('PUT', secretUrl(vault, 'db/two'), { body: { value: 'two' } }));
    assert.equal((await byName('db/two')).body.value, 'two');
    assert.equal((await byName('db/two', '&version=1')).body.value, 'one');
    const absent = await byName('db/two', '&version=9');
    assert.deepEqual(
      [absent.status, absent.body.error.code],
      [422, 'VALIDATION_FAILED'],
      'a 404 would remove a secret that is there',
    );
    assert.equal(absent.body.error.details.fields[0].pointer, '/query/version');
  });

  test('404 is for what is really gone; what is denied or unknown is 403', async () => {
    const gone = await addSecret(service, vault, 'db/gone');
    const hidden = await ok(service.call('GET', secretUrl(vault, 'hidden')));
    await ok(service.call('DELETE', secretUrl(vault, 'db/gone')));
    assert.equal((await byName('db/gone')).status, 404);
    assert.equal((await byId(gone.id)).status, 404, 'deleted, where it may read');
    assert.equal((await byName('db/never-was')).status, 404);
    for (const id of [hidden.id, hidden.secret_id, 'sec_00000000000000000000000000', '123456', 'nonsense']) {
      assert.equal((await byId(id)).status, 403, String(id));
    }
    assert.equal((await byName('hidden')).status, 403);
    assert.equal((await byName('never-was')).status, 403);
    const elsewhere = await callAs(service, machine, 'GET', '/eso/secrets/by-name?vault=never-was&name=db%2Fmain');
    assert.equal(elsewhere.status, 403);
    assert.equal((await callAs(service, machine, 'GET', '/eso/vault/never-was')).status, 403);
    assert.equal((await byName('../hidden')).status, 422);
    const wide = await addConnection(service, vault);
    const name = uniqueName('policy');
    const statement = [{ effect: 'allow', action: ['eso:*'], resource: ['*'] }];
    const document = { version: POLICY_VERSION, statement };
    await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
    const body = { principal: { app_connection: wide.client_id } };
    await ok(service.call('POST', `/v1/policies/${name}/attach`, { body }));
    const unknown = '/eso/secrets/by-id?id=sec_00000000000000000000000000';
    const told = [await callAs(service, wide, 'GET', unknown)];
    assert.equal(told[0]?.status, 403, 'whatever a policy allows');
    const elsewhereId = (await addSecret(service, await addVault(service), 'a')).id;
    told.push(await callAs(service, wide, 'GET', `/eso/secrets/by-id?id=${elsewhereId}`), await byId(hidden.id));
    told.push(await byId('sec_00000000000000000000000000'));
    const words = new Set(told.map(({ status, body }) => `${status} ${body.error.message}`));
    assert.equal(words.size, 1, [...words].join());
    await service.call('GET', `/eso/secrets/by-name?vault=${vault}&name=db%2Fmain`, { token: null });
  });

  test('the listing shows what it may read, without values', async () => {
    const page = await callAs(service, machine, 'GET', `/eso/vault/${vault}`);
    assert.equal(page.status, 200);
    const names = page.body.secrets.map((s: { name: string }) => s.name);
    assert.ok(names.includes('db/main') && !names.includes('hidden'));
    assert.doesNotMatch(page.text, /password/);
  });

  test('a listing in which a condition leaves nothing is refused like that of a vault that never was', async () => {
    const where = await addVault(service, { tags: ['t'] });
    await addSecret(service, where, 'a', { metadata: { tags: ['t'] } });
    const told = async (by: Machine, name: string) => {
      const { status, body } = await callAs(service, by, 'GET', `/eso/vault/${name}`);
      return [status, body.error?.code];
    };
    for (const condition of [
      { environment: ['staging'] },
      { tag_equals: ['t'] },
      { ip_cidr: ['127.0.0.0/8', '::1'] },
    ]) {
      const reader = await addConnection(service, where, { scopes: ['eso:read'] });
      assert.equal((await told(reader, where))[0], 200);
      const body = {
        name: uniqueName('policy'),
        document: {
          version: POLICY_VERSION,
          statement: [{ effect: 'deny', action: ['eso:*'], resource: ['vault/**'], condition }],
        },
      };
      await ok(service.call('POST', '/v1/policies', { body }), 201);
      const principal = { app_connection: reader.client_id };
      await ok(service.call('POST', `/v1/policies/${body.name}/attach`, { body: { principal } }));
      assert.equal((await told(reader, where))[0], 403);
      // Of every other vault, there or not, the text is another: a connection knows which vaults are its own.
      assert.deepEqual(await told(reader, where), await told(reader, 'never-was'));
    }
  });

  test('its scope opens these endpoints and nothing else', async () => {
    assert.equal((await callAs(service, machine, 'GET', secretUrl(vault, 'db/main'))).status, 403);
    const reader = await addConnection(service, vault, { scopes: ['secrets:read'] });
    assert.equal((await callAs(service, reader, 'GET', `/eso/vault/${vault}`)).status, 403);
    const person = await service.call('GET', `/eso/vault/${vault}`);
    assert.equal(person.status, 403, 'people have endpoints of their own');
  });

  test('a certificate takes a proof with it; without client headers neither is enough', async () => {
    const strict = await addConnection(service, vault, { mtls_required: true, scopes: ['eso:read'] });
    const url = `/eso/secrets/by-name?vault=${vault}&name=db%2Fmain`;
    assert.equal((await tlsCall(service, strict, url)).body.error.code, 'DPOP_REQUIRED');
    const key = await newDpopKey();
    const claims = { htu: `${service.tlsUrl}/eso/secrets/by-name`, at: service.clock.now() };
    const dpop = await proofBy(key, claims);
    assert.equal((await tlsCall(service, strict, url, { headers: { dpop } })).status, 200);
    const alone = await service.call('GET', url, { token: null, headers: { dpop: await proofBy(key, claims) } });
    assert.equal(alone.status, 401);
  });

  test('fortress secrets and zero-knowledge vaults are not served, and that is not a 404', async () => {
    const { kernel } = service.app;
    const maker = await addColleague(service, kernel.operatorTenantId, 'admin', { mfaAt: service.clock.now() });
    const fortress = await addSecret(service, vault, 'db/fortress', { protection: 'fortress' }, maker.token);
    assert.equal((await byName('db/fortress')).status, 403);
    assert.equal((await byId(fortress.id)).status, 403);
    const listed = await callAs(service, machine, 'GET', `/eso/vault/${vault}`);
    assert.ok(!listed.body.secrets.some((s: { id: string }) => s.id === fortress.id));
  });

  test('every call is recorded, also where a vault asks for silence, and no value with it', async () => {
    const { token } = await addColleague(service, service.app.kernel.operatorTenantId, 'admin');
    const quiet = await addUnlistedVault(service, token);
    await addSecret(service, quiet, 'a', { value: 'marker-of-a-value' });
    const reader = await addConnection(service, quiet, { scopes: ['eso:read'] });
    await ok(callAs(service, reader, 'GET', `/eso/secrets/by-name?vault=${quiet}&name=a`));
    const { entries } = await ok(service.call('GET', `/v1/audit?actor=${reader.client_id}&action=eso:read&limit=10`));
    assert.equal(entries.length, 1);
    assert.equal(entries[0].resource, `vault/${quiet}/a`);
    assert.doesNotMatch(JSON.stringify(entries), /marker-of-a-value/);
  });
});
