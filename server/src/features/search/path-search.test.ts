import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { sealZeroKnowledge } from '../../../../client/src/zero-knowledge-index.ts';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addPerson, addTenant, addToken, allPages, invalid, ok, type Tenant } from '../../../../test/support/people.ts';
import { queriesDuring } from '../../../../test/support/queries.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, auditOf, type Statement, secretUrl } from '../../../../test/support/vaults.ts';

onBothDatabases('secrets found by their path', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    const by = tenant.owner.token;
    for (const name of ['shop', 'stock', 'closed']) await addVault(service, { name }, by);
    await addVault(service, { name: 'sealed', is_zero_knowledge: true }, by);
    const put = (vault: string, path: string, more = {}) => addSecret(service, vault, path, more, by);
    await put('shop', 'database/password', { type: 'password' });
    await put('shop', 'database/user_name');
    await put('shop', 'mail/Password');
    await put('stock', 'database/password', { metadata: { tags: ['seen'] } });
    await put('stock', 'old/database');
    await put('closed', 'database/root');
  });
  after(() => service.close());

  const find = (query: string, token = tenant.owner.token) => service.call('GET', `/v1/secrets?${query}`, { token });
  const found = async (query: string, token = tenant.owner.token) => {
    const secrets = await allPages(service, `/v1/secrets?${query}`, 'secrets', { token });
    return secrets.map(({ vault, path }) => `${vault}/${path}`);
  };
  const personWith = async (...statements: Statement[]) => {
    const person = await addPerson(service, { tenant });
    await addPolicy(service, { user: person.id }, statements, tenant.owner.token);
    return person.token;
  };
  const LIST = ['secrets:list'];

  test('are those of all vaults that contain every part, in the order of their paths, and have no value', async () => {
    assert.deepEqual(await found('path=database'), [
      'shop/database/password',
      'stock/database/password',
      'closed/database/root',
      'shop/database/user_name',
      'stock/old/database',
    ]);
    const all = ['shop/database/password', 'stock/database/password', 'shop/mail/Password'];
    assert.deepEqual(await found('path=PASS'), all, 'upper and lower case are the same');
    assert.deepEqual(await found('path=pass&path=DATA'), all.slice(0, 2));
    assert.deepEqual(await found('path=e/u'), ['shop/database/user_name']);
    assert.deepEqual(await found('path=r_n'), ['shop/database/user_name'], 'an underscore stands for itself');
    assert.deepEqual(await found('path=nothing'), []);
    const { secrets } = await ok(find('path=mail'));
    const { id, updated_at, ...rest } = secrets[0];
    const at = { vault: 'shop', path: 'mail/Password', type: 'generic', environment: 'staging' };
    assert.deepEqual(rest, { ...at, protection: 'standard', version: 1 });
  });

  test('come in pages that a cursor continues, also between equal paths', async () => {
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const page: { secrets: { vault: string }[]; next_cursor: string | null } = await ok(
        find(`path=password&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`),
      );
      pages.push(page.secrets.map(({ vault }) => vault));
      cursor = page.next_cursor;
    } while (cursor !== null && pages.length < 9);
    assert.deepEqual(pages.flat(), ['shop', 'stock', 'shop']);
    const { next_cursor: other } = await ok(service.call('GET', '/v1/vaults?limit=1', { token: tenant.owner.token }));
    for (const wrong of [other, 'x', 'AAAA.BBBB'])
      await invalid(find(`path=password&cursor=${wrong}`), '/query/cursor');
  });

  test('are also found by abbreviations, if that is requested', async () => {
    const { token } = (await addTenant(service)).owner;
    const vault = await addVault(service, {}, token);
    const [url, root, bus] = ['API/DATABASE_URL', 'database/root', 'kiosk/d.bus-line'];
    // The last one is as slow as it gets: it nearly matches at every letter.
    for (const path of [url, root, bus, `${`${'a'.repeat(127)}/`.repeat(7)}x`])
      await addSecret(service, vault, path, {}, token);
    const paths = async (query: string) =>
      (await found(query, token)).map((each) => each.slice(vault.length + 1)).toSorted();
    for (const query of ['path=db&path=url', 'path=db&path=url&match=part']) assert.deepEqual(await paths(query), []);
    const abbreviated = (...parts: string[]) =>
      paths(`${parts.map((part) => `path=${part}&`).join('')}match=abbreviation`);
    assert.deepEqual(await abbreviated('DB', 'url'), [url]);
    assert.deepEqual(await abbreviated('db'), [url, root, bus]);
    assert.deepEqual(await abbreviated('dbrt'), [root]);
    assert.deepEqual(await abbreviated('d_bl'), [bus], 'whatever separates the words');
    assert.deepEqual(await abbreviated('atabas', 'url'), [url], 'a part as it stands');
    assert.deepEqual(await abbreviated('tb', 'url'), [], 'no word begins with it');
    assert.deepEqual(await abbreviated('bd', 'url'), [], 'in this order');
    assert.deepEqual(await abbreviated(`${'a'.repeat(31)}y`), []);
    assert.deepEqual(await abbreviated('a'.repeat(129)), [], 'too long for an abbreviation');
    assert.deepEqual(await found('path=dbrt&match=abbreviation'), ['closed/database/root'], 'of this tenant alone');
    await invalid(find('path=db&match=letters'), '/query/match');
  });

  test('what is malformed or too much is refused', async () => {
    for (const query of ['', 'limit=5', 'path=', `path=${'a&path='.repeat(8)}a`])
      await invalid(find(query), '/query/path');
    for (const part of ['two%20words', '%25', '%C3%A9', 'x'.repeat(257)])
      await invalid(find(`path=${part}`), '/query/path/0');
    for (const limit of ['0', '-1', '1.5', '100000']) await invalid(find(`path=a&limit=${limit}`), '/query/limit');
    await invalid(find('path=a&vault=shop'), '/query/vault');
  });

  test('another tenant finds its own, and who may list nothing makes no search', async () => {
    const stranger = await addTenant(service);
    const vault = await addVault(service, {}, stranger.owner.token);
    await addSecret(service, vault, 'database/own', {}, stranger.owner.token);
    assert.deepEqual(await found('path=database', stranger.owner.token), [`${vault}/database/own`]);
    const member = await addPerson(service, { tenant });
    const { result, queries } = await queriesDuring(() => ok(find('path=database', member.token)));
    assert.deepEqual(result, { secrets: [], next_cursor: null });
    assert.deepEqual(
      queries.filter((each) => /"secrets"/.test(each)),
      [],
      'the time would tell how many secrets there are',
    );
  });

  test('only what may be listed: a vault, a part of one, all but a denied path, by tag, by the scope of a token', async () => {
    const everywhere = { action: LIST, resource: ['vault/**'] };
    assert.deepEqual(await found('path=database', await personWith({ action: LIST, resource: ['vault/stock/**'] })), [
      'stock/database/password',
      'stock/old/database',
    ]);
    const partly = await personWith({ action: LIST, resource: ['vault/stock/old/*', 'vault/shop/database/user_name'] });
    assert.deepEqual(await found('path=database', partly), ['shop/database/user_name', 'stock/old/database']);
    const deny = { effect: 'deny' as const, action: LIST, resource: ['vault/*/database/password', 'vault/closed/**'] };
    assert.deepEqual(await found('path=database', await personWith(everywhere, deny)), [
      'shop/database/user_name',
      'stock/old/database',
    ]);
    const tagged = await personWith({ ...everywhere, condition: { tag_equals: ['seen'] } });
    assert.deepEqual(await found('path=database', tagged), ['stock/database/password']);
    const reader = await personWith({ action: ['secrets:read'], resource: ['vault/**'] });
    assert.deepEqual(await found('path=database', reader), [], 'reading is not listing');
    const { token } = await addToken(service, tenant.owner.token, { scope: { vaults: ['closed'] } });
    assert.deepEqual(await found('path=database', token), ['closed/database/root']);
  });

  test('what one may see is the same however small the pages are', async () => {
    const token = await personWith(
      { action: LIST, resource: ['vault/**'] },
      { effect: 'deny', action: LIST, resource: ['vault/shop/**'] },
    );
    const all = await found('path=a', token);
    assert.ok(all.length === 3 && all.every((each) => !each.startsWith('shop/')));
    assert.deepEqual(await found('path=a&limit=1', token), all);
  });

  test('nothing tells whether what one may not list has a match', async () => {
    const { owner, ...own } = await addTenant(service);
    const [seen, hidden] = [await addVault(service, {}, owner.token), await addVault(service, {}, owner.token)];
    const member = await addPerson(service, { tenant: { owner, ...own } });
    await addPolicy(service, { user: member.id }, [{ action: LIST, resource: [`vault/${seen}/**`] }], owner.token);
    // As many as are loaded at once, with the hidden one among them.
    const dotenv = Array.from({ length: 499 }, (_, i) => `root_${i}=x`).join('\n');
    await ok(service.call('POST', `/v1/vaults/${seen}/import`, { token: owner.token, body: { dotenv } }));
    await addSecret(service, hidden, 'root', {}, owner.token);
    const { secrets, next_cursor } = await ok(find('path=root&limit=499', member.token));
    assert.deepEqual([secrets.length, next_cursor], [499, null]);
    assert.equal((await found('path=root', owner.token)).length, 500, 'the hidden one is there');
  });

  test('a machine finds what its connection reaches', async () => {
    const { token } = tenant.owner;
    const machine = await addConnection(service, 'stock', { allowed_paths: ['old/*'] }, token);
    const { secrets } = await ok(callAs(service, machine, 'GET', '/v1/secrets?path=database'));
    const visible = secrets.map(({ vault, path }: { vault: string; path: string }) => `${vault}/${path}`);
    assert.deepEqual(visible, ['stock/old/database']);
  });

  test('those that are deleted, or whose vault is, are not found; paths of zero-knowledge vaults are', async () => {
    const { token } = tenant.owner;
    await addSecret(service, 'shop', 'short/lived', {}, token);
    assert.deepEqual(await found('path=lived'), ['shop/short/lived']);
    await ok(service.call('DELETE', secretUrl('shop', 'short/lived'), { token }));
    assert.deepEqual(await found('path=lived'), []);
    const value = await sealZeroKnowledge(
      'x',
      { key: new Uint8Array(32).fill(7) },
      { vault: 'sealed', path: 'zk/lived' },
    );
    await addSecret(service, 'sealed', 'zk/lived', { value }, token);
    assert.deepEqual(await found('path=lived'), ['sealed/zk/lived']);
    assert.deepEqual(await found('path=root'), ['closed/database/root']);
    await ok(service.call('DELETE', '/v1/vaults/closed', { token }));
    assert.deepEqual(await found('path=root'), []);
  });

  test('the log says that somebody searched, and not for what', async () => {
    await found('path=something-that-was-pasted');
    const [entry] = await auditOf(service, 'action=secrets:find', tenant.owner.token);
    assert.deepEqual([entry.decision, entry.resource], ['allow', 'vault']);
    assert.ok(!JSON.stringify(entry).includes('pasted'));
    assert.ok(!service.logs.join('').includes('pasted'));
  });

  describe('among more than a hundred thousand', () => {
    const MANY = 102_000;
    const AT_ONCE = 6000;
    /** Statements of one page over paths: two for each of twenty windows. What else runs meanwhile is not counted. */
    const STATEMENTS_MAX = 40;
    const searches = (queries: readonly string[]) => queries.filter((each) => each.includes(`path || ''`)).length;
    /** Far less than there is. */
    const ROWS_MAX = 1000;
    before(async () => {
      const { database: db } = service.app.kernel;
      const model = await addSecret(service, 'stock', 'model', {}, tenant.owner.token);
      // Lists check no MAC, and nothing opens these values. A statement for all of them would take longer than any may.
      for (let at = 0; at < MANY; at += AT_ONCE) {
        const [from, to] = [sql.lit(at + 1), sql.lit(at + AT_ONCE)];
        const numbers =
          database === 'sqlite'
            ? sql`(with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to}) select i from n)`
            : sql`(select generate_series(${from}, ${to}) as i)`;
        await behindItsBack(db, (tx) =>
          sql`insert into secrets (tenant_id, vault_id, deleted_no, path, secret_id, secret_no, type, environment, protection, version,
              metadata, tags, created_at, updated_at, sealed_version, sealed)
            select tenant_id, vault_id, 0, 'many/' || i, substr(secret_id, 1, 23) || (1000000 + i), secret_no + 100 + i, type, environment,
              protection, version, metadata, tags, created_at, updated_at, sealed_version, sealed
            from secrets cross join ${numbers} as numbers where secret_id = ${model.id}`.execute(tx),
        );
      }
    });

    test('a page reads a bounded part of them, and its cursor leads to the rest without saying where it ended', async () => {
      const { result, queries, rows } = await queriesDuring(() => ok(find('path=old')));
      assert.deepEqual(result.secrets, []);
      assert.equal(searches(queries), STATEMENTS_MAX);
      assert.ok(rows < ROWS_MAX, `${rows} rows`);
      const text = Buffer.from(String(result.next_cursor).split('.')[0] ?? '', 'base64url').toString('latin1');
      assert.match(text, /sealed/);
      assert.doesNotMatch(text, /many/);
      const rest = await ok(find(`path=old&cursor=${result.next_cursor}`));
      assert.deepEqual([rest.secrets[0].path, rest.next_cursor], ['old/database', null]);
    });

    test('a page that is full reads no further', async () => {
      const { result, queries } = await queriesDuring(() => ok(find('path=many&limit=10')));
      assert.deepEqual([result.secrets.length, result.next_cursor === null], [10, false]);
      assert.equal(searches(queries), 2, 'one window');
    });
  });
});
