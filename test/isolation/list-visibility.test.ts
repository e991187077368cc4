import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { type Input, nameOf } from '../support/endpoint-inputs.ts';
import { type Neighbours, type Side, send, startNeighbours } from '../support/isolation.ts';
import { addToList, keyOf, LISTS, ownInput, rowsIn, withQuery } from '../support/lists.ts';
import { addColleague, addToken, allPages, ok, refused, uniqueName } from '../support/people.ts';
import { type Answer, onSqliteAtLanding, type Service } from '../support/service.ts';

/** With what reads one item of it, if anything does. */
const LISTS_OF_THINGS = LISTS.flatMap((list) => {
  const isItem = ({ method, path }: EndpointDeclaration) =>
    method === 'GET' && path.startsWith(`${list.path}/`) && /^\/\{[a-z_]+\*?\}$/.test(path.slice(list.path.length));
  const reading = DECLARATIONS.find(isItem);
  return reading === undefined ? [] : [{ list, reading }];
});

/** What policies call an item of which that is decided only once it is loaded. */
const LOADED: Record<string, (item: string, params: Input['params']) => string> = {
  readEnvironment: (id) => `environment/${id}`,
  readAnomaly: (id) => `anomaly/${id}`,
  readToken: (id) => `self/tokens/${id}`,
  readVault: (name) => `vault/${name}`,
  readSecret: (path, params) => `vault/${params?.['vault']}/${path}`,
};

function resourceOfItem(reading: EndpointDeclaration, params: Record<string, string>, item: string): string {
  if (reading.resource !== 'loaded') return reading.resource.replace(/\{([a-z_]+)\}/g, (_, name) => params[name] ?? '');
  const named = LOADED[reading.name]?.(item, params);
  assert.ok(named !== undefined, `say what policies call an item of ${reading.name}`);
  return named;
}

/** Others are decided on as a whole: to deny one is to deny all. */
function isOwnResource({ path, resource }: EndpointDeclaration): boolean {
  const [last = ''] = /\{[a-z_]+\*?\}$/.exec(path) ?? [];
  return resource === 'loaded' || resource.includes(last);
}

