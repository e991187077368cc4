import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runImport } from '../../../test/support/import-command.ts';
import { findOpenBao, type OpenBao, RecordedOpenBao, startOpenBao } from '../../../test/support/openbao.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../test/support/service.ts';

/**
 * Against OpenBao itself where a program `bao` is on the PATH, and against what it answered otherwise. With COFFER_TEST_RECORD=1 the answers are
 * recorded anew.
 */
const RECORD = join(import.meta.dirname, 'testdata/openbao.json');

/** Every value that is put in, so that outputs can be searched for them. */
const VALUES = [
  'first-pw',
  'second-pw',
  'third-pw',
  'replica-pw',
  'lost-pw',
  'hole-1',
  'hole-2',
  'hole-3',
  'spaced',
  'reserved',
  'kept-3',
  'kept-4',
  'legacy-token',
];

async function fill(bao: OpenBao): Promise<string> {
  const put = (path: string, data: object) => bao.call('POST', `secret/data/${path}`, { data });
  await put('app/db', { user: 'app', password: 'first-pw' });
  await put('app/db', { user: 'app', password: 'second-pw', old: 'x' });
  const third = '{"data":{"user":"app","password":"third-pw","id":5432,"flag":true,"more":{"a":[1,null]}}}';
  await bao.call('POST', 'secret/data/app/db', third);
  await bao.call('POST', 'secret/metadata/app/db', {
    custom_metadata: { owner: 'team-db', 'cost centre': '7', purpose: 'orders' },
  });
  await put('app/db/replica', { password: 'replica-pw' });
  await put('app/gone', { password: 'lost-pw' });
  await bao.call('DELETE', 'secret/data/app/gone');
  for (const value of ['hole-1', 'hole-2', 'hole-3']) await put('app/holes', { value });
  await bao.call('PUT', 'secret/destroy/app/holes', { versions: [1] });
  await bao.call('POST', 'secret/delete/app/holes', { versions: [2] });
  await put('web/with space/ключ', { 'api key': 'spaced' });
  await put('web/versions', { rotate: 'reserved' });
  await bao.call('POST', 'secret/metadata/web/kept', { max_versions: 2 });
  for (const value of ['kept-1', 'kept-2', 'kept-3', 'kept-4']) await put('web/kept', { value });
  await put('web/nothing', {});
  await bao.call('POST', 'sys/mounts/legacy', { type: 'kv', options: { version: '1' } });
  await bao.call('POST', 'legacy/old/one', { token: 'legacy-token' });
  const policy =
    'path "secret/data/app/*" { capabilities = ["read"] } path "secret/metadata/" { capabilities = ["list"] } path "secret/metadata/app/" { capabilities = ["list"] }';
  await bao.call('PUT', 'sys/policies/acl/limited', { policy });
  const made = await bao.call('POST', 'auth/token/create', { policies: ['limited'] });
  return String(made?.auth?.client_token);
}

let source: RecordedOpenBao;
let address: string;
before(async () => {
  const program = findOpenBao();
  if (program === null) source = RecordedOpenBao.fromFile(RECORD);
  else {
    const bao = await startOpenBao(program);
    source = RecordedOpenBao.inFrontOf(bao.url, { full: 'root-of-a-test', limited: await fill(bao) });
  }
  address = await source.listen();
});
after(async () => {
  if (process.env['COFFER_TEST_RECORD'] === '1' && findOpenBao() !== null) source.save(RECORD);
  await source.close();
});

