import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { invalid, ok, refused } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, importPaths, secretUrl } from '../../../../test/support/vaults.ts';

const MIB = 1024 * 1024;

onBothDatabases('many values', (database, { rule }) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    await addSecret(service, vault, 'app/db', { type: 'password', value: 'correct horse' });
    await addSecret(service, vault, 'app/key', { value: 'first' });
    await ok(service.call('PUT', secretUrl(vault, 'app/key'), { body: { value: 'line one\nHorse "two" €' } }));
    await addSecret(service, vault, 'other', { value: 'nothing here' });
  });
  after(() => service.close());

  const aggregate = (query = '', where = vault) => service.call('GET', `/v1/vaults/${where}/aggregate?${query}`);
  const search = (body: object, where = vault) => service.call('POST', `/v1/vaults/${where}/search`, { body });
  const found = async (body: object, where = vault) =>
    (await ok(search(body, where))).matches.map((match: { path: string }) => match.path) as string[];

  describe('in one call', () => {
    test('are those under the prefix, each in its newest version', async () => {
      assert.deepEqual(await ok(aggregate('prefix=app/')), {
        vault,
        prefix: 'app/',
        secrets: [
          { path: 'app/db', type: 'password', value: 'correct horse', version: 1 },
          { path: 'app/key', type: 'generic', value: 'line one\nHorse "two" €', version: 2 },
        ],
        next_cursor: null,
      });
      const all = await ok(aggregate());
      assert.deepEqual([all.prefix, all.secrets.length], ['', 3]);
      assert.deepEqual((await ok(aggregate('prefix=nothing'))).secrets, []);
      await refused(aggregate('', 'no-such-vault'), 404, 'VAULT_NOT_FOUND');
      await invalid(aggregate('prefix=/app'), '/query/prefix');
    });

    test('come in pages, each once', async () => {
      const first = await ok(aggregate('limit=2'));
      const rest = await ok(aggregate(`limit=2&cursor=${first.next_cursor}`));
      const paths = [...first.secrets, ...rest.secrets].map((secret: { path: string }) => secret.path);
      assert.deepEqual([paths, rest.next_cursor], [['app/db', 'app/key', 'other'], null]);
    });

    test('may be large: they are written one by one', async () => {
      const where = await addVault(service);
      for (let i = 0; i < 24; i++) await addSecret(service, where, `big/${i}`, { value: String(i % 10).repeat(MIB) });
      const answer = await aggregate('limit=1000', where);
      assert.equal(answer.headers.get('content-length'), null);
      const { secrets } = await ok(Promise.resolve(answer));
      assert.equal(secrets.length, 24);
      for (const { path, value } of secrets as { path: string; value: string }[]) {
        const digit = String(Number(path.slice(4)) % 10);
        assert.ok(value.length === MIB && value.startsWith(digit) && value.endsWith(digit));
      }
    });
  });

  describe('searched', () => {
    test('are found by any part of the value, as it is written', async () => {
      assert.deepEqual(await found({ query: 'horse' }), ['app/db']);
      assert.deepEqual(await found({ query: 'Horse' }), ['app/key']);
      assert.deepEqual(await found({ query: 'orse' }), ['app/db', 'app/key']);
      assert.deepEqual(await found({ query: 'one\nHorse "two' }), ['app/key']);
      assert.deepEqual(await found({ query: ' €'.padStart(3, '"') }), ['app/key']);
      assert.deepEqual(await found({ query: 'first' }), [], 'an older version is not looked into');
      assert.deepEqual(await found({ query: '.*o' }), [], 'no pattern');
      assert.deepEqual(await found({ query: 'here', prefix: 'app' }), []);
      const { matches } = await ok(search({ query: 'line one' }));
      assert.deepEqual(Object.keys(matches[0]).sort(), ['id', 'path', 'type', 'version']);
    });

    rule('need three characters, and known fields', async () => {
      for (const query of ['', 'ab', 'x'.repeat(257), 1, null]) await invalid(search({ query }), '/body/query');
      await invalid(search({ query: 'abc', prefix: '/a' }), '/body/prefix');
      await invalid(search({ query: 'abc', regex: true }), '/body/regex');
      await invalid(search({ query: 'abc', cursor: 'x' }), '/body/cursor');
      await refused(search({ query: 'abc' }, 'no-such-vault'), 404, 'VAULT_NOT_FOUND');
    });

    test('by the thousand go on with a cursor, until the last', async () => {
      const where = await addVault(service);
      const paths = Array.from({ length: 1300 }, (_, i) => `s/${String(i).padStart(4, '0')}`);
      await importPaths(service, where, paths);
      await addSecret(service, where, 't', { value: 'a needle in it' });
      const first = await ok(search({ query: 'needle' }, where));
      assert.deepEqual(first.matches, []);
      const second = await ok(search({ query: 'needle', cursor: first.next_cursor }, where));
      assert.deepEqual(
        second.matches.map((match: { path: string }) => match.path),
        ['t'],
      );
      assert.equal(second.next_cursor, null);
      const matches = await found({ query: 'value of s/00' }, where);
      assert.equal(matches.length, 100);
    });

    rule('what was looked for is not in the log, only how much was found', async () => {
      await found({ query: 'correct ho' });
      const [entry] = await auditOf(service, `vault=${vault}&action=secrets:search`);
      assert.deepEqual(entry.details, { searched: 3, matches: 1 });
      assert.ok(!JSON.stringify(entry).includes('correct'));
    });
  });
});
