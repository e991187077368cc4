import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, invalid, ok, type Person } from '../../../../test/support/people.ts';
import { queriesDuring } from '../../../../test/support/queries.ts';
import { asTheService } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, type Statement } from '../../../../test/support/vaults.ts';
import { newId } from '../../kernel/base/ids.ts';
import { SECRETS } from './storage/index.ts';

const HIDDEN = 20_000;
const VISIBLE = Array.from({ length: 10 }, (_, i) => `zz/seen-${i}`);
/** More than a page needs, far less than there is. */
const FEW = 100;
/** Rows a page may look at when only each row can say whether it may be seen. */
const SCAN_MAX = 5500;

onBothDatabases('the cost of a list', (database) => {
  let service: Service;
  let vault: string;

  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    for (const path of VISIBLE) await addSecret(service, vault, path, { metadata: { tags: ['seen'] } });
    await multiply();
  });
  after(() => service.close());

  /** One row becomes twenty thousand; their values would not open, and no list opens any. */
  async function multiply(): Promise<void> {
    const { database: db } = service.app.kernel;
    await addSecret(service, vault, 'model', { metadata: { tags: ['hidden'] } });
    const model = await db.read.selectFrom('secrets').selectAll().where('path', '=', 'model').executeTakeFirstOrThrow();
    for (let at = 0; at < HIDDEN; at += 500) {
      const copies = Array.from({ length: 500 }, (_, i) => ({
        ...model,
        path: `secret/of/others-${String(at + i).padStart(6, '0')}`,
        secret_id: newId('sec'),
        secret_no: at + i + 1,
      }));
      await asTheService(db, (tx) => SECRETS.insert(tx, ...copies));
    }
  }

  const personWith = async (statements: readonly Statement[]) => {
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, statements);
    return person;
  };
  const page = async (person: Person, query: string) => {
    const { result, rows } = await queriesDuring(() =>
      ok(service.call('GET', `/v1/vaults/${vault}/secrets?${query}`, { token: person.token })),
    );
    const paths = result.secrets.map((secret: { path: string }) => secret.path) as string[];
    return { paths, cursor: result.next_cursor as string | null, rows };
  };
  const READ = ['secrets:list', 'secrets:read'];

  test('ten at the end, allowed by their prefix, cost what ten of ten would', async () => {
    const person = await personWith([{ action: READ, resource: [`vault/${vault}/zz/*`] }]);
    const found = await page(person, 'limit=10');
    assert.deepEqual([found.paths, found.cursor], [VISIBLE, null]);
    assert.ok(found.rows >= VISIBLE.length && found.rows < FEW, `${found.rows} rows were read`);
    const everything = await page({ ...person, token: service.adminToken }, 'limit=10');
    assert.ok(found.rows <= 2 * everything.rows, `${found.rows} rows against ${everything.rows}`);
  });

  test('so do ten left over by a deny of all the others', async () => {
    const person = await personWith([
      { action: READ, resource: [`vault/${vault}/**`] },
      { effect: 'deny', action: ['secrets:*'], resource: [`vault/${vault}/secret/**`, `vault/${vault}/model`] },
    ]);
    const found = await page(person, 'limit=10');
    assert.deepEqual(found.paths, VISIBLE);
    assert.ok(found.rows < FEW, `${found.rows} rows were read`);
  });

  test('so does a prefix under which nothing may be seen, and one that is not there', async () => {
    const person = await personWith([{ action: READ, resource: [`vault/${vault}/zz/*`] }]);
    for (const prefix of ['secret/', 'nothing']) {
      const found = await page(person, `prefix=${prefix}`);
      assert.deepEqual([found.paths, found.cursor], [[], null]);
      assert.ok(found.rows < FEW, `${found.rows} rows were read`);
    }
  });

  test('so does a tag that few have', async () => {
    const found = await page({ ...(await addPerson(service)), token: service.adminToken }, 'tags=seen');
    assert.deepEqual(found.paths, VISIBLE);
    assert.ok(found.rows < FEW, `${found.rows} rows were read`);
  });

  test('where only each row can tell, a page checks some and says where to go on, sealed', async () => {
    const condition = { tag_equals: ['seen'] };
    const person = await personWith([{ action: READ, resource: [`vault/${vault}/**`], condition }]);
    const found: string[] = [];
    const cursors: string[] = [];
    let cursor: string | null = null;
    do {
      const next: Awaited<ReturnType<typeof page>> = await page(person, cursor === null ? '' : `cursor=${cursor}`);
      assert.ok(next.rows < SCAN_MAX, `${next.rows} rows were read`);
      found.push(...next.paths);
      cursor = next.cursor;
      if (cursor !== null) cursors.push(cursor);
    } while (cursor !== null);
    assert.deepEqual(found, VISIBLE);
    assert.ok(cursors.length >= 3 && cursors.length <= 10, `${cursors.length} pages`);
    for (const each of cursors) {
      const outer = Buffer.from(each.split('.')[0] ?? '', 'base64url').toString('latin1');
      const [kind, sealed] = JSON.parse(outer) as [string, string];
      assert.equal(kind, 'sealed');
      const inner = Buffer.from(sealed, 'base64url').toString('latin1');
      for (const text of [each, outer, inner]) assert.doesNotMatch(text, /secret|others|\d{6}/);
    }
    const [first = ''] = cursors;
    const other = await addVault(service);
    await invalid(service.call('GET', `/v1/vaults/${other}/secrets?cursor=${first}`), '/query/cursor');
    const changed = first.slice(0, -3) + (first.endsWith('AAA') ? 'BBB' : 'AAA');
    await invalid(service.call('GET', `/v1/vaults/${vault}/secrets?cursor=${changed}`), '/query/cursor');
    const again = await page(person, `cursor=${first}`);
    assert.equal(again.cursor === null, false, 'the same cursor goes on from the same place');
  });

  test('values and search go the same way', async () => {
    const person = await personWith([
      { action: ['secrets:aggregate', 'secrets:read', 'secrets:search'], resource: [`vault/${vault}/zz/*`] },
    ]);
    const { token } = person;
    const values = await queriesDuring(() => ok(service.call('GET', `/v1/vaults/${vault}/aggregate`, { token })));
    assert.equal(values.result.secrets.length, VISIBLE.length);
    const body = { query: 'value of' };
    const search = () => ok(service.call('POST', `/v1/vaults/${vault}/search`, { token, body }));
    const found = await queriesDuring(search);
    assert.equal(found.result.matches.length, VISIBLE.length);
    for (const { rows } of [values, found]) assert.ok(rows >= VISIBLE.length && rows < FEW, `${rows} rows were read`);
  });
});