onSqliteAtLanding('import from OpenBao', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
    for (const name of ['whole', 'json', 'newest', 'limited', 'legacy']) {
      const body = { name, environment: 'development' };
      assert.equal((await service.call('POST', '/v1/vaults', { body })).status, 201);
    }
  });
  after(() => service.close());

  const env = (token = 'full') => ({
    COFFER_URL: service.url,
    COFFER_TOKEN: service.adminToken,
    BAO_ADDR: address,
    BAO_TOKEN: token,
  });
  const run = async (vault: string, args: readonly string[], token = 'full') => {
    const exit = await runImport(['openbao', '--vault', vault, ...args], env(token));
    for (const value of VALUES) assert.ok(!`${exit.stdout}${exit.stderr}`.includes(value), 'no value is printed');
    return exit;
  };
  const paths = async (vault: string): Promise<string[]> => {
    const { body } = await service.call('GET', `/v1/vaults/${vault}/secrets`);
    return body.secrets.map((secret: { path: string }) => secret.path);
  };
  const history = async (vault: string, path: string) => {
    const { body } = await service.call('GET', `/v1/vaults/${vault}/secrets/${path}/versions`);
    const numbers = body.versions.map(({ version }: { version: number }) => version).toReversed();
    return Promise.all(
      numbers.map(
        async (version: number) =>
          (await service.call('GET', `/v1/vaults/${vault}/secrets/${path}?version=${version}`)).body.value,
      ),
    );
  };

  test('a dry run says what becomes what and what is left out, and writes nothing', async () => {
    const { code, stdout, stderr } = await run('whole', ['--json']);
    assert.equal(code, 0, stderr);
    const report = JSON.parse(stdout);
    assert.equal(report.dry_run, true);
    assert.deepEqual(report.counts, { create: 10, update: 0, unchanged: 0, leave: 0 });
    const reasons = report.skipped
      .map(({ from, reason }: { from: string; reason: string }) => `${from}: ${reason}`)
      .toSorted();
    assert.deepEqual(reasons, [
      'secret/app/db, key old: the newest version has no such key',
      'secret/app/db, metadata cost centre: its name has characters that metadata cannot have',
      'secret/app/gone: its newest version is deleted',
      'secret/app/holes, version 1: it is destroyed',
      'secret/app/holes, version 2: it is deleted',
      'secret/web/kept, versions 1 to 2: OpenBao no longer has them',
      'secret/web/nothing: its newest version has no keys',
    ]);
    assert.deepEqual(await paths('whole'), []);
    const table = await run('whole', ['--prefix', 'moved']);
    assert.match(table.stdout, /moved\/web\/with_space\/____\/api_key \(renamed\)/);
    assert.match(table.stdout, /moved\/web\/versions\/rotate_ \(renamed\)/);
    assert.match(table.stderr, /Nothing was written/);
  });

  test('all versions are written in their order with metadata, and a repetition changes nothing', async () => {
    const { code, stderr } = await run('whole', ['--apply']);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await paths('whole'), [
      'app/db/flag',
      'app/db/id',
      'app/db/more',
      'app/db/password',
      'app/db/replica/password',
      'app/db/user',
      'app/holes/value',
      'web/kept/value',
      'web/versions/rotate_',
      'web/with_space/____/api_key',
    ]);
    assert.deepEqual(await history('whole', 'app/db/password'), ['first-pw', 'second-pw', 'third-pw']);
    assert.deepEqual(await history('whole', 'app/db/user'), ['app']);
    assert.deepEqual(await history('whole', 'app/db/id'), ['5432']);
    assert.deepEqual(await history('whole', 'app/db/more'), ['{"a":[1,null]}']);
    assert.deepEqual(await history('whole', 'web/kept/value'), ['kept-3', 'kept-4']);
    const { body } = await service.call('GET', '/v1/vaults/whole/secrets/app/db/password');
    assert.deepEqual(body.metadata, { owner: 'team-db', purpose: 'orders', tags: [] });
    const versions = (await service.call('GET', '/v1/vaults/whole/secrets/app/db/password/versions')).body.versions;
    assert.equal(versions[0].reason, 'Imported from OpenBao: secret/app/db, key password, version 3');

    const again = JSON.parse((await run('whole', ['--apply', '--json'])).stdout);
    assert.deepEqual(again.counts, { create: 0, update: 0, unchanged: 10, leave: 0 });
    assert.equal(again.versions_written, 0);
    assert.deepEqual(await history('whole', 'app/db/password'), ['first-pw', 'second-pw', 'third-pw']);
  });

  test('an entry can become one secret of type json', async () => {
    assert.equal((await run('json', ['--keys', 'json', '--path', 'app/', '--apply'])).code, 0);
    const { body } = await service.call('GET', '/v1/vaults/json/secrets/app/db');
    assert.equal(body.type, 'json');
    assert.equal(body.version, 3);
    assert.match(body.value, /"id":5432[,}]/);
    assert.deepEqual(await paths('json'), ['app/db', 'app/db/replica', 'app/holes']);
  });

  test('only the newest versions are read if they are enough', async () => {
    assert.equal((await run('newest', ['--versions', 'newest', '--path', 'app', '--apply'])).code, 0);
    assert.deepEqual(await history('newest', 'app/db/password'), ['third-pw']);
  });

  test('a token that may not read histories gets the newest versions, and is told what is missing', async () => {
    const { code, stdout, stderr } = await run('limited', ['--apply', '--json', '--kv', '2'], 'limited');
    assert.equal(code, 0, stderr);
    const { skipped } = JSON.parse(stdout) as { skipped: { from: string; reason: string }[] };
    const reasons = skipped.map(({ from, reason }) => `${from}: ${reason}`);
    assert.ok(reasons.includes('secret/web/: you may not list this folder'), reasons.join('\n'));
    assert.ok(reasons.includes('secret/app/db/: you may not list this folder'), reasons.join('\n'));
    assert.ok(reasons.includes('secret/app/db, older versions: you may not read which there are'), reasons.join('\n'));
    assert.deepEqual(await history('limited', 'app/db/password'), ['third-pw']);
  });

  test('version 1 of the engine', async () => {
    assert.equal((await run('legacy', ['--mount', 'legacy', '--apply'])).code, 0);
    assert.deepEqual(await history('legacy', 'old/one/token'), ['legacy-token']);
  });

  test('what cannot work is refused with what to do, and nothing is written', async () => {
    const unknown = await run('whole', [], 'nobody-knows-me');
    assert.equal(unknown.code, 3);
    assert.match(unknown.stderr, /OpenBao answers 403 .* Check --mount and the token/);
    assert.ok(!unknown.stderr.includes('nobody-knows-me'), 'the token is not shown');
    const other = await run('whole', ['--mount', 'cubbyhole']);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /cubbyhole is not a KV engine/);
    const missing = await runImport(['openbao', '--vault', 'whole'], { ...env(), BAO_TOKEN: '' });
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /Set BAO_TOKEN in the environment/);
    const nowhere = await run('no-such-vault', []);
    assert.equal(nowhere.code, 4);
  });
});
