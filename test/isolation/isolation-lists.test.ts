import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { APPROVALS } from '../../server/src/features/approvals/index.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { type EndpointDeclaration, NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import type { Context } from '../../server/src/kernel/request/context.ts';
import { boundCursor, listDigest, placeOfCursor } from '../../server/src/kernel/request/list-cursor.ts';
import { encodeCursor } from '../../server/src/kernel/wire/cursor.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { INPUTS, type Input, nameOf, TAKES_PROOF } from '../support/endpoint-inputs.ts';
import { identifiersOf, type Neighbours, type Side, send, senderOf, startNeighbours } from '../support/isolation.ts';
import { addToList, BETWEEN_REGIONS, LISTS, ownInput, rowsIn, withQuery } from '../support/lists.ts';
import { allPages, approve, invalid, ok, openSession, refused, uniqueName } from '../support/people.ts';
import { queriesDuring } from '../support/queries.ts';
import { asTheService } from '../support/rows.ts';
import { type Answer, onSqliteAtLanding, type Service } from '../support/service.ts';
import { addSecret, addVault, auditOf, secretUrl } from '../support/vaults.ts';

/** Their response follows from the request alone, for any caller. */
const TENANTLESS = ['verifyAttestation'];

/** A refusal is recorded with the requested resource, which the requester knew. */
const toldOf = (rows: Answer['body'][]) =>
  JSON.stringify(rows.filter(({ decision }) => decision !== 'deny' && decision !== 'error'));

/** Something valid for each filter that a list takes. */
function filtersOf({ query, body }: EndpointDeclaration): [string, string][] {
  const properties = { ...(query !== NONE && query.properties), ...(body !== NONE && body.properties) };
  return Object.entries(properties)
    .filter(([name]) => !['cursor', 'limit', 'entries'].includes(name))
    .map(([name, schema]) => [name, filterValue(schema as FilterSchema)]);
}
/** A page of activity counts entries, and has no rows to limit. */
function pageOf({ name }: EndpointDeclaration, size: string): Record<string, string> {
  return name === 'readAuditActivity' ? { entries: size } : { limit: size };
}

interface FilterSchema {
  type?: string;
  enum?: string[];
  pattern?: string;
  anyOf?: { format?: string }[];
}
const NO_ID = '0'.repeat(26);
const FILTER_VALUES = ['abc', 'staging', '1', 'audit:read', `user_${NO_ID}`, `req_${NO_ID}`];

function filterValue({ type, enum: choices, pattern, anyOf }: FilterSchema): string {
  if (choices !== undefined) return choices.at(-1) ?? '';
  if (type === 'boolean') return 'true';
  if (type === 'integer') return '1';
  if (anyOf?.[0]?.format === 'date-time') return '2026-01-01T00:00:00.000Z';
  const fits = (text: string) => pattern === undefined || new RegExp(pattern).test(text);
  return FILTER_VALUES.find(fits) ?? assert.fail(`add a value of the form ${pattern}`);
}