onSqliteAtLanding('a list shows nothing that its reader may not read by itself', (database) => {
  let neighbours: Neighbours;
  let service: Service;
  let ours: Side;

  before(async () => {
    neighbours = await startNeighbours(database);
    ({ service, ours } = neighbours);
    for (const { list } of LISTS_OF_THINGS) for (let i = 0; i < 3; i++) await addToList(service, list, ours);
  });
  after(() => service.close());

  /** With the cursors on the way. */
  async function everyPage(declaration: EndpointDeclaration, input: Input, token: string) {
    const pages: Answer['body'][] = [];
    for (let cursor: string | null = null; ; ) {
      const more: Record<string, string> = { limit: '1', ...(cursor !== null && { cursor }) };
      pages.push(await ok(send(service, declaration, withQuery(declaration, input, more), token)));
      cursor = pages.at(-1).next_cursor;
      if (cursor === null) break;
    }
    const cursors = pages.flatMap(({ next_cursor }) => (next_cursor === null ? [] : [String(next_cursor)]));
    return { rows: pages.flatMap(rowsIn), cursors, total: pages.at(-1).total };
  }

  /** How the path of a read names this row: as the row itself does, under whichever field. */
  async function itemIn(row: Answer['body'], reading: EndpointDeclaration, input: Input, token: string) {
    const name = /\{([a-z_]+)\*?\}$/.exec(reading.path)?.[1] ?? '';
    for (const value of [row[name], row.id, row.name, row.path, row.key_id]) {
      if (value === undefined) continue;
      const params = { ...input.params, [name]: String(value) };
      if ((await send(service, reading, { params }, token)).status === 200) return { item: String(value), params };
    }
    return assert.fail(`${nameOf(reading)} reads nothing that its list shows: ${JSON.stringify(row)}`);
  }

  const everything = { action: ['*'], resource: ['**'] };

  for (const { list, reading } of LISTS_OF_THINGS) {
    test(nameOf(list), async () => {
      const { token } = neighbours.elsewhere;
      await neighbours.grant([everything]);
      const input = await ownInput(list, ours);
      if (list.name === 'listApprovals') {
        // Of these they see only their own requests.
        for (const email of [uniqueName('asked'), uniqueName('asked')]) {
          const body = { email: `${email}@example.com`, role: 'auditor' };
          await ok(service.call('POST', '/v1/users', { token, body }), 202);
        }
      }
      if (list.name === 'listTokens') await addToken(service, token);
      const { rows: before } = await everyPage(list, input, token);
      assert.ok(before.length > 1, 'needs an input with two rows');
      // Neither the first nor the last, if there are more: a page is to end at it.
      const picked = before[Math.floor((before.length - 1) / 2)];
      const { item, params } = await itemIn(picked, reading, input, token);
      const resource = resourceOfItem(reading, params, item);
      const isThing = isOwnResource(reading);
      const readingOnly = { effect: 'deny' as const, action: [reading.permission], resource: [resource] };
      const denials = [readingOnly, { ...readingOnly, action: ['*'] }];
      // Names of vaults and secrets are told by a right of their own, which is not that to read them.
      const ofList = ['readVault', 'readSecret'].includes(reading.name) ? denials.slice(1) : denials;
      for (const denial of isThing ? ofList : [readingOnly]) {
        await neighbours.grant([everything, denial]);
        await refused(send(service, reading, { params }, token), 403, 'INSUFFICIENT_PRIVILEGE');
        const { rows, cursors, total } = await everyPage(list, input, token);
        const expected = isThing ? before.filter((row) => row !== picked) : [];
        assert.deepEqual(rows.map(keyOf), expected.map(keyOf), JSON.stringify(denial));
        if (total !== undefined) assert.equal(total, expected.length);
        for (const cursor of cursors) {
          const parts: string[] = JSON.parse(Buffer.from(cursor.split('.')[0] ?? '', 'base64url').toString('utf8'));
          assert.ok(!parts.includes(item), `a cursor names ${item}`);
        }
      }
    });
  }

  test('a connection that is denied under either of its names is not listed', async () => {
    const { token } = neighbours.elsewhere;
    const { app_connections } = await ok(service.call('GET', '/v1/app-connections'));
    const { id, client_id } = app_connections[0];
    for (const name of [id, client_id]) {
      await neighbours.grant([everything, { effect: 'deny', action: ['*'], resource: [`app-connection/${name}`] }]);
      const seen = await allPages(service, '/v1/app-connections', 'app_connections', { token });
      assert.deepEqual(seen.map(keyOf), app_connections.slice(1).map(keyOf));
    }
  });

  test('to be allowed some items is to see those, on pages that are shorter', async () => {
    const { token } = neighbours.elsewhere;
    const names: string[] = [];
    for (const prefix of ['seen', 'unseen', 'seen', 'unseen']) {
      const body = { name: uniqueName(prefix) };
      await ok(service.call('POST', '/eaas/keys', { body }), 201);
      names.push(body.name);
    }
    const onlyThese = { action: ['eaas:read'], resource: ['eaas/seen-*'] };
    await neighbours.grant([{ action: ['eaas:list'], resource: ['eaas'] }, onlyThese]);
    for (const limit of [1, 2, 1000]) {
      const seen = await allPages(service, `/eaas/keys?limit=${limit}`, 'keys', { token });
      const expected = names.filter((name) => name.startsWith('seen'));
      assert.deepEqual(seen.map(({ name }) => name).sort(), expected.sort());
    }
  });

  test('an auditor has every list whole', async () => {
    const { token } = await addColleague(service, ours.tenantId, 'auditor');
    for (const { list } of LISTS_OF_THINGS) {
      // Tokens are one's own; a secret is listed by what vaults let one see.
      if (['listTokens', 'listSecrets'].includes(list.name)) continue;
      const input = await ownInput(list, ours);
      const [whole, seen] = [await everyPage(list, input, service.adminToken), await everyPage(list, input, token)];
      assert.deepEqual(seen.rows.map(keyOf), whole.rows.map(keyOf), nameOf(list));
    }
  });
});
