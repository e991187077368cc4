import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sealZeroKnowledge } from '../../../../../client/src/zero-knowledge-index.ts';
import { addColleague, addTenant, ok, refused, type Tenant } from '../../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, secretUrl } from '../../../../../test/support/vaults.ts';

onBothDatabases('templates that refer to other secrets', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    vault = await addVault(service, {}, tenant.owner.token);
  });

  const call = (method: string, path: string, body?: unknown, token = tenant.owner.token) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const add = (path: string, value: string, more: object = {}) =>
    addSecret(service, vault, path, { value, ...more }, tenant.owner.token);
  const ref = (path: string, field = '') => `{{coffer://${vault}/${path}${field}}}`;
  const addTemplate = (path: string, value: string) => add(path, value, { type: 'template' });
  const read = (path: string, query = '', token = tenant.owner.token) =>
    call('GET', `${secretUrl(vault, path)}${query}`, undefined, token);
  const resolvedValue = async (path: string, query = '') => (await ok(read(path, query))).value;
  const problemOf = async (answer: Promise<Answer>) => {
    const { details } = await refused(answer, 422, 'VALIDATION_FAILED');
    assert.equal(details.fields[0].pointer, '/body/value');
    return details.fields[0].reason as string;
  };
  const unresolved = async (path: string) =>
    (await refused(read(path), 409, 'TEMPLATE_UNRESOLVED')).details.reason as string;
  const put = (path: string, value: string) => call('PUT', secretUrl(vault, path), { value });

  test('are read with the values, and say which ones and which versions', async () => {
    await add('db/password', 's3cr3t');
    await add('db/login', '{"user":"app","more":{"port":5432}}', { type: 'json' });
    const text = `postgres://${ref('db/login', '#/user')}:${ref('db/password')}@db:${ref('db/login', '#/more/port')}/{{ .x }}`;
    const made = await addTemplate('dsn', text);
    const answer = await read('dsn');
    const { value, parts, version } = answer.body;
    assert.equal(value, 'postgres://app:s3cr3t@db:5432/{{ .x }}');
    assert.deepEqual(
      parts.map((part: { path: string; version: number }) => [part.path, part.version]),
      [
        ['db/login', 1],
        ['db/password', 1],
      ].toSorted(),
    );
    assert.equal(await resolvedValue('dsn', '?resolve=false'), text);
    await ok(put('db/password', 'n3w'));
    const again = await read('dsn');
    assert.equal(again.body.value, 'postgres://app:n3w@db:5432/{{ .x }}');
    assert.notEqual(again.headers.get('etag'), answer.headers.get('etag'));
    assert.equal(version, made.version);
    const changed = service.call('PUT', secretUrl(vault, 'dsn'), {
      token: tenant.owner.token,
      headers: { 'If-Match': again.headers.get('etag') ?? '' },
      body: { value: `x${ref('db/password')}` },
    });
    assert.equal((await ok(changed)).version, 2);
    assert.equal(await resolvedValue('dsn', '?version=1'), 'postgres://app:n3w@db:5432/{{ .x }}');
  });

  rule('are refused with the position when they are misspelt', async () => {
    const cases: [string, RegExp][] = [
      [`a{{coffer://${vault}/x`, /character 2 .*must be \{\{coffer/],
      [`{{ coffer://${vault}/x}}`, /character 1 .*without spaces/],
      [`{{COFFER://${vault}/x}}`, /character 1 /],
      [`{{coffer://${vault}/a/../b}}`, /character 1 .*\. or \.\./],
      [`{{coffer://${vault}/a%2Fb}}`, /character 1 /],
      [`{{coffer://${vault}/x?version=1}}`, /character 1 /],
      [`{{coffer://${vault}/x#user}}`, /character 1 /],
      [`{{coffer://${vault}/x/rotate}}`, /reserved/],
      [ref('x').repeat(17), /more than 16 .*character/],
      [`ab ${ref('self')}`, /character 4 .*the template itself/],
    ];
    for (const [value, expected] of cases) {
      const body = { path: 'self', type: 'template', value };
      assert.match(await problemOf(call('POST', `/v1/vaults/${vault}/secrets`, body)), expected, value);
    }
    await addTemplate('sixteen', ref('x').repeat(16));
  });

  test('resolve one level of templates in templates, and no cycle, whoever writes it when', async () => {
    await add('a', 'A');
    await addTemplate('inner', `<${ref('a')}>`);
    await addTemplate('outer', `[${ref('inner')}${ref('a')}]`);
    assert.equal(await resolvedValue('outer'), '[<A>A]');
    assert.match(await problemOf(put('inner', ref('outer'))), /refers at character 1 to .*outer/);
    const body = { path: 'third', type: 'template', value: ref('outer') };
    assert.match(
      await problemOf(call('POST', `/v1/vaults/${vault}/secrets`, body)),
      /character 1 .*outer, which is a template that refers to the template .*inner/,
    );
    // Neither refers to a template while it is written, so both are accepted.
    await addTemplate('left', ref('right'));
    await refused(read('right'), 404, 'SECRET_NOT_FOUND');
    assert.equal(await unresolved('left'), 'missing');
    await add('right', 'plain');
    assert.match(
      await problemOf(call('PUT', secretUrl(vault, 'right'), { type: 'template', value: ref('left') })),
      /left/,
    );
  });

  test('tell a caller who may not read a part nothing about it', async () => {
    await add('open/a', 'A');
    await add('closed/b', 'B');
    await addTemplate('open/both', `${ref('open/a')}${ref('closed/b')}`);
    await addTemplate('open/none', `${ref('open/a')}${ref('closed/none')}`);
    const reader = await addColleague(service, tenant.id, 'member');
    const statements = [
      { action: ['secrets:*'], resource: [`vault/${vault}/open/*`] },
      { action: ['secrets:list'], resource: [`vault/${vault}/*`] },
    ];
    await addPolicy(service, { user: reader.id }, statements, tenant.owner.token);
    const told = async (path: string) => {
      const { message, details } = await refused(read(path, '', reader.token), 403, 'INSUFFICIENT_PRIVILEGE');
      return [message.replace(/closed\/\w+/, 'PART'), details];
    };
    assert.deepEqual(await told('open/both'), await told('open/none'));
    assert.equal(
      (await ok(read('open/both', '?resolve=false', reader.token))).value,
      `${ref('open/a')}${ref('closed/b')}`,
    );
    const page = await ok(call('GET', `/v1/vaults/${vault}/secrets`, undefined, reader.token));
    assert.ok(page.secrets.every((secret: object) => !('parts_version' in secret)));
    // Writing tells no more: the same for what exists and what does not, and for what is a template.
    for (const to of ['closed/b', 'closed/none', 'open/both']) {
      const body = { path: `open/of-${to.replaceAll('/', '-')}`, type: 'template', value: ref(to) };
      await ok(call('POST', `/v1/vaults/${vault}/secrets`, body, reader.token), 201);
    }
  });

  test('are resolved for what may be used in their place', async () => {
    const proven = await addColleague(service, tenant.id, 'owner', { mfaAt: service.clock.now() });
    await add('part', 'F');
    await addTemplate('to-fortress', ref('part'));
    await ok(call('PUT', secretUrl(vault, 'part'), { protection: 'fortress' }, proven.token));
    for (const token of [tenant.owner.token, proven.token]) {
      const { details } = await refused(read('to-fortress', '', token), 409, 'TEMPLATE_UNRESOLVED');
      assert.equal(details.reason, 'fortress');
    }
    assert.match(await problemOf(put('to-fortress', `!${ref('part')}`)), /character 2 .*fortress/);
    await ok(call('DELETE', secretUrl(vault, 'part'), undefined, proven.token));
    await ok(call('DELETE', secretUrl(vault, 'to-fortress')));
    const production = await addVault(service, { environment: 'production' }, tenant.owner.token);
    await addSecret(service, production, 'p', { value: 'P', environment: 'production' }, tenant.owner.token);
    const development = await addVault(service, { environment: 'development' }, tenant.owner.token);
    const toProduction = { path: 't', type: 'template', value: `{{coffer://${production}/p}}` };
    assert.match(
      await problemOf(call('POST', `/v1/vaults/${development}/secrets`, toProduction)),
      /production secret, and does not fit a development template/,
    );
    const sealedVault = await addVault(service, { is_zero_knowledge: true }, tenant.owner.token);
    const envelope = await sealZeroKnowledge(
      'v',
      { key: new Uint8Array(32).fill(7) },
      { vault: sealedVault, path: 'z', version: 1 },
    );
    await addSecret(service, sealedVault, 'z', { value: envelope }, tenant.owner.token);
    const toSealed = { path: 't', type: 'template', value: `{{coffer://${sealedVault}/z}}` };
    assert.match(await problemOf(call('POST', `/v1/vaults/${vault}/secrets`, toSealed)), /zero-knowledge/);
    const inSealed = { path: 't', type: 'template', value: envelope };
    await refused(call('POST', `/v1/vaults/${sealedVault}/secrets`, inSealed), 409, 'ZkBoundaryViolation');

    await add('part', 'x');
    await addTemplate('whole', ref('part', '#/user'));
    assert.equal(await unresolved('whole'), 'no_field');
    await ok(put('part', '{"user":7}'));
    assert.equal(await resolvedValue('whole'), '7');
    const { referred_by } = await ok(call('DELETE', secretUrl(vault, 'part')));
    assert.deepEqual(referred_by, [{ vault, path: 'whole' }]);
    assert.equal(await unresolved('whole'), 'missing');
    await ok(call('POST', secretUrl(vault, 'part', 'restore'), {}));
    assert.equal(await resolvedValue('whole'), '7');
    const moved = await ok(call('POST', secretUrl(vault, 'part', 'move'), { to_path: 'elsewhere' }));
    assert.deepEqual(moved.referred_by, [{ vault, path: 'whole' }]);
    assert.equal(await unresolved('whole'), 'missing');
    const other = await addTenant(service);
    const same = await addVault(service, { name: vault }, other.owner.token);
    await addSecret(service, same, 'part', { value: 'of another tenant' }, other.owner.token);
    assert.equal(await unresolved('whole'), 'missing');
  });

  rule('are bounded in size', async () => {
    await add('big', 'x'.repeat(600_000));
    await addTemplate('twice', `${ref('big')}${ref('big')}`);
    assert.equal(await unresolved('twice'), 'too_large');
    await add('big2', 'x'.repeat(600_000));
    await addTemplate('both', `${ref('big', '#/a')}${ref('big2', '#/a')}`);
    assert.equal(await unresolved('both'), 'too_large');
  });

  test('are resolved in bulk reads, which are all or leave them out, and are recorded by their parts', async () => {
    await add('app/a', 'A');
    await addTemplate('app/t', `<${ref('app/a')}>`);
    const aggregate = async (query = '') =>
      (await ok(call('GET', `/v1/vaults/${vault}/aggregate?prefix=app/${query}`))).secrets;
    const [, found] = await aggregate();
    assert.equal(found.value, '<A>');
    assert.deepEqual(
      found.parts.map(({ path, version }: { path: string; version: number }) => [path, version]),
      [['app/a', 1]],
    );
    assert.equal((await aggregate('&resolve=false'))[1].value, `<${ref('app/a')}>`);
    const exported = await ok(call('GET', `/v1/vaults/${vault}/export?prefix=app/`));
    assert.deepEqual(exported, { 'app/a': 'A', 'app/t': '<A>' });
    const { environment_id } = await composed({ A: 'app/a', T: 'app/t' });
    const compose = async (query: string) => ok(call('GET', `/environments/${environment_id}/compose?${query}`));
    assert.equal((await compose('resolve=true')).effective.T.value, '<A>');
    assert.deepEqual(await compose('resolve=true&format=json'), { A: 'A', T: '<A>' });
    const before = (await compose('')).effective.T.parts_version;
    const listed = async () =>
      (await ok(call('GET', `/v1/vaults/${vault}/secrets?prefix=app/t`))).secrets[0].parts_version;
    assert.equal(await listed(), before);
    await ok(put('app/a', 'B'));
    assert.notEqual(await listed(), before);
    assert.notEqual((await compose('')).effective.T.parts_version, before);
    const { entries } = await ok(
      call('GET', `/v1/audit?action=secrets:read&resource=${encodeURIComponent(`vault/${vault}/app/a`)}`),
    );
    const ofParts = entries.filter(({ details }: Answer['body']) => details?.via === 'template');
    assert.ok(ofParts.length >= 4);
    assert.ok(ofParts.every(({ details }: Answer['body']) => details.template === `vault/${vault}/app/t`));

    await ok(call('DELETE', secretUrl(vault, 'app/a')));
    assert.deepEqual(await aggregate(), []);
    await refused(call('GET', `/v1/vaults/${vault}/export?prefix=app/`), 409, 'TEMPLATE_UNRESOLVED');
    await refused(
      call('GET', `/environments/${environment_id}/compose?resolve=true&format=json`),
      409,
      'TEMPLATE_UNRESOLVED',
    );
    assert.equal((await compose('resolve=true')).effective.T.value, undefined);
    const references = async (path: string) => ok(call('GET', `/v1/vaults/${vault}/references/${path}`));
    assert.deepEqual((await references('app/t')).refers_to, [{ vault, path: 'app/a' }]);
    await add('app/a', 'again');
    assert.deepEqual((await references('app/a')).referred_by, [{ vault, path: 'app/t' }]);
    await ok(put('app/t', 'no reference'));
    assert.deepEqual((await references('app/a')).referred_by, []);
    await ok(call('POST', secretUrl(vault, 'app/t', 'rollback'), { to_version: 1 }));
    assert.deepEqual((await references('app/a')).referred_by, [{ vault, path: 'app/t' }]);
  });

  async function composed(keys: Record<string, string>) {
    const { id: environment_id } = await ok(call('POST', '/environments', { name: `env-${vault}` }), 201);
    for (const [key_name, path] of Object.entries(keys)) {
      const { id: secret_id } = await ok(read(path, '?resolve=false'));
      await ok(call('POST', `/environments/${environment_id}/secrets`, { secret_id, key_name }), 201);
    }
    return { environment_id };
  }
});