onSqliteAtLanding('isolation of lists', (database) => {
  let neighbours: Neighbours;
  let service: Service;
  let ours: Side;
  let theirs: Side;

  before(async () => {
    neighbours = await startNeighbours(database);
    ({ service, ours, theirs } = neighbours);
    for (const side of [ours, theirs]) {
      for (const list of LISTS) for (let i = 0; i < 2; i++) await addToList(service, list, side);
      await collide(side);
    }
  });
  after(() => service.close());

  /** Two vaults with two secrets that are alike, by path and by value. */
  async function collide({ token }: Side): Promise<string[]> {
    const vaults = [await addVault(service, {}, token), await addVault(service, {}, token)];
    for (const vault of vaults) {
      for (const path of ['alike/one', 'alike/two']) {
        await addSecret(service, vault, path, { value: `the same at ${path}` }, token);
      }
    }
    return vaults;
  }

  /** A cursor that would request another page of this very list. */
  async function cursorOf(declaration: EndpointDeclaration, input: Input, { token, tenantId }: Side): Promise<string> {
    if (placeOfCursor(declaration) === 'body') {
      // It has no limit, so its pages are long; the cursor is made as it would make it.
      const { secrets } = await ok(service.call('GET', `/v1/vaults/${input.params?.['vault']}/secrets`, { token }));
      const digest = listDigest(declaration, input as Parameters<typeof listDigest>[1]);
      const ctx = { declaration, tenantId, kernel: service.app.kernel, requestedList: digest } as unknown as Context;
      return (await boundCursor(ctx, encodeCursor(['at', secrets[0].path]))) ?? '';
    }
    const page = await ok(send(service, declaration, withQuery(declaration, input, pageOf(declaration, '1')), token));
    assert.ok(page.next_cursor, 'needs an input with two rows');
    return page.next_cursor;
  }

  async function everyRow(declaration: EndpointDeclaration, input: Input, token: string) {
    const rows: Answer['body'][] = [];
    let total: number | undefined;
    for (let cursor: string | null = null; ; ) {
      const page: Answer['body'] = await ok(
        send(service, declaration, cursor === null ? input : withQuery(declaration, input, { cursor }), token),
      );
      rows.push(...rowsIn(page));
      total = page.total;
      cursor = page.next_cursor;
      if (cursor === null) return { rows, total };
    }
  }

  describe('a cursor works with the list and filters that made it, and with no other', () => {
    const cursors = new Map<EndpointDeclaration, { input: Input; cursor: string }>();
    before(async () => {
      for (const declaration of LISTS) {
        const input = await ownInput(declaration, ours);
        cursors.set(declaration, { input, cursor: await cursorOf(declaration, input, ours) });
      }
    });

    for (const declaration of LISTS) {
      test(nameOf(declaration), async () => {
        const { input, cursor } = cursors.get(declaration) ?? assert.fail();
        const at = `/${placeOfCursor(declaration)}/cursor`;
        const ask = (one: Input, more: Record<string, string>, token = ours.token) =>
          send(service, declaration, withQuery(declaration, one, more), token);
        await ok(ask(input, { cursor }));
        await ok(ask(input, { cursor, ...pageOf(declaration, '7') }));
        for (const [other, { cursor: foreign }] of cursors) {
          if (other !== declaration) await invalid(ask(input, { cursor: foreign }), at);
        }
        for (const [name, value] of filtersOf(declaration)) {
          if (input.query?.[name] !== value) await invalid(ask(input, { cursor, [name]: value }), at);
        }
        const elsewhere = await ownInput(declaration, ours);
        if (JSON.stringify(elsewhere.params) !== JSON.stringify(input.params)) {
          await invalid(ask(elsewhere, { cursor }), at);
        }
        for (const bent of [
          cursor.slice(0, -1),
          `${cursor}A`,
          cursor.split('.')[0] ?? '',
          `.${cursor.split('.')[1]}`,
        ]) {
          await invalid(ask(input, { cursor: bent }), at);
        }
        if (declaration.tenant === 'operator') {
          assert.equal((await ask(input, { cursor }, theirs.token)).status, 403);
          return;
        }
        // Whatever of ours they name with it.
        await invalid(ask(input, { cursor }, theirs.token), at);
        await invalid(ask(await ownInput(declaration, theirs), { cursor }, theirs.token), at);
        for (const { token } of [neighbours.member, neighbours.elsewhere]) {
          if (input.params !== undefined) assert.equal((await ask(input, { cursor }, token)).status, 403);
        }
      });
    }
  });

  describe('another tenant’s lists and totals hold nothing of ours', () => {
    for (const declaration of LISTS) {
      if (declaration.tenant === 'operator') continue;
      test(nameOf(declaration), async () => {
        const own = await ownInput(declaration, theirs);
        const { rows, total } = await everyRow(declaration, own, theirs.token);
        assert.ok(rows.length > 0, 'an empty list shows nothing');
        assert.deepEqual((await identifiersOf(service, ours)).within(toldOf(rows)), []);
        if (total !== undefined) assert.equal(total, rows.length);
        const before = rows.length;
        // Whatever is added on our side, their count stays; the log counts the question itself.
        await ownInput(declaration, ours);
        const again = await everyRow(declaration, own, theirs.token);
        if (declaration.name !== 'listAudit') assert.equal(again.rows.length, before);
      });
    }
  });

  test('who has no grant is shown no vault, no collision and no approval, and no total of any', async () => {
    const vaults = await collide(ours);
    const asAdmin = await ok(service.call('GET', '/vaults/collisions'));
    assert.ok(asAdmin.total > 0);
    const { token } = neighbours.member;
    const none = { total: 0, next_cursor: null };
    const { result, queries } = await queriesDuring(() => ok(service.call('GET', '/vaults/collisions', { token })));
    assert.deepEqual(result, { collisions: [], complete: true, ...none });
    const searches = queries.filter((sql) => /"secrets"/.test(sql));
    assert.deepEqual(searches, [], 'the time it takes would tell how many secrets there are');
    for (const query of ['', '?status=active', '?status=deleted', '?environment=staging', '?limit=1']) {
      assert.deepEqual(await ok(service.call('GET', `/v1/vaults${query}`, { token })), { vaults: [], ...none });
    }
    assert.deepEqual(await ok(service.call('GET', '/approvals', { token })), { approvals: [], next_cursor: null });

    // With one of the two vaults, what is in the other makes no collision.
    const [granted] = vaults;
    await neighbours.grant([{ action: ['*'], resource: [`vault/${granted}`, `vault/${granted}/**`] }]);
    const by = { token: neighbours.elsewhere.token };
    const collisions = await ok(service.call('GET', '/vaults/collisions', by));
    assert.deepEqual(collisions, { collisions: [], complete: true, ...none });
    const list = await ok(service.call('GET', '/v1/vaults', by));
    const names = list.vaults.map((vault: { name: string }) => vault.name);
    assert.deepEqual([names.sort(), list.total], [[granted, neighbours.grantedVault].sort(), 2]);
    await neighbours.grant([]);
  });

  test('a log shows what its own tenant did, and nothing else', async () => {
    const { rows: own } = await everyRow(declared('GET /v1/audit'), {}, theirs.token);
    const ourEntries = new Set((await auditOf(service, '')).map((entry) => entry.id));
    const people = await allPages(service, '/v1/users', 'users', { token: theirs.token });
    // Some of its clusters are deleted by now, but its own log says that they were created there.
    const clusters = own.filter(({ action }) => action === 'clusters:create').map(({ details }) => details.cluster);
    const known = new Set(['', ...people.map((person) => person.id), ...clusters]);
    for (const entry of own) {
      assert.ok(!ourEntries.has(entry.id));
      // What the operator did to the tenant is told, without saying who.
      if (entry.actor.kind !== 'operator') assert.ok(known.has(entry.actor.id), JSON.stringify(entry));
    }
    // Our filters find nothing there.
    for (const query of [`actor=${neighbours.owner.id}`, `vault=${neighbours.grantedVault}`]) {
      assert.ok((await auditOf(service, query)).length > 0);
      assert.deepEqual(await auditOf(service, query, theirs.token), []);
    }
  });

  function declared(name: string): EndpointDeclaration {
    const found = DECLARATIONS.find((declaration) => nameOf(declaration) === name);
    assert.ok(found !== undefined);
    return found;
  }

  test('an approval is seen and decided by nobody it is not for, and still can be by who it is for', async () => {
    for (const make of [INPUTS['GET /approvals/{approval_id}'], deletionOfAVault]) {
      const { params } = (await make?.(ours.world, senderOf(ours))) ?? {};
      const id = String(params?.['approval_id']);
      for (const token of [theirs.token, neighbours.member.token, neighbours.elsewhere.token]) {
        await refused(service.call('GET', `/approvals/${id}`, { token }), 404, 'NOT_FOUND');
        for (const [verb, body] of [
          ['approve', { digest: 'x' }],
          ['reject', {}],
        ] as const) {
          await refused(service.call('POST', `/approvals/${id}/${verb}`, { token, body }), 404, 'NOT_FOUND');
        }
        const seen = await allPages(service, '/approvals', 'approvals', { token });
        assert.ok(seen.every((approval) => approval.id !== id));
      }
      const approval = await ok(approve(service, id, neighbours.owner.token));
      assert.equal(approval.status, 'completed');
    }
  });

  test('a cursor names no approval that its owner may not see', async () => {
    const { database: db } = service.app.kernel;
    const [model] = await db.read.selectFrom('approvals').selectAll().where('tenant_id', '=', ours.tenantId).execute();
    assert.ok(model !== undefined);
    const copies = Array.from({ length: 2500 }, () => ({
      ...model,
      approval_id: newId('approval'),
      status: 'rejected',
    }));
    await asTheService(db, async (tx) => {
      for (let at = 0; at < copies.length; at += 500) {
        await APPROVALS.insert(tx, ...(copies.slice(at, at + 500) as (typeof model)[]));
      }
    });
    const { token } = neighbours.member;
    const page = await ok(service.call('GET', '/approvals', { token }));
    assert.deepEqual(page.approvals, []);
    const held = Buffer.from(page.next_cursor.split('.')[0], 'base64url').toString('latin1');
    assert.doesNotMatch(held, /approval_/);
    const next = `/approvals?cursor=${page.next_cursor}`;
    assert.deepEqual(await ok(service.call('GET', next, { token })), { approvals: [], next_cursor: null });
    await refused(service.call('GET', next, { token: theirs.token }), 422, 'VALIDATION_FAILED');
    const all = await allPages(service, '/approvals?limit=1000', 'approvals');
    assert.ok(all.length >= copies.length);
    await db.transaction(async (tx) => {
      await tx
        .deleteFrom('approvals')
        .where(
          'approval_id',
          'in',
          copies.map((copy) => copy.approval_id),
        )
        .execute();
    });
  });

  async function deletionOfAVault(): Promise<Input> {
    const vault = await addVault(service, { environment: 'production' });
    const { approval_id } = await ok(service.call('DELETE', `/v1/vaults/${vault}`), 202);
    return { params: { approval_id } };
  }

  describe('the Idempotency-Key of another is not theirs to repeat', () => {
    // No token shows the second factor that this takes, so there is no answer of it that could be repeated.
    const WITH_A_FACTOR = ['trustMfa', 'rotateScimToken', 'deleteSsoLink'];
    const CHANGES = DECLARATIONS.filter(
      ({ effect, credentials, name, noun }) =>
        effect === 'change' &&
        credentials.includes('pat') &&
        !TENANTLESS.includes(name) &&
        !WITH_A_FACTOR.includes(name) &&
        noun !== BETWEEN_REGIONS,
    );
    for (const declaration of CHANGES) {
      test(nameOf(declaration), async () => {
        const input = await ownInput(declaration, ours);
        const key = { 'idempotency-key': uniqueName('key') };
        const owners = TAKES_PROOF.has(declaration.name)
          ? await openSession(service, neighbours.owner.id, { isFactorShown: true })
          : neighbours.owner.token;
        const first = await send(service, declaration, input, owners, key);
        assert.ok(first.status < 300, first.text);
        const again = await send(service, declaration, input, owners, key);
        assert.equal(again.headers.get('idempotency-replayed'), 'true', 'the owner’s own repetition');
        assert.equal(again.text, first.text);
        for (const token of [theirs.token, neighbours.member.token]) {
          const other = await send(service, declaration, input, token, key);
          assert.ok(other.status < 500, other.text);
          assert.equal(other.headers.get('idempotency-replayed'), null);
          if (first.text !== '') assert.notEqual(other.text, first.text);
          if (input.params !== undefined) assert.ok([403, 404].includes(other.status), other.text);
        }
      });
    }
  });

  test('a token is not read, listed or revoked from elsewhere, and goes on working', async () => {
    const { owner } = neighbours;
    const { credential } = await ok(service.call('GET', '/auth/me', { token: owner.token }));
    for (const method of ['GET', 'DELETE']) {
      const path = `/auth/tokens/${credential.id}`;
      await refused(service.call(method, path, { token: theirs.token }), 404, 'NOT_FOUND');
      await refused(service.call(method, path, { token: neighbours.member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    const list = await ok(service.call('GET', `/auth/tokens?user_id=${owner.id}`, { token: theirs.token }));
    assert.deepEqual(list, { tokens: [], next_cursor: null });
    await ok(service.call('GET', '/auth/me', { token: owner.token }));
  });

  describe('a name is compared one way only', () => {
    test('a grant on a vault is none on one that differs in case', async () => {
      const name = uniqueName('Payments');
      const [mixed, small] = [await addVault(service, { name }), await addVault(service, { name: name.toLowerCase() })];
      for (const vault of [mixed, small]) await addSecret(service, vault, 'Db/Password');
      await neighbours.grant([{ action: ['*'], resource: [`vault/${mixed}`, `vault/${mixed}/**`] }]);
      const { token } = neighbours.elsewhere;
      await ok(service.call('GET', secretUrl(mixed, 'Db/Password'), { token }));
      await refused(service.call('GET', secretUrl(mixed, 'db/password'), { token }), 404, 'SECRET_NOT_FOUND');
      for (const vault of [small, name.toUpperCase()]) {
        for (const path of [secretUrl(vault, 'Db/Password'), `/v1/vaults/${vault}`, `/v1/vaults/${vault}/secrets`]) {
          await refused(service.call('GET', path, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
        }
      }
      const list = await ok(service.call('GET', '/v1/vaults', { token }));
      assert.ok(list.vaults.every((vault: { name: string }) => vault.name !== small));
      await neighbours.grant([]);
    });

    test('a grant on a path is none on one that differs in case', async () => {
      const vault = await addVault(service);
      for (const path of ['team/Key', 'team/key', 'Team/key']) await addSecret(service, vault, path);
      await neighbours.grant([{ action: ['*'], resource: [`vault/${vault}/team/key`] }]);
      const { token } = neighbours.elsewhere;
      const { secrets } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets`, { token }));
      assert.deepEqual(
        secrets.map((secret: { path: string }) => secret.path),
        ['team/key'],
      );
      for (const path of ['team/Key', 'Team/key', 'TEAM/KEY', 'team/nothing']) {
        await refused(service.call('GET', secretUrl(vault, path), { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      await neighbours.grant([]);
    });

    test('a pattern in a name, path or prefix is refused and widens nothing', async () => {
      const { token } = neighbours.elsewhere;
      const vault = neighbours.grantedVault;
      for (const name of [`${vault}*`, '*', `${vault},x`, `${vault}%2F..`, `${vault}%5B%5D`]) {
        const { status } = await service.call('GET', `/v1/vaults/${name}`, { token });
        assert.ok([404, 422].includes(status), `${name}: ${status}`);
      }
      for (const path of ['*', 'a/*', '**', 'a%2A']) {
        const answer = await service.call('GET', `/v1/vaults/${vault}/secrets/${path}`, { token });
        assert.equal(answer.status, 422, path);
      }
    });
  });
});
