import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { isGuessable } from '../../../../detection/src/index.ts';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addPerson, addToken, ok, type Person, refused } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  POLICY_VERSION,
  pathsIn,
  type Statement,
  secretUrl,
} from '../../../../test/support/vaults.ts';

const PATHS = ['a', 'a/b', 'a/b/c', 'a/bc', 'a/bc/d', 'ab', 'ab/c', 'b', 'b/a', 'b/a/b', 'B/a', 'c-d', 'c.d', 'c/d'];
const TAGS = ['x', 'y'];
const tagsOf = (index: number) => TAGS.filter((_, bit) => (index >> bit) & 1);
const environmentOf = (index: number) => (index % 3 === 0 ? 'staging' : 'development');

/** The rules of policies said once more, as plainly as can be: what lists show is held against this. */
function may(statements: readonly Statement[], action: string, resource: string, tags: string[], environment: string) {
  const applies = ({ action: actions, resource: resources, condition = {} }: Statement) => {
    const { tag_equals, environment: environments } = condition as { tag_equals?: string[]; environment?: string[] };
    return (
      actions.some((one) => one === action || one === 'secrets:*' || one === '*') &&
      resources.some((pattern) => regExpOf(pattern).test(resource)) &&
      (tag_equals?.some((tag) => tags.includes(tag)) ?? true) &&
      (environments?.includes(environment) ?? true)
    );
  };
  const effects = statements.filter(applies).map(({ effect = 'allow' }) => effect);
  return effects.includes('allow') && !effects.includes('deny');
}

function regExpOf(pattern: string): RegExp {
  const segments = pattern.split('/');
  let text = '';
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1;
    if (segment === '**') text += i === 0 ? '.*' : '(/.+)?';
    else if (segment === '*' && isLast) text += i === 0 ? '.+' : '/.+';
    else text += (i === 0 ? '' : '/') + segment.replaceAll('.', '\\.').replaceAll('*', '[^/]*');
  }
  return new RegExp(`^${text}$`);
}

