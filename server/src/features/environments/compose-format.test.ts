import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, invalid, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, auditOf } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('composed environments', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
  });
  after(() => service.close());

  const get = (path: string, token = service.adminToken) => service.call('GET', path, { token });

  /** A new environment with these values. */
  async function environmentWith(values: Record<string, string>, where = vault): Promise<Answer['body']> {
    const made = await ok(service.call('POST', '/environments', { body: { name: uniqueName('env.x') } }), 201);
    for (const [key_name, value] of Object.entries(values)) {
      const { id: secret_id } = await addSecret(service, where, uniqueName('s'), { value });
      await ok(service.call('POST', `/environments/${made.id}/secrets`, { body: { secret_id, key_name } }), 201);
    }
    return made;
  }

  test('in a format are names and values alone, which programs read back exactly', async () => {
    const values = { A_KEY: 'plain', B_KEY: `it's "two" $words`, C_KEY: 'line 1\nline 2\\\\' };
    const { id, name } = await environmentWith(values);
    const json = await get(`/environments/${id}/compose?resolve=true&format=json`);
    assert.deepEqual([json.status, json.body], [200, values]);
    const shell = await get(`/environments/${name}/compose?resolve=true&format=shell`);
    assert.match(shell.headers.get('content-type') ?? '', /^text\/plain/);
    const script = `${shell.text}node -p 'JSON.stringify([process.env.A_KEY, process.env.B_KEY, process.env.C_KEY])'`;
    assert.deepEqual(JSON.parse(execFileSync('sh', ['-c', script], { encoding: 'utf8' })), Object.values(values));
    const simple = await environmentWith({ PORT: '5432', TEXT: 'two words' });
    const dotenv = await get(`/environments/${simple.id}/compose?format=dotenv&resolve=true`);
    assert.equal(dotenv.text, "PORT=5432\nTEXT='two words'\n");
    const reads = await auditOf(service, `vault=${vault}&action=secrets:read`);
    assert.ok(reads.length >= 8 && reads.every(({ details }) => details.via === 'compose'));
    const [entry] = await auditOf(service, 'action=environments:compose');
    assert.deepEqual(
      [entry.resource, entry.details.format, entry.details.values],
      [`environment/${simple.id}`, 'dotenv', 2],
    );
  });

  test('what a format cannot hold is refused before anything is sent, and never shown', async () => {
    const { id } = await environmentWith({ BAD: ['with a \r and $', '{X}'].join(''), 'A.B': 'x', GOOD: 'fine' });
    for (const [format, names] of [
      ['dotenv', /A\.B[\s\S]*BAD/],
      ['shell', /A\.B/],
    ] as const) {
      const answer = await get(`/environments/${id}/compose?resolve=true&format=${format}`);
      assert.equal(answer.status, 422);
      assert.match(answer.text, names);
      assert.ok(!answer.text.includes('with a') && !answer.text.includes('fine'));
    }
    assert.equal((await ok(get(`/environments/${id}/compose?resolve=true&format=json`)))['A.B'], 'x');
    await invalid(get(`/environments/${id}/compose?format=yaml`), '/query/format');
    for (const without of ['format=json', 'format=dotenv&resolve=false'])
      await invalid(get(`/environments/${id}/compose?${without}`), '/query/resolve');
  });

  test('a name that changes how programs are loaded is refused unless the reader asks for it', async () => {
    const { id } = await environmentWith({ LD_PRELOAD: '/tmp/x.so', GOOD: 'fine' });
    for (const format of ['dotenv', 'shell']) {
      const path = `/environments/${id}/compose?resolve=true&format=${format}`;
      const { details } = await refused(get(path), 422, 'VALIDATION_FAILED');
      assert.match(details.fields[0].reason, /LD_PRELOAD.*permit=LD_PRELOAD/);
      await refused(get(`${path}&permit=PATH`), 422, 'VALIDATION_FAILED');
      for (const asked of ['permit=LD_PRELOAD', 'permit=PATH&permit=LD_PRELOAD', 'key_name=LD_PRELOAD']) {
        const answer = await get(`${path}&${asked}`);
        assert.equal(answer.status, 200, answer.text);
        assert.match(answer.text, /LD_PRELOAD='?\/tmp\/x\.so/);
      }
      assert.equal((await get(`${path}&key_name=GOOD`)).status, 200);
    }
    assert.equal((await ok(get(`/environments/${id}/compose?resolve=true&format=json`)))['LD_PRELOAD'], '/tmp/x.so');
  });

  test('a format has every value or none', async () => {
    const hidden = await addVault(service);
    const { id } = await environmentWith({ OPEN: 'open value' });
    const { id: secret_id } = await addSecret(service, hidden, 'a', { value: 'hidden value' });
    const body = { secret_id, key_name: 'HIDDEN' };
    await ok(service.call('POST', `/environments/${id}/secrets`, { body }), 201);
    const person = await addPerson(service);
    const rights = [
      { action: ['environments:compose'], resource: [`environment/${id}`] },
      { action: ['secrets:read'], resource: [`vault/${vault}/**`] },
    ];
    await addPolicy(service, { user: person.id }, rights);
    const { message } = await refused(
      get(`/environments/${id}/compose?resolve=true&format=json`, person.token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    assert.match(message, /HIDDEN/);
    assert.doesNotMatch(message, /OPEN|value/);
    const { effective } = await ok(get(`/environments/${id}/compose?resolve=true`, person.token));
    assert.deepEqual([effective.OPEN.value, effective.HIDDEN.value], ['open value', undefined]);

    const sealed = await addVault(service, { is_zero_knowledge: true });
    const part = (length: number) => Buffer.alloc(length, 7).toString('base64url');
    const envelope = `zk:v1:aes-256-gcm:argon2id:${part(16)}:${part(12)}:${part(40)}:${part(16)}`;
    const other = await environmentWith({ KEY: envelope }, sealed);
    await refused(get(`/environments/${other.id}/compose?resolve=true&format=json`), 409, 'ZkBoundaryViolation');
  });

  test('are found by name wherever a path names them, and by the rights on their number', async () => {
    const { id, name } = await environmentWith({ KEY: 'x' });
    assert.equal((await ok(get(`/environments/${name}`))).id, id);
    assert.equal((await ok(get(`/environments/${name}/compose`))).environment_id, id);
    assert.equal((await ok(get(`/environments/${name}/secrets`))).secrets.length, 1);
    const { id: secret_id } = await addSecret(service, vault, uniqueName('s'));
    const send = (method: string, path: string, body?: object, status = 200) =>
      ok(service.call(method, `/environments/${path}`, body === undefined ? {} : { body }), status);
    await send('POST', `${name}/secrets`, { secret_id, key_name: 'MORE' }, 201);
    await send('DELETE', `${name}/secrets/${secret_id}`);
    const renamed = uniqueName('renamed');
    assert.equal((await send('PUT', name, { name: renamed })).id, id);
    await refused(get(`/environments/${name}`), 404, 'NOT_FOUND');

    // A number counts before a name of digits.
    const digits = await ok(service.call('POST', '/environments', { body: { name: '12345' } }), 201);
    assert.equal((await ok(get('/environments/12345'))).id, digits.id);
    assert.equal((await send('PUT', '12345', { name: String(id) })).id, digits.id);
    assert.equal((await ok(get(`/environments/${id}`))).id, id);
    await refused(get('/environments/12345'), 404, 'NOT_FOUND');
    await send('PUT', String(digits.id), { name: '12345' });

    // Who may compose one learns nothing about the names of others.
    const other = await environmentWith({});
    const person = await addPerson(service);
    const rights = [{ action: ['environments:compose'], resource: [`environment/${id}`] }];
    await addPolicy(service, { user: person.id }, rights);
    assert.equal((await ok(get(`/environments/${renamed}/compose`, person.token))).environment_id, id);
    const refusals = [];
    for (const guess of [other.name, uniqueName('nobody'), name, other.id])
      refusals.push(
        (await refused(get(`/environments/${guess}/compose`, person.token), 403, 'INSUFFICIENT_PRIVILEGE')).message,
      );
    assert.equal(new Set(refusals).size, 1);
    await refused(get('/environments/12345/compose', person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const stranger = await addTenant(service);
    await refused(get(`/environments/${renamed}`, stranger.owner.token), 404, 'NOT_FOUND');
    await send('DELETE', renamed);
    await refused(get(`/environments/${id}`), 404, 'NOT_FOUND');
  });
});
