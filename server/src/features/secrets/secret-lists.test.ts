import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, invalid, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, pathsIn, secretUrl } from '../../../../test/support/vaults.ts';

interface Row {
  path: string;
  type: string;
  tags: string[];
}

/** Paths that sort oddly, in every combination of type and tags. */
const PATHS = [
  'a',
  'a-b',
  'a.b',
  'a/b',
  'a/b/c',
  'a/bc',
  'a0',
  'ab',
  'A',
  'A/b',
  'b',
  'z',
  'Z',
  '_',
  '=',
  '+',
  '-',
  '@',
  '0',
];
const ROWS: Row[] = PATHS.flatMap((path, i) => [
  { path, type: ['api_key', 'generic', 'note'][i % 3] ?? '', tags: ['x', 'y', 'z'].filter((_, bit) => (i >> bit) & 1) },
]);

onBothDatabases('lists of secrets', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    for (const { path, type, tags } of ROWS) await addSecret(service, vault, path, { type, metadata: { tags } });
  });
  after(() => service.close());

  const list = (query: string, where = vault, token = service.adminToken) =>
    service.call('GET', `/v1/vaults/${where}/secrets?${query}`, { token });
  const cursorOf = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');

  test('show everything but values, in the order of bytes', async () => {
    const rotation = { interval_days: 30, generator: { length: 20 } };
    await ok(service.call('PUT', secretUrl(vault, 'a/b'), { body: { rotation } }));
    const answer = await list('');
    const { secrets, next_cursor } = await ok(Promise.resolve(answer));
    assert.deepEqual(
      secrets.map((secret: Row) => secret.path),
      PATHS.toSorted(),
    );
    assert.equal(next_cursor, null);
    assert.ok(!answer.text.includes('value'));
    const { value, vault: _, rotation_status, ...read } = await ok(service.call('GET', secretUrl(vault, 'a/b')));
    assert.deepEqual(
      secrets.find((secret: Row) => secret.path === 'a/b'),
      { ...read, rotation, risk_score: null, risk_factors: null },
    );
  });

  test('by prefix, type and tags in every combination, are the same in pages of any size', async () => {
    const prefixes = ['', 'a', 'a/', 'a/b', 'A', 'nothing', '_'];
    const types = ['', 'api_key', 'note', 'other'];
    const tagSets = [[], ['x'], ['x', 'y'], ['z', 'x', 'y'], ['x', 'w']];
    for (const prefix of prefixes) {
      for (const type of types) {
        for (const tags of tagSets) {
          const expected = ROWS.filter(
            (row) =>
              row.path.startsWith(prefix) &&
              (type === '' || row.type === type) &&
              tags.every((tag) => row.tags.includes(tag)),
          )
            .map((row) => row.path)
            .sort();
          const query = `prefix=${prefix}&type=${type}&tags=${tags}`;
          for (const limit of [1, 2, 1000]) {
            assert.deepEqual(await pathsIn(service, vault, `${query}&limit=${limit}`), expected, `${query} ${limit}`);
          }
        }
      }
    }
  });

  test('a page of exactly what is left is the last', async () => {
    const count = ROWS.length;
    const whole = await ok(list(`limit=${count}`));
    assert.deepEqual([whole.secrets.length, whole.next_cursor], [count, null]);
    const most = await ok(list(`limit=${count - 1}`));
    assert.equal(typeof most.next_cursor, 'string');
    const rest = await ok(list(`limit=${count - 1}&cursor=${most.next_cursor}`));
    assert.deepEqual([rest.secrets.length, rest.next_cursor], [1, null]);
  });

  test('tags follow every change of a secret', async () => {
    const where = await addVault(service);
    const tagged = (tag: string) => pathsIn(service, where, `tags=${tag}`);
    await addSecret(service, where, 'one', { metadata: { tags: ['p', 'q'] } });
    await ok(service.call('PUT', secretUrl(where, 'one'), { body: { value: 'x' } }));
    assert.deepEqual([await tagged('p'), await tagged('q')], [['one'], ['one']]);
    await ok(service.call('PUT', secretUrl(where, 'one'), { body: { metadata: { tags: ['q', 'r'] } } }));
    assert.deepEqual([await tagged('p'), await tagged('q'), await tagged('r')], [[], ['one'], ['one']]);
    await ok(service.call('POST', secretUrl(where, 'one', 'rollback'), { body: { to_version: 1 } }));
    assert.deepEqual([await tagged('p'), await tagged('r')], [['one'], []]);
    await ok(service.call('DELETE', secretUrl(where, 'one')));
    assert.deepEqual(await tagged('p'), []);
    await addSecret(service, where, 'one', { metadata: { tags: ['s'] } });
    assert.deepEqual([await tagged('p'), await tagged('s')], [[], ['one']]);
    await ok(service.call('DELETE', secretUrl(where, 'one')));
    await ok(service.call('POST', secretUrl(where, 'one', 'restore')));
    assert.deepEqual([await tagged('p'), await tagged('s')], [[], ['one']]);
    await ok(service.call('PUT', secretUrl(where, 'one'), { body: { metadata: { tags: [] } } }));
    assert.deepEqual(await tagged('s'), []);
  });

  test('a tag with blanks, commas’ neighbours, quotes or other letters is found as it is', async () => {
    const where = await addVault(service);
    for (const tag of ['night shift', "o'brien", '50%', 'é', 'a=b&c', '#1', '日本']) {
      const path = uniqueName('t');
      await addSecret(service, where, path, { metadata: { tags: [tag] } });
      assert.deepEqual(await pathsIn(service, where, `tags=${encodeURIComponent(tag)}`), [path]);
    }
    assert.deepEqual(await pathsIn(service, where, 'tags=NIGHT%20SHIFT'), []);
  });

  test('no limit lifts the cap, in any list of secrets', async () => {
    for (const limit of ['0', '-1', '-0', '1.5', '1001', '1e3', '0x10', '+5', '9007199254740993', 'NaN', 'all']) {
      const pointer = '/query/limit';
      await invalid(list(`limit=${limit}`), pointer);
      await invalid(service.call('GET', `/v1/vaults/${vault}/aggregate?limit=${limit}`), pointer);
      await invalid(service.call('GET', `/vaults/collisions?limit=${limit}`), pointer);
    }
    await invalid(list('limit=5&limit=6'), '/query/limit');
    assert.equal((await ok(list('limit=1000'))).secrets.length, ROWS.length);
    assert.equal((await ok(list('limit='))).secrets.length, ROWS.length);
  });

  test('a hundred come unless told otherwise', async () => {
    const where = await addVault(service);
    const secrets = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`s/${i}`, 'x']));
    await ok(service.call('POST', `/v1/vaults/${where}/import`, { body: { secrets } }));
    const page = await ok(list('', where));
    assert.equal(page.secrets.length, 100);
    assert.equal((await ok(list(`cursor=${page.next_cursor}`, where))).secrets.length, 1);
    const values = await ok(service.call('GET', `/v1/vaults/${where}/aggregate`));
    assert.equal(values.secrets.length, 100);
  });

  test('bad filters are pointed at', async () => {
    for (const prefix of ['/a', '%20', 'a b', 'a%00', 'a*', 'é', 'a%2525', 'a%5Cb', `${'x'.repeat(1025)}`]) {
      const answer = await list(`prefix=${prefix}`);
      if (answer.status === 400) continue;
      await invalid(Promise.resolve(answer), '/query/prefix');
    }
    await invalid(list('type=A'), '/query/type');
    await invalid(list(`tags=${Array.from({ length: 9 }, (_, i) => `t${i}`)}`), '/query/tags');
    await invalid(list('environment=dev'), '/query/environment');
    await refused(list('', 'no-such-vault'), 404, 'VAULT_NOT_FOUND');
  });

  test('a cursor of another list, or a made-up one, is refused', async () => {
    const versions = await addSecret(service, vault, 'zz/versions-of');
    await ok(service.call('PUT', secretUrl(vault, 'zz/versions-of'), { body: { value: 'x' } }));
    const paged = await ok(service.call('GET', `${secretUrl(vault, 'zz/versions-of', 'versions')}?limit=1`));
    const wrong = [
      'x',
      '%20',
      paged.next_cursor,
      cursorOf('a'),
      cursorOf('at', 'a', 'b'),
      cursorOf('at', ''),
      cursorOf('at', 'a b'),
      cursorOf('at', '\0'),
      cursorOf('from', 'a'),
      cursorOf('sealed', 'a'),
      cursorOf('sealed', 'AAAA'.repeat(20)),
      `${cursorOf('at', 'a')}=`,
      cursorOf('at', 'a'),
      'A'.repeat(2049),
    ];
    for (const cursor of wrong) await invalid(list(`cursor=${cursor}`), '/query/cursor');
    assert.equal(versions.version, 1);
    // Another tenant's vault of the same name is another list.
    const where = await addVault(service);
    for (const path of ['a', 'b']) await addSecret(service, where, path);
    const { next_cursor } = await ok(list('limit=1', where));
    assert.deepEqual(await pathsIn(service, where, `cursor=${next_cursor}`), ['b']);
    const { owner } = await addTenant(service);
    await addVault(service, { name: where }, owner.token);
    await invalid(list(`cursor=${next_cursor}`, where, owner.token), '/query/cursor');
    await invalid(list(`cursor=${next_cursor}&type=generic`, where), '/query/cursor');
  });
});