onBothDatabases('what lists show', (database, { rule }) => {
  let service: Service;
  let vault: string;
  let person: Person;
  let policy: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service, { environment: 'development' });
    for (const [i, path] of PATHS.entries()) {
      const more = { value: `content of ${path}`, environment: environmentOf(i), metadata: { tags: tagsOf(i) } };
      const rotation = { interval_days: 30, generator: {} };
      await addSecret(service, vault, path, { ...more, rotation });
    }
    person = await addPerson(service);
    policy = await addPolicy(service, { user: person.id }, [{ action: ['audit:verify'], resource: ['audit'] }]);
  });
  after(() => service.close());

  const allow = async (statements: readonly Statement[]) => {
    const statement = statements.map((one) => ({ effect: 'allow', ...one }));
    const body = { document: { version: POLICY_VERSION, statement } };
    await ok(service.call('PUT', `/v1/policies/${policy}`, { body }));
  };
  const on = (...paths: string[]) => paths.map((path) => `vault/${vault}${path === '' ? '' : `/${path}`}`);
  /** What an answer shows; a refusal shows nothing. */
  const shown = async (method: string, rest: string, noun: string, body?: object): Promise<string[]> => {
    const paths: string[] = [];
    let cursor: string | null = null;
    do {
      const inBody: object = cursor === null ? { ...body } : { ...body, cursor };
      const query: string = body === undefined && cursor !== null ? `&cursor=${cursor}` : '';
      const options = { token: person.token, ...(body !== undefined && { body: inBody }) };
      const answer = await service.call(method, `/v1/vaults/${vault}/${rest}${query}`, options);
      if (answer.status === 403) return [];
      const page = await ok(Promise.resolve(answer));
      paths.push(...page[noun].map((row: { path: string }) => row.path));
      cursor = page.next_cursor;
    } while (cursor !== null);
    return paths;
  };
  const listed = (limit = 3) => shown('GET', `secrets?limit=${limit}`, 'secrets');
  const aggregated = (limit = 3) => shown('GET', `aggregate?limit=${limit}`, 'secrets');
  const searched = () => shown('POST', 'search', 'matches', { query: 'content' });
  const known = async () => {
    const body = { values: PATHS.map((path) => `content of ${path}`) };
    const answer = await service.call('POST', '/v1/secrets/known', { token: person.token, body });
    if (answer.status === 403) return [];
    const { known: found } = await ok(Promise.resolve(answer));
    return found.flatMap(({ secrets }: { secrets: { path: string }[] }) => secrets.map(({ path }) => path)).sort();
  };
  const statusOf = async (path: string, verb = '') =>
    (await service.call('GET', secretUrl(vault, path, verb), { token: person.token })).status;

  describe('in words', () => {
    const everything = ['secrets:list', 'secrets:read', 'secrets:aggregate', 'secrets:search'];
    const expectEverywhere = async (paths: string[]) => {
      assert.deepEqual(await listed(), paths.toSorted());
      assert.deepEqual(await aggregated(), paths.toSorted());
      assert.deepEqual(await searched(), paths.toSorted());
    };

    rule('an allowed prefix, and a single path', async () => {
      await allow([{ action: everything, resource: on('a/*', 'b') }]);
      await expectEverywhere(['a/b', 'a/b/c', 'a/bc', 'a/bc/d', 'b']);
      await allow([{ action: everything, resource: on('a/**') }]);
      await expectEverywhere(['a', 'a/b', 'a/b/c', 'a/bc', 'a/bc/d']);
      await allow([{ action: everything, resource: on('a/b*') }]);
      await expectEverywhere(['a/b', 'a/bc']);
    });

    rule('the most specific deny counts, above, at or below what is listed', async () => {
      const all = { action: everything, resource: on('**') };
      const without = (deny: string) => [all, { effect: 'deny' as const, action: ['secrets:*'], resource: on(deny) }];
      const but = (...hidden: string[]) => PATHS.filter((path) => !hidden.includes(path));
      await allow(without('a/b'));
      await expectEverywhere(but('a/b'));
      assert.deepEqual(await shown('GET', 'secrets?prefix=a/b', 'secrets'), ['a/b/c', 'a/bc', 'a/bc/d']);
      await allow(without('a/b/*'));
      await expectEverywhere(but('a/b/c'));
      assert.deepEqual(await shown('GET', 'secrets?prefix=a/b/', 'secrets'), []);
      await allow(without('a/b/**'));
      await expectEverywhere(but('a/b', 'a/b/c'));
      for (const prefix of ['a/b', 'a/b/', 'a', 'a/']) {
        const found = await shown('GET', `secrets?prefix=${prefix}`, 'secrets');
        assert.ok(!found.includes('a/b') && !found.includes('a/b/c'), prefix);
      }
      await allow([...without('a/**'), { action: everything, resource: on('a/b/c') }]);
      await expectEverywhere(PATHS.filter((path) => path !== 'a' && !path.startsWith('a/')));
    });

    rule('a deny or an allow by tag or environment', async () => {
      await allow([{ action: everything, resource: on('**'), condition: { tag_equals: ['x'] } }]);
      await expectEverywhere(PATHS.filter((_, i) => tagsOf(i).includes('x')));
      const denied = { effect: 'deny' as const, action: ['*'], resource: ['**'], condition: { tag_equals: ['y'] } };
      await allow([{ action: everything, resource: on('**') }, denied]);
      await expectEverywhere(PATHS.filter((_, i) => !tagsOf(i).includes('y')));
      await allow([{ action: everything, resource: on('**'), condition: { environment: ['staging'] } }]);
      await expectEverywhere(PATHS.filter((_, i) => environmentOf(i) === 'staging'));
    });

    rule('the permission to list alone shows paths, to read alone no list', async () => {
      await allow([{ action: ['secrets:list'], resource: on('**') }]);
      assert.deepEqual([await listed(), await aggregated(), await searched()], [PATHS.toSorted(), [], []]);
      assert.equal(await statusOf('a'), 403);
      const seen = await ok(service.call('GET', `/v1/vaults/${vault}/secrets?limit=1000`, { token: person.token }));
      type Seen = { metadata: unknown; rotation: unknown };
      assert.ok(seen.secrets.every(({ metadata, rotation }: Seen) => metadata === null && rotation === null));
      assert.deepEqual(await pathsIn(service, vault, 'tags=x', person.token), [], 'a filter tells no tags either');
      assert.notDeepEqual(await pathsIn(service, vault, 'tags=x'), []);
      await allow([{ action: ['secrets:read'], resource: on('**') }]);
      assert.deepEqual([await listed(), await aggregated(), await searched()], [[], [], []]);
      assert.equal(await statusOf('a'), 200);
      const list = service.call('GET', `/v1/vaults/${vault}/secrets`, { token: person.token });
      await refused(list, 403, 'INSUFFICIENT_PRIVILEGE');
      await allow([{ action: ['secrets:list', 'secrets:read_metadata'], resource: on('**') }]);
      assert.deepEqual(await listed(), PATHS.toSorted());
      assert.deepEqual([await aggregated(), await searched()], [[], []]);
      assert.deepEqual([await statusOf('a'), await statusOf('a', 'versions')], [403, 200]);
      await allow([{ action: ['secrets:aggregate'], resource: on('**') }]);
      assert.deepEqual(await aggregated(), []);
    });
  });

  rule('an auditor sees what there is, and never a value, whatever is attached', async () => {
    const auditor = await addPerson(service, { role: 'auditor' });
    await addPolicy(service, { user: auditor.id }, [{ action: ['*'], resource: ['*'] }]);
    const { token } = auditor;
    assert.deepEqual(await pathsIn(service, vault, 'limit=5', token), PATHS.toSorted());
    await ok(service.call('GET', `/v1/vaults/${vault}`, { token }));
    await ok(service.call('GET', secretUrl(vault, 'a', 'versions'), { token }));
    const body = { query: 'content' };
    for (const [method, url, more] of [
      ['GET', secretUrl(vault, 'a')],
      ['GET', `${secretUrl(vault, 'a')}?version=1`],
      ['GET', `/v1/vaults/${vault}/aggregate`],
      ['GET', `/v1/vaults/${vault}/export`],
      ['POST', `/v1/vaults/${vault}/search`, { body }],
    ] as [string, string, object?][]) {
      await refused(service.call(method, url, { token, ...more }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });

  rule('a caller without permission to read a value cannot put it, or describe it, so that they may', async () => {
    const vault = await addVault(service);
    const writer = await addPerson(service);
    await ok(service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: writer.id, role: 'writer' } }), 201);
    await addPolicy(service, { user: writer.id }, [
      { effect: 'deny', action: ['secrets:read'], resource: [`vault/${vault}/closed/**`] },
      { effect: 'deny', action: ['secrets:read'], resource: ['vault/**'], condition: { tag_equals: ['x'] } },
    ]);
    await addSecret(service, vault, 'closed/a');
    await addSecret(service, vault, 'tagged');
    await ok(service.call('PUT', secretUrl(vault, 'tagged'), { body: { metadata: { tags: ['x'] } } }));
    await addSecret(service, vault, 'open');
    const { token: writing } = await addToken(service, writer.token, {
      scope: { actions: ['secrets:copy', 'secrets:create'] },
    });
    const tries: [method: string, url: string, body: object, token?: string][] = [
      ['POST', secretUrl(vault, 'closed/a', 'copy'), { to_path: 'mine' }],
      ['POST', secretUrl(vault, 'closed/a', 'copy'), { to_path: 'mine' }, writing],
      ['POST', secretUrl(vault, 'closed/a', 'move'), { to_path: 'mine' }],
      ['PUT', secretUrl(vault, 'tagged'), { metadata: { tags: null } }],
      ['PUT', secretUrl(vault, 'tagged'), { metadata: { tags: [] } }],
      ['POST', secretUrl(vault, 'tagged', 'rollback'), { to_version: 1 }],
    ];
    for (const [method, url, body, token = writer.token] of tries) {
      await refused(service.call(method, url, { token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    assert.deepEqual(await pathsIn(service, vault), ['closed/a', 'open', 'tagged']);
    // Neither end need be readable, and what is readable goes anywhere.
    const { token } = writer;
    await ok(service.call('POST', secretUrl(vault, 'closed/a', 'move'), { token, body: { to_path: 'closed/b' } }));
    await ok(service.call('POST', secretUrl(vault, 'open', 'copy'), { token, body: { to_path: 'closed/c' } }), 201);
    await ok(service.call('PUT', secretUrl(vault, 'tagged'), { token, body: { metadata: { tags: ['x', 'y'] } } }));
    await ok(service.call('PUT', secretUrl(vault, 'open'), { token, body: { metadata: { tags: ['x'] } } }));
  });

  rule('a version is shown to who may see it as it was and as it is', async () => {
    const vault = await addVault(service);
    const value = 'content when restricted';
    const { id } = await addSecret(service, vault, 'a/s', { value, metadata: { tags: ['restricted'] } });
    await ok(service.call('PUT', secretUrl(vault, 'a/s'), { body: { value: 'open', metadata: { tags: [] } } }));
    const unless = { condition: { tag_equals: ['restricted'] } };
    const reader = await addPerson(service);
    await addPolicy(service, { user: reader.id }, [
      { action: ['secrets:*'], resource: [`vault/${vault}/**`] },
      {
        effect: 'deny',
        action: ['secrets:read', 'secrets:read_metadata'],
        resource: [`vault/${vault}/a/*`],
        ...unless,
      },
    ]);
    const { token } = reader;
    const at = (version: number) => service.call('GET', `${secretUrl(vault, 'a/s')}?version=${version}`, { token });
    const versions = async () =>
      (await ok(service.call('GET', secretUrl(vault, 'a/s', 'versions'), { token }))).versions.map(
        (one: { version: number }) => one.version,
      );
    await refused(at(1), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(at(9), 404, 'VERSION_NOT_FOUND');
    assert.equal((await ok(at(2))).value, 'open');
    assert.deepEqual(await versions(), [2]);

    const machine = await addConnection(service, vault, { scopes: ['eso:read'] });
    const denied = { effect: 'deny' as const, action: ['eso:read'], resource: ['vault/**'], ...unless };
    await addPolicy(service, { app_connection: machine.client_id }, [denied]);
    const byId = (version: number) => callAs(service, machine, 'GET', `/eso/secrets/by-id?id=${id}&version=${version}`);
    await refused(byId(1), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal((await ok(byId(2))).value, 'open');

    // Where the tag closes nothing, its history would be open; and what is closed again does not open by going back.
    const move = (to_path: string) =>
      service.call('POST', secretUrl(vault, 'a/s', 'move'), { token, body: { to_path } });
    await refused(move('b/s'), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(service.call('POST', secretUrl(vault, 'a/s', 'rollback'), { token, body: { to_version: 1 } }));
    for (const version of [1, 2, 3]) await refused(at(version), 403, 'INSUFFICIENT_PRIVILEGE');
    const { value: now } = await ok(service.call('GET', `${secretUrl(vault, 'a/s')}?version=1`));
    assert.equal(now, value);
  });

  rule('a token shows no more than its scope, though its owner may see everything', async () => {
    const token = async (scope: object) => (await addToken(service, service.adminToken, { scope })).token as string;
    const get = (rest: string, by: string) => service.call('GET', `/v1/vaults/${vault}/${rest}`, { token: by });
    const elsewhere = await token({ vaults: ['another'] });
    for (const rest of ['secrets', 'aggregate', 'export', 'secrets/a']) {
      await refused(get(rest, elsewhere), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    const here = await token({ vaults: [vault] });
    assert.equal((await ok(get('secrets', here))).secrets.length, PATHS.length);
    const listing = await token({ actions: ['secrets:list', 'secrets:read_metadata'] });
    assert.equal((await ok(get('secrets', listing))).secrets.length, PATHS.length);
    for (const rest of ['aggregate', 'export', 'secrets/a']) {
      await refused(get(rest, listing), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    const reading = await token({ actions: ['secrets:read'] });
    await ok(get('secrets/a', reading));
    await refused(get('secrets', reading), 403, 'INSUFFICIENT_PRIVILEGE');
    // To aggregate without the right to read yields nothing.
    assert.deepEqual((await ok(get('aggregate', await token({ actions: ['secrets:aggregate'] })))).secrets, []);
    const other = await addVault(service);
    await addSecret(service, other, 'a', { value: 'content of a' });
    const { collisions } = await ok(service.call('GET', '/vaults/collisions', { token: here }));
    assert.deepEqual(collisions, []);
  });

  test('any policy: lists show exactly what one by one may be done', async () => {
    const segment = fc.constantFrom('a', 'b', 'bc', 'c', 'a*', '*', '**', 'b*', '*d');
    const pattern = fc.array(segment, { minLength: 0, maxLength: 3 }).map((parts) => parts.join('/'));
    const actions = ['list', 'read', 'read_metadata', 'aggregate', 'search', '*'].map((verb) => `secrets:${verb}`);
    const statement = fc.record({
      effect: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const),
      action: fc.uniqueArray(fc.constantFrom(...actions), { minLength: 1, maxLength: 4 }),
      resource: fc.array(pattern, { minLength: 1, maxLength: 3 }).map((paths) => on(...paths)),
      condition: fc.constantFrom({}, {}, { tag_equals: ['x'] }, { environment: ['staging'] }),
    });
    const property = fc.asyncProperty(fc.array(statement, { minLength: 1, maxLength: 5 }), async (statements) => {
      await allow(statements);
      const can = (action: string, path: string) => {
        const i = PATHS.indexOf(path);
        return may(statements, action, `vault/${vault}/${path}`, tagsOf(i), environmentOf(i));
      };
      const those = (test_: (path: string) => boolean) => PATHS.filter(test_).sort();
      const reads = (path: string) => can('secrets:read', path);
      const describes = (path: string) => can('secrets:read_metadata', path);
      assert.deepEqual(
        await listed(),
        those((path) => can('secrets:list', path)),
      );
      assert.deepEqual(
        await aggregated(),
        those((path) => can('secrets:aggregate', path) && reads(path)),
      );
      assert.deepEqual(
        await searched(),
        those((path) => can('secrets:search', path) && reads(path)),
      );
      assert.deepEqual(
        await known(),
        those((path) => can('secrets:list', path) && (reads(path) || !isGuessable(`content of ${path}`))),
      );
      for (const path of PATHS) {
        assert.equal(await statusOf(path), reads(path) ? 200 : 403, path);
        assert.equal(await statusOf(path, 'versions'), describes(path) ? 200 : 403, path);
      }
    });
    await fc.assert(property, { numRuns: 25 });
  });
});
