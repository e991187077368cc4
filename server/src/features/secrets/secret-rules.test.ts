import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { invalid, ok, refused, tooLarge, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { LOCALHOST_CERTIFICATE, LOCALHOST_KEY, OPENSSH_ED25519 } from '../../../../test/support/test-keys.ts';
import { addSecret, addVault, readValue, secretUrl } from '../../../../test/support/vaults.ts';
import { ENVIRONMENTS } from '../../kernel/authz/environment.ts';

const MIB = 1024 * 1024;
const CONFLICT = 'VAULT_ENV_CONFLICT';
const PROMOTE = 'VAULT_ENV_PROMOTE_REQUIRED';

/** What a secret of each environment (in the order of ENVIRONMENTS, none first) becomes in a vault, without and with `promote`. */
const FITTING: Record<(typeof ENVIRONMENTS)[number], [without: string[], with_: string[]]> = {
  development: [
    ['development', 'development', 'homologation', 'staging', CONFLICT],
    ['development', 'development', 'homologation', 'staging', CONFLICT],
  ],
  homologation: [
    ['homologation', CONFLICT, 'homologation', CONFLICT, CONFLICT],
    ['homologation', CONFLICT, 'homologation', CONFLICT, CONFLICT],
  ],
  staging: [
    ['staging', CONFLICT, CONFLICT, 'staging', CONFLICT],
    ['staging', CONFLICT, CONFLICT, 'staging', CONFLICT],
  ],
  production: [
    [PROMOTE, CONFLICT, CONFLICT, CONFLICT, 'production'],
    ['production', CONFLICT, CONFLICT, CONFLICT, 'production'],
  ],
};

onSqliteAtLanding('the rules of secrets', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
  });
  after(() => service.close());

  const create = (body: object, where = vault) =>
    service.call('POST', `/v1/vaults/${where}/secrets`, { body: { path: uniqueName('s'), ...body } });
  const update = (path: string, body: object) => service.call('PUT', secretUrl(vault, path), { body });

  for (const environment of ENVIRONMENTS) {
    test(`a ${environment} vault takes what the contract says`, async () => {
      const where = await addVault(service, { environment });
      for (const [i, promote] of [undefined, true].entries()) {
        for (const [j, asked] of [undefined, ...ENVIRONMENTS].entries()) {
          const expected = FITTING[environment][i as 0 | 1][j] ?? '';
          const answer = create({ value: 'x', environment: asked, promote }, where);
          if (expected === CONFLICT || expected === PROMOTE) {
            await refused(answer, 409, expected);
            continue;
          }
          const made = await ok(answer, 201);
          assert.equal(made.environment, expected);
          const { versions } = await ok(service.call('GET', secretUrl(where, made.path, 'versions')));
          const isPromoted = environment === 'production' && asked === undefined;
          assert.equal(versions[0].operation, isPromoted ? 'promote' : 'create');
        }
      }
      const { secrets_count } = await ok(service.call('GET', `/v1/vaults/${where}`));
      const taken = FITTING[environment].flat().filter((one) => one !== CONFLICT && one !== PROMOTE);
      assert.equal(secrets_count, taken.length, 'a refused one leaves nothing');
    });
  }

  test('a secret’s environment is written short or in any case too', async () => {
    const where = await addVault(service, { environment: 'prd' });
    for (const environment of ['prd', 'Prod', 'PRODUCTION']) {
      assert.equal((await ok(create({ value: 'x', environment }, where), 201)).environment, 'production');
    }
    await refused(create({ value: 'x', environment: 'Hml' }, where), 409, CONFLICT);
    await refused(create({ value: 'x', promote: false }, where), 409, PROMOTE);
    await invalid(create({ value: 'x', environment: 'qa' }, where), '/body/environment');
    await invalid(create({ value: 'x', promote: 'true' }, where), '/body/promote');
  });

  describe('values', () => {
    test('of exactly 1 MiB are accepted, of a byte more refused, whatever the characters', async () => {
      const rows: [string, number][] = [
        ['a', MIB],
        ['é', MIB / 2],
        ['€', Math.floor(MIB / 3)],
        ['🔑', MIB / 4],
        ['\u0001', MIB],
      ];
      for (const [character, count] of rows) {
        const value = character.repeat(count);
        const made = await ok(create({ value }), 201);
        assert.ok((await readValue(service, vault, made.path)) === value);
        const more = value + 'x'.repeat(MIB + 1 - Buffer.byteLength(value));
        await tooLarge(create({ value: more }), '/body/value');
        await tooLarge(update(made.path, { value: more }), '/body/value');
        const rotate = service.call('POST', secretUrl(vault, made.path, 'rotate'), { body: { value: more } });
        await tooLarge(rotate, '/body/value');
      }
    });

    test('are stored to the character', async () => {
      const values = [
        '',
        ' ',
        '\n',
        'a\r\n\tb ',
        '\0',
        'a\0b',
        '\u2028',
        '"\\',
        '\u200d',
        '\ufeffx',
        'null',
        '{}',
        '\ud83d\udd11',
      ];
      for (const value of values) {
        const { path } = await ok(create({ value }), 201);
        assert.equal(await readValue(service, vault, path), value);
        await ok(update(path, { value: `${value}${value}` }));
        assert.equal(await readValue(service, vault, path), value + value);
      }
    });

    test('that are none, or half a character, are refused', async () => {
      for (const value of [1, null, {}, ['x'], true]) await invalid(create({ value }), '/body/value');
      const body = `{"path":"${uniqueName('half')}","value":"\\ud83d"}`;
      await refused(service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 400, 'INVALID_REQUEST');
    });
  });

  describe('types', () => {
    const database_ = JSON.stringify({ host: 'db.example', port: 5432, database: 'd', username: 'u', password: 'p' });
    const rows: [string, string[], string[]][] = [
      ['api_key', ['k', 'x'.repeat(4096)], ['', 'a\nb', 'x'.repeat(4097), 'a\0']],
      ['password', ['pass word', 'é'], ['', 'a\r', '\u2028']],
      ['token', ['t'], ['\t']],
      ['database', [database_], ['{}', 'postgres://u:p@h/d', `${database_},`, database_.replace('5432', '"5432"')]],
      ['ssh_key', [OPENSSH_ED25519, LOCALHOST_KEY], ['ssh-ed25519 AAAA', LOCALHOST_CERTIFICATE, 'x']],
      ['certificate', [LOCALHOST_CERTIFICATE, LOCALHOST_CERTIFICATE + LOCALHOST_KEY], [LOCALHOST_KEY, 'x']],
      ['json', ['{}', '[1]', 'null', '"x"'], ['', '{', 'undefined', "{'a':1}"]],
      ['generic', ['anything\n\0'], []],
      ['my_own_type_2', ['anything\n\0'], []],
    ];
    for (const [type, good, bad] of rows) {
      test(`${type}: values that fit are accepted, others refused, when made and when changed`, async () => {
        for (const value of good) {
          const made = await ok(create({ type, value }), 201);
          assert.equal(made.type, type);
          assert.equal(await readValue(service, vault, made.path), value);
          for (const wrong of bad) {
            await invalid(create({ type, value: wrong }), '/body/value');
            await invalid(update(made.path, { value: wrong }), '/body/value');
            const rotate = { body: { value: wrong } };
            await invalid(service.call('POST', secretUrl(vault, made.path, 'rotate'), rotate), '/body/value');
          }
          assert.equal((await ok(service.call('GET', secretUrl(vault, made.path)))).version, 1);
        }
      });
    }

    test('have one form of name', async () => {
      for (const type of ['', 'A', '1a', 'a-b', 'a b', 'é', `a${'b'.repeat(64)}`, null, 1]) {
        await invalid(create({ type, value: 'x' }), '/body/type');
      }
      await ok(create({ type: `a${'b'.repeat(63)}`, value: 'x' }), 201);
      assert.equal((await ok(create({ value: 'x' }), 201)).type, 'generic');
    });
  });

  describe('generators', () => {
    const made = async (body: object) => readValue(service, vault, (await ok(create(body), 201)).path);

    test('make what the type needs when no value is given', async () => {
      assert.match(await made({ type: 'password' }), /^[A-Za-z0-9][A-Za-z0-9._~-]{31}$/);
      assert.match(await made({ type: 'api_key' }), /^[A-Za-z0-9]{40}$/);
      assert.match(await made({ type: 'token' }), /^[A-Za-z0-9_-]{43}$/);
      assert.match(await made({ type: 'ssh_key' }), /^-----BEGIN OPENSSH PRIVATE KEY-----\n/);
      const first = await made({ type: 'password' });
      assert.notEqual(first, await made({ type: 'password' }));
    });

    test('make what is requested', async () => {
      const generator = { length: 8, charset: 'hex', prefix: 'k_' };
      assert.match(await made({ generator }), /^k_[0-9a-f]{8}$/);
      assert.match(await made({ type: 'custom', generator: { length: 512, charset: 'digits' } }), /^\d{512}$/);
      const { path } = await ok(create({ type: 'password', value: 'x' }), 201);
      const body = { generator: { length: 12, charset: 'alphanumeric', require_each_class: true } };
      await ok(service.call('POST', secretUrl(vault, path, 'rotate'), { body }));
      assert.match(await readValue(service, vault, path), /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9]{12}$/);
    });

    test('of the secret’s own schedule are used for its first value and its rotations', async () => {
      const rotation = { interval_days: 7, generator: { length: 9, charset: 'digits', prefix: 'n' } };
      const { path } = await ok(create({ type: 'api_key', rotation }), 201);
      assert.match(await readValue(service, vault, path), /^n\d{9}$/);
      await ok(service.call('POST', secretUrl(vault, path, 'rotate')));
      assert.match(await readValue(service, vault, path), /^n\d{9}$/);
    });

    test('that cannot serve are refused when they are given, and no secret is made', async () => {
      for (const type of ['generic', 'json', 'database', 'certificate', 'custom']) {
        await refused(create({ type }), 422, 'ROTATION_NOT_CONFIGURED');
      }
      for (const type of ['json', 'database', 'certificate']) {
        await invalid(create({ type, generator: { length: 10 } }), '/body/generator');
      }
      await invalid(create({ type: 'ssh_key', generator: { length: 10 } }), '/body/generator');
      const rows: [object, string][] = [
        [{ length: 7 }, '/body/generator/length'],
        [{ length: 513 }, '/body/generator/length'],
        [{ length: 8.5 }, '/body/generator/length'],
        [{ charset: 'emoji' }, '/body/generator/charset'],
        [{ prefix: 'a b' }, '/body/generator/prefix'],
        [{ prefix: 'x'.repeat(33) }, '/body/generator/prefix'],
        [{ seed: 1 }, '/body/generator/seed'],
      ];
      for (const [generator, pointer] of rows) await invalid(create({ type: 'password', generator }), pointer);
    });

    test('a schedule that cannot be met is refused when it is made', async () => {
      const json = { type: 'json', value: '{}' };
      await refused(create({ ...json, rotation: { interval_days: 1 } }), 422, 'ROTATION_NOT_CONFIGURED');
      const generator = { length: 9 };
      await invalid(create({ ...json, rotation: { interval_days: 1, generator } }), '/body/rotation/generator');
      const backend = { kind: 'postgres_role' };
      await invalid(create({ ...json, rotation: { interval_days: 1, backend } }), '/body/rotation/backend');
      for (const interval_days of [0, 3651, 1.5, '1']) {
        const pointer = '/body/rotation/interval_days';
        await invalid(create({ type: 'password', rotation: { interval_days } }), pointer);
      }
      const { path } = await ok(create(json), 201);
      await refused(update(path, { rotation: { interval_days: 1 } }), 422, 'ROTATION_NOT_CONFIGURED');
      const key = await ok(create({ type: 'ssh_key', rotation: { interval_days: 1 } }), 201);
      assert.ok((await readValue(service, vault, key.path)).length > 100);
    });
  });

  describe('metadata', () => {
    const further = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

    test('has at most 64 tags and 64 further keys', async () => {
      const tags = Array.from({ length: 64 }, (_, i) => `tag ${i}`);
      const full = { description: 'd', owner: 'o', tags, ...further(64) };
      const { path, metadata } = await ok(create({ value: 'x', metadata: full }), 201);
      assert.deepEqual(metadata, full);
      assert.deepEqual((await ok(service.call('GET', secretUrl(vault, path)))).metadata, full);
      await invalid(create({ value: 'x', metadata: { tags: [...tags, 'one more'] } }), '/body/metadata/tags');
      await invalid(create({ value: 'x', metadata: further(65) }), '/body/metadata');
      await invalid(update(path, { metadata: further(65) }), '/body/metadata');
    });

    test('has at most 4 KiB in all, tags apart', async () => {
      const text = (bytes: number) => ({
        ...Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, 'x'.repeat(900)])),
        e: 'x'.repeat(bytes),
      });
      const overhead = Buffer.byteLength(JSON.stringify(text(0)));
      await ok(create({ value: 'x', metadata: text(4096 - overhead) }), 201);
      await invalid(create({ value: 'x', metadata: text(4097 - overhead) }), '/body/metadata');
      await invalid(create({ value: 'x', metadata: { a: 'é'.repeat(1024), b: 'é'.repeat(1024) } }), '/body/metadata');
    });

    test('has names of one form and texts only', async () => {
      const metadata = { constructor: 'c', toString: 't', 'a.b-c_D': 'x', tags: ['t'] };
      const made = await ok(create({ value: 'x', metadata }), 201);
      const read = await ok(service.call('GET', secretUrl(vault, made.path)));
      assert.equal(
        JSON.stringify(Object.entries(read.metadata).sort()),
        JSON.stringify(Object.entries(metadata).sort()),
      );
      const rows: [object, string][] = [
        [{ 'a b': 'x' }, '/body/metadata'],
        [{ ['k'.repeat(65)]: 'x' }, '/body/metadata'],
        [{ '': 'x' }, '/body/metadata'],
        [{ k: 1 }, '/body/metadata/k'],
        [{ k: null }, '/body/metadata/k'],
        [{ k: 'a\0b' }, '/body/metadata/k'],
        [{ description: 'x'.repeat(1025) }, '/body/metadata/description'],
        [{ owner: 'a\nb' }, '/body/metadata/owner'],
        [{ tags: 'x' }, '/body/metadata/tags'],
        [{ tags: ['x', 'x'] }, '/body/metadata/tags'],
        [{ tags: [''] }, '/body/metadata/tags/0'],
        [{ tags: ['a\nb'] }, '/body/metadata/tags/0'],
      ];
      for (const [wrong, pointer] of rows) await invalid(create({ value: 'x', metadata: wrong }), pointer);
      const { details } = await refused(create({ value: 'x', metadata: { k: 1 } }), 422, 'VALIDATION_FAILED');
      assert.deepEqual(
        details.fields.map((field: { pointer: string }) => field.pointer),
        ['/body/metadata/k'],
      );
    });
  });

  test('what else is unknown or too long is pointed at, and nothing is made', async () => {
    const path = uniqueName('unmade');
    const rows: [object, string][] = [
      [{ protection: 'castle' }, '/body/protection'],
      [{ reason: 'x'.repeat(513) }, '/body/reason'],
      [{ reason: 'a\nb' }, '/body/reason'],
      [{ version: 3 }, '/body/version'],
      [{ id: 'sec_x' }, '/body/id'],
      [{ expected_version: 1 }, '/body/expected_version'],
    ];
    for (const [more, pointer] of rows) await invalid(create({ path, value: 'x', ...more }), pointer);
    await invalid(create({ path: undefined, value: 'x' }), '/body/path');
    await refused(service.call('GET', secretUrl(vault, path)), 404, 'SECRET_NOT_FOUND');
    await refused(create({ path, value: 'x'.repeat(8 * MIB) }), 413, 'PAYLOAD_TOO_LARGE');
    await addSecret(service, vault, path);
  });
});
