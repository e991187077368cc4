import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { untilBlocked } from '../../../../test/support/overtaken.ts';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addTotp } from '../../../../test/support/totp.ts';
import { runPurges } from '../../../../test/support/vaults.ts';
import { DAY_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { nextNumber } from '../../kernel/limits/counters.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { encodeCursor } from '../../kernel/wire/cursor.ts';
import { ATTACHMENTS } from '../policies/index.ts';
import { BINDINGS_MAX, EFFECTIVE_MAX, LEVELS_MAX } from './contract.ts';
import { BINDINGS } from './index.ts';
import { lockSecretToBind } from './store.ts';

type Json = Answer['body'];

const ROUNDS = 25;
/** Longer than any plan keeps what is deleted. */
const RETENTION_MS = 366 * DAY_MS;

onBothDatabases('environments', (database, { rule }) => {
  let service: Service;
  let vault: string;
  let auditor: Person;

  before(async () => {
    service = await startService(database);
    vault = await newVault();
    auditor = await addPerson(service, { role: 'auditor' });
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: unknown, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const get = (path: string, token?: string) => send('GET', path, undefined, token);

  async function newVault(more: object = {}, token?: string): Promise<string> {
    const name = uniqueName('vault');
    await ok(send('POST', '/v1/vaults', { name, environment: 'development', ...more }, token), 201);
    return name;
  }
  async function newSecret(value: string, more: { in?: string; token?: string; [field: string]: unknown } = {}) {
    const { in: where = vault, token, ...fields } = more;
    const body = { path: `app/${uniqueName('secret')}`, value, ...fields };
    return ok(send('POST', `/v1/vaults/${where}/secrets`, body, token), 201);
  }
  const make = (more: object = {}, token?: string) =>
    send('POST', '/environments', { name: uniqueName('env'), ...more }, token);
  const newEnv = (more: object = {}, token?: string): Promise<Json> => ok(make(more, token), 201);
  const child = (parent: Json, token?: string) => newEnv({ parent_id: parent.id }, token);
  const put = (env: Json, change: object, token?: string) =>
    send('PUT', `/environments/${env.id}`, { name: env.name, ...change }, token);
  const bind = (env: Json, secret_id: unknown, key_name: unknown, token?: string) =>
    send('POST', `/environments/${env.id}/secrets`, { secret_id, key_name }, token);
  const unbind = (env: Json, secretId: unknown, token?: string) =>
    send('DELETE', `/environments/${env.id}/secrets/${secretId}`, undefined, token);
  const compose = (env: Json, token?: string) => ok(get(`/environments/${env.id}/compose`, token));
  const resolve = (env: Json, token?: string) => ok(get(`/environments/${env.id}/compose?resolve=true`, token));
  const secretUrl = (secret: Json) => `/v1/vaults/${secret.vault}/secrets/${secret.path}`;
  const link = ({ id, name }: Json) => ({ environment_id: id, name });
  const parentOf = async (env: Json) => (await ok(get(`/environments/${env.id}`))).parent_id;

  async function chain(length: number): Promise<Json[]> {
    const line = [await newEnv()];
    while (line.length < length) line.push(await child(line.at(-1)));
    return line;
  }

  /** Somebody with these rights and no others. */
  async function personWho(...statement: object[]): Promise<Person> {
    const person = await addPerson(service);
    const name = uniqueName('policy');
    const document = { version: '2026-01-01', statement };
    await ok(send('POST', '/v1/policies', { name, document }), 201);
    // Past the API: where there is a fortress secret, to attach it takes a second factor.
    const { kernel } = service.app;
    const tenant_id = kernel.operatorTenantId;
    const attachment = { tenant_id, principal_kind: 'user', principal_id: person.id, policy_name: name } as const;
    await recorded(kernel, tenant_id, async (tx) => {
      await ATTACHMENTS.insert(tx, { ...attachment, attached_at: service.clock.now() });
      await raiseEpoch(tx, tenant_id);
    });
    return person;
  }
  const allow = (action: string[], resource: string[], condition?: object) => ({
    effect: 'allow',
    action,
    resource,
    ...(condition && { condition }),
  });
  const ENVIRONMENTS = allow(['environments:*'], ['environment', 'environment/**']);
  const refusedTo = (answer: Promise<Answer>) => refused(answer, 403, 'INSUFFICIENT_PRIVILEGE');
  const missing = (answer: Promise<Answer>) => refused(answer, 404, 'NOT_FOUND');

  describe('made, read, changed, removed', () => {
    test('one reads back as made', async () => {
      const root = await newEnv({ description: 'Everything we share' });
      assert.ok(Number.isInteger(root.id) && root.id >= 1);
      assert.deepEqual([root.parent_id, root.description], [null, 'Everything we share']);
      assert.equal(root.created_at, root.updated_at);
      assert.deepEqual(await ok(get(`/environments/${root.id}`)), root);
      const made = await newEnv({ parent_id: root.id });
      assert.deepEqual([made.parent_id, made.description, made.tenant_id], [root.id, '', root.tenant_id]);
      assert.equal((await newEnv({ parent_id: null })).parent_id, null);
    });

    test('ids are counted in each tenant, without a gap, also when requested at once; none comes twice', async () => {
      const { owner } = await addTenant(service);
      const made = await Promise.all(Array.from({ length: 20 }, () => newEnv({}, owner.token)));
      const ids = made.map(({ id }) => id).sort((a, b) => a - b);
      assert.deepEqual(
        ids,
        Array.from({ length: 20 }, (_, i) => i + 1),
      );
      await ok(send('DELETE', '/environments/20', undefined, owner.token), 200);
      assert.equal((await newEnv({}, owner.token)).id, 21);
    });

    test('a counter begins at 1 for each tenant, and goes beyond 32 bits', async () => {
      const { database: db } = service.app.kernel;
      const next = (tenantId: string) => db.transaction((tx) => nextNumber(tx, tenantId, 'environments'));
      const [one, other] = [uniqueName('tenant'), uniqueName('tenant')];
      const numbers = await Promise.all(Array.from({ length: 10 }, () => next(one)));
      assert.deepEqual(
        numbers.toSorted((a, b) => a - b),
        Array.from({ length: 10 }, (_, i) => i + 1),
      );
      assert.equal(await next(other), 1);
      await db.transaction(async (tx) => {
        await tx
          .updateTable('counters')
          .set({ value: 2 ** 40 })
          .where('tenant_id', '=', other)
          .execute();
      });
      assert.equal(await next(other), 2 ** 40 + 1);
    });

    rule('a change of the name leaves the rest; what is given is replaced', async () => {
      const root = await newEnv();
      const made = await newEnv({ parent_id: root.id, description: 'old' });
      service.clock.advance(SECOND_MS);
      const name = uniqueName('renamed');
      const renamed = await ok(put(made, { name }));
      assert.deepEqual({ ...renamed, updated_at: '' }, { ...made, name, updated_at: '' });
      assert.ok(renamed.updated_at > made.updated_at);
      const described = await ok(send('PUT', `/environments/${made.id}`, { description: 'as well' }));
      assert.equal(described.name, name, 'what is left out stays');
      const changed = await ok(put(renamed, { description: '', parent_id: null }));
      assert.deepEqual([changed.name, changed.description, changed.parent_id], [name, '', null]);
      assert.deepEqual(await ok(get(`/environments/${made.id}`)), changed);
    });

    rule('a name exists once in a tenant; another case is another name; another tenant has its own', async () => {
      const { name } = await newEnv();
      const other = await newEnv();
      await refused(make({ name }), 409, 'ALREADY_EXISTS');
      await refused(put(other, { name }), 409, 'ALREADY_EXISTS');
      await ok(put(other, { name: other.name }));
      await newEnv({ name: name.toUpperCase() });
      await newEnv({ name }, (await addTenant(service)).owner.token);
    });

    test('twenty at once with one name make one', async () => {
      const name = uniqueName('race');
      const answers = await Promise.all(Array.from({ length: 20 }, () => make({ name })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
    });

    rule('one that others inherit from is in use; without them it goes, and its bindings with it', async () => {
      const [root, leaf] = (await chain(2)) as [Json, Json];
      const secret = await newSecret('stays');
      await ok(bind(root, secret.id, 'KEY'), 201);
      await refused(send('DELETE', `/environments/${root.id}`), 409, 'IN_USE');
      assert.equal(Object.keys((await compose(leaf)).effective).length, 1);
      await ok(send('DELETE', `/environments/${leaf.id}`), 200);
      await ok(send('DELETE', `/environments/${root.id}`), 200);
      await missing(get(`/environments/${root.id}`));
      await missing(send('DELETE', `/environments/${root.id}`));
      assert.equal((await ok(get(secretUrl(secret)))).value, 'stays');
      assert.equal(await bindingsIn(secret), 0);
    });

    test('a list comes in pages, in the order of the ids', async () => {
      const { owner } = await addTenant(service);
      for (let i = 0; i < 7; i++) await newEnv({}, owner.token);
      const all = await allPages(service, '/environments?limit=3', 'environments', { token: owner.token });
      assert.deepEqual(
        all.map(({ id }) => id),
        [1, 2, 3, 4, 5, 6, 7],
      );
    });

    rule('with an Idempotency-Key it is made once', async () => {
      const body = { name: uniqueName('once') };
      const headers = { 'idempotency-key': uniqueName('key') };
      const first = await ok(service.call('POST', '/environments', { body, headers }), 201);
      assert.deepEqual(await ok(service.call('POST', '/environments', { body, headers }), 201), first);
    });
  });

  async function bindingsIn(secret: Json): Promise<number> {
    const rows = await service.app.kernel.database.read
      .selectFrom('environment_secrets')
      .select('key_name')
      .where('secret_id', '=', secret.id)
      .execute();
    return rows.length;
  }

  describe('a line of inheritance', () => {
    rule('is no circle: not with itself, not in two steps, not in ten', async () => {
      const line = await chain(LEVELS_MAX);
      for (const below of line) await refused(put(line[0], { parent_id: below.id }), 409, 'ENVIRONMENT_CYCLE');
      for (const env of line) await refused(put(env, { parent_id: env.id }), 409, 'ENVIRONMENT_CYCLE');
      await refused(put(line[4], { parent_id: line[7].id }), 409, 'ENVIRONMENT_CYCLE');
      assert.deepEqual(await Promise.all(line.map(parentOf)), [null, ...line.slice(0, -1).map(({ id }) => id)]);
    });

    rule('a parent is named by number or name, in either field', async () => {
      const [a, b, env] = [await newEnv(), await newEnv(), await newEnv()];
      assert.equal((await newEnv({ parent: a.name })).parent_id, a.id);
      for (const [change, parent] of [
        [{ parent: a.id }, a.id],
        [{ parent: b.name }, b.id],
        [{ parent: null }, null],
        [{ parent: a.name, parent_id: a.id }, a.id],
        [{ parent: b.id, parent_id: b.id }, b.id],
        [{ parent: null, parent_id: null }, null],
      ] as const) {
        assert.equal((await ok(put(env, change))).parent_id, parent, JSON.stringify(change));
      }
      for (const change of [
        { parent: a.name, parent_id: b.id },
        { parent: a.id, parent_id: b.id },
        { parent: null, parent_id: a.id },
        { parent: a.name, parent_id: null },
      ]) {
        await invalid(put(env, change), '/body/parent');
      }
      await refused(put(env, { parent: env.name }), 409, 'ENVIRONMENT_CYCLE');
      assert.equal(await parentOf(env), null);
    });

    test('two moves at once that together would make a circle: one of them is refused', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const [a, b] = [await newEnv(), await newEnv()];
        const answers = await Promise.all([put(a, { parent_id: b.id }), put(b, { parent_id: a.id })]);
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409], `round ${round}`);
        const parents = [await parentOf(a), await parentOf(b)];
        assert.equal(parents.filter((parent) => parent === null).length, 1);
        await Promise.all([compose(a), compose(b)]);
      }
    });

    test('so are four, each between two others', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const ring = await Promise.all(Array.from({ length: 4 }, () => newEnv()));
        const answers = await Promise.all(ring.map((env, i) => put(env, { parent_id: ring[(i + 1) % 4].id })));
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 409], `round ${round}`);
      }
    });

    test('a parent that is removed while a child comes: either there is no parent, or it is in use', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await newEnv();
        const [made, removed] = await Promise.all([
          make({ parent_id: parent.id }),
          send('DELETE', `/environments/${parent.id}`),
        ]);
        assert.ok(['201 409', '422 200'].includes(`${made.status} ${removed.status}`), `round ${round}`);
      }
    });

    rule('is ten levels long at most, whichever way it would get longer', async () => {
      const line = await chain(LEVELS_MAX);
      const [root, leaf] = [line[0], line.at(-1)];
      await invalid(make({ parent_id: leaf.id }), '/body/parent_id');
      const lone = await newEnv();
      await invalid(put(lone, { parent_id: leaf.id }), '/body/parent_id');
      await invalid(put(root, { parent_id: lone.id }), '/body/parent_id');
      const pair = await chain(2);
      await invalid(put(pair[0], { parent_id: line[LEVELS_MAX - 2].id }), '/body/parent_id');
      await ok(put(pair[0], { parent_id: line[LEVELS_MAX - 3].id }));
      await ok(put(lone, { parent_id: line[LEVELS_MAX - 2].id }));
      const { effective } = await compose(leaf);
      assert.deepEqual(effective, {});
      await ok(bind(root, (await newSecret('deep')).id, 'DEEP'), 201);
      assert.deepEqual((await resolve(leaf)).effective.DEEP.source, [link(root)]);
      assert.equal((await resolve(leaf)).effective.DEEP.value, 'deep');
    });

    test('two moves at once that together would be too deep: one of them is refused', async () => {
      for (let round = 0; round < 5; round++) {
        const [upper, middle, lower] = [await chain(5), await chain(4), await chain(2)];
        const answers = await Promise.all([
          put(middle[0], { parent_id: upper.at(-1).id }),
          put(lower[0], { parent_id: middle.at(-1).id }),
        ]);
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422], `round ${round}`);
      }
    });

    rule('begins at an environment that exists and that the caller may compose', async () => {
      const env = await newEnv();
      const { owner } = await addTenant(service);
      for (const parent_id of [env.id + 100_000, 999_999_999_999_999]) {
        await invalid(make({ parent_id }), '/body/parent_id');
        await invalid(put(env, { parent_id }), '/body/parent_id');
      }
      await invalid(make({ parent_id: env.id }, owner.token), '/body/parent_id');
      const shared = await newEnv();
      const person = await personWho(
        allow(['environments:*'], ['environment', `environment/${env.id}`]),
        allow(['environments:read', 'environments:update'], [`environment/${shared.id}`]),
      );
      const hidden = await put(env, { parent_id: shared.id }, person.token);
      const unknown = await put(env, { parent_id: 999_999_999_999_999 }, person.token);
      assert.deepEqual(hidden.body.error.details, unknown.body.error.details);
      assert.deepEqual([hidden.status, unknown.status], [422, 422]);
      await invalid(make({ parent_id: shared.id }, person.token), '/body/parent_id');
      // By its name neither, and not by a number beside it, which would tell whose name it is.
      const named = await Promise.all(
        [{ parent: shared.name }, { parent: 'nobodys' }, { parent: shared.name, parent_id: env.id }].map((change) =>
          put(env, change, person.token),
        ),
      );
      for (const { status, body } of named) {
        assert.deepEqual([status, body.error.details], [422, named[1]?.body.error.details]);
      }
      assert.equal(await parentOf(env), null);
      await ok(put(env, { parent_id: shared.id }));
      await ok(put(env, { parent_id: shared.id, description: 'stays where it is' }, person.token));
    });
  });

  describe('binding', () => {
    rule('takes either id of a secret, and so does unbinding', async () => {
      const env = await newEnv();
      const [one, two] = [await newSecret('1'), await newSecret('2')];
      const made = await ok(bind(env, one.secret_id, 'ONE'), 201);
      const { bound_at, ...rest } = made;
      assert.deepEqual(rest, {
        environment_id: env.id,
        secret_id: one.secret_id,
        secret: one.id,
        vault,
        path: one.path,
        key_name: 'ONE',
      });
      assert.ok(Math.abs(Date.parse(bound_at) - service.clock.now()) < 60 * SECOND_MS);
      await ok(bind(env, two.id, 'TWO'), 201);
      const { secrets } = await ok(get(`/environments/${env.id}/secrets`));
      assert.deepEqual(
        secrets.map((row: Json) => [row.key_name, row.secret]),
        [
          ['ONE', one.id],
          ['TWO', two.id],
        ],
      );
      await ok(unbind(env, one.id), 200);
      await ok(unbind(env, two.secret_id), 200);
      await missing(unbind(env, two.secret_id));
      assert.deepEqual((await ok(get(`/environments/${env.id}/secrets`))).secrets, []);
    });

    rule('a name and a secret each occur once in an environment, and may occur in another one too', async () => {
      const [env, other] = [await newEnv(), await newEnv()];
      const [one, two] = [await newSecret('1'), await newSecret('2')];
      await ok(bind(env, one.id, 'KEY'), 201);
      await refused(bind(env, two.id, 'KEY'), 409, 'ALREADY_EXISTS');
      await refused(bind(env, one.id, 'OTHER'), 409, 'ALREADY_EXISTS');
      await refused(bind(env, one.id, 'KEY'), 409, 'ALREADY_EXISTS');
      await ok(bind(env, two.id, 'key'), 201);
      await ok(bind(other, one.id, 'KEY'), 201);
    });

    test('at once, one name is given once and one secret is bound once', async () => {
      const env = await newEnv();
      const secrets = await Promise.all(Array.from({ length: 8 }, (_, i) => newSecret(String(i))));
      const named = await Promise.all(secrets.map(({ id }) => bind(env, id, 'KEY')));
      assert.deepEqual(named.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)]);
      const free = secrets[named.findIndex(({ status }) => status === 409)];
      const bound = await Promise.all(Array.from({ length: 8 }, (_, i) => bind(env, free?.id, `KEY_${i}`)));
      assert.deepEqual(bound.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)]);
    });

    rule('a name of a program’s variable, and nothing else', async () => {
      const env = await newEnv();
      const { id } = await newSecret('x');
      for (const key of ['', '1A', '-a', '.a', 'a b', 'a/b', 'é', 'A\n', 'x'.repeat(129), 5, null, '__proto__']) {
        await invalid(bind(env, id, key), '/body/key_name');
      }
      for (const key of ['_', 'a.b-c_D9', 'constructor', 'x'.repeat(128)]) {
        await ok(bind(env, id, key), 201);
        const { effective } = await compose(env);
        assert.deepEqual(Object.keys(effective), [key]);
        assert.equal(effective[key].key_name, key);
        await ok(unbind(env, id), 200);
      }
    });

    rule('what is malformed or unknown is refused with a pointer', async () => {
      const env = await newEnv();
      for (const secret_id of [0, -1, 1.5, '12', 'sec_no', 1e15, null, true, {}, [1]]) {
        await invalid(bind(env, secret_id, 'KEY'), '/body/secret_id');
      }
      const { id } = await newSecret('x');
      await invalid(
        send('POST', `/environments/${env.id}/secrets`, { secret_id: id, key_name: 'K', value: 'x' }),
        '/body/value',
      );
      await invalid(send('POST', `/environments/${env.id}/secrets`, {}), '/body/secret_id');
      await invalid(make({ name: undefined }), '/body/name');
      for (const name of ['', '-a', 'a/b', 'a b', 'é', 'x'.repeat(64), 1, null]) {
        await invalid(make({ name }), '/body/name');
        await invalid(put(env, { name }), '/body/name');
      }
      for (const name of ['root', 'Default', 'ALL']) {
        await invalid(make({ name }), '/body/name');
        await invalid(put(env, { name }), '/body/name');
      }
      for (const parent_id of ['1', 0, -1, 1.5, 1e15, true]) {
        await invalid(make({ parent_id }), '/body/parent_id');
        await invalid(put(env, { parent_id }), '/body/parent_id');
      }
      for (const parent of ['no/name', '', 0, 1.5, true, [1]]) await invalid(put(env, { parent }), '/body/parent');
      await invalid(make({ description: 'x'.repeat(1025) }), '/body/description');
      await invalid(make({ description: 'a\0b' }), '/body/description');
      await invalid(get(`/environments/${env.id}/compose?resolve=yes`), '/query/resolve');
      await invalid(get(`/environments/${env.id}/compose?values=true`), '/query/values');
      await invalid(get('/environments?limit=0'), '/query/limit');
      await invalid(get('/environments?limit=1001'), '/query/limit');
    });

    rule('an id that is none is not found', async () => {
      const { id } = await newSecret('x');
      for (const text of ['0', '01', '-1', '1x', 'abc', '1e3', '9'.repeat(15), '9'.repeat(19), '4294967297']) {
        for (const path of [
          `/environments/${text}`,
          `/environments/${text}/secrets`,
          `/environments/${text}/compose`,
        ]) {
          await missing(get(path));
        }
        await missing(bind({ id: text }, id, 'KEY'));
        await missing(send('PUT', `/environments/${text}`, { name: uniqueName('env') }));
        await missing(send('DELETE', `/environments/${text}`));
        await missing(unbind(await newEnv(), text));
      }
    });

    rule('a caller who may not see a secret gets the response of a secret that does not exist', async () => {
      const env = await newEnv();
      const secret = await newSecret('hidden');
      const unseen = [
        await personWho(ENVIRONMENTS),
        await personWho(ENVIRONMENTS, allow(['secrets:read', 'secrets:read_metadata'], [`vault/${vault}/**`])),
        await personWho(
          ENVIRONMENTS,
          allow(['secrets:*'], [`vault/${vault}/**`], { tag_equals: ['public'] }),
          allow(['secrets:*'], ['vault/other/**']),
        ),
      ];
      for (const { token } of unseen) {
        const { request_id: _, ...gone } = await missing(bind(env, 281_474_976_710_000, 'KEY', token));
        for (const id of [secret.id, secret.secret_id]) {
          const { request_id: __, ...hidden } = await missing(bind(env, id, 'KEY', token));
          assert.deepEqual(hidden, gone);
        }
      }
      // Who may list a secret knows of it.
      const seen = await personWho(ENVIRONMENTS, allow(['secrets:list'], [`vault/${vault}/**`]));
      await ok(bind(env, secret.id, 'KEY', seen.token), 201);
    });

    rule('a deleted secret cannot be bound, nor one in a deleted vault', async () => {
      const env = await newEnv();
      const secret = await newSecret('x');
      await ok(send('DELETE', secretUrl(secret)));
      await missing(bind(env, secret.id, 'KEY'));
      const other = await newSecret('y', { in: await newVault() });
      await ok(send('DELETE', `/v1/vaults/${other.vault}`));
      await missing(bind(env, other.secret_id, 'KEY'));
    });

    test('holds the secret: it cannot go away before the binding is there to be found', async () => {
      const secret = await newSecret('x');
      const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const binding = service.app.kernel.database.transaction(async (tx) => {
        const { tenant_id } = await tx
          .selectFrom('secrets')
          .select('tenant_id')
          .where('secret_id', '=', secret.id)
          .executeTakeFirstOrThrow();
        await lockSecretToBind(tx, tenant_id, { secret_no: secret.secret_id });
        locked.resolve();
        await release.promise;
      });
      await locked.promise;
      const removing = await untilBlocked(service, () => send('DELETE', secretUrl(secret)));
      release.resolve();
      await binding;
      await ok(removing());
    });

    rule('an environment takes so many secrets, and so many with all it inherits', async () => {
      const [root, middle, leaf] = (await chain(3)) as [Json, Json, Json];
      const secret = await newSecret('x');
      await fill(root, BINDINGS_MAX - 1);
      const last = await newSecret('last');
      await ok(bind(root, last.id, 'LAST'), 201);
      await invalid(bind(root, secret.id, 'KEY'), '/body/secret_id');
      await fill(leaf, EFFECTIVE_MAX - BINDINGS_MAX);
      await invalid(bind(middle, secret.id, 'KEY'), '/body/secret_id');
      const lone = await newEnv();
      await ok(bind(lone, secret.id, 'KEY'), 201);
      await invalid(put(root, { parent_id: lone.id }), '/body/parent_id');
      await invalid(put(lone, { parent_id: leaf.id }), '/body/parent_id');
      await ok(unbind(root, last.id), 200);
      await ok(put(root, { parent_id: lone.id }));
      assert.deepEqual(Object.keys((await compose(leaf)).effective), ['KEY']);
    });

    /** With bindings of secrets that no longer exist: it is the rows that count. */
    async function fill(env: Json, bindings: number): Promise<void> {
      const rows = Array.from({ length: bindings }, (_, i) => ({
        tenant_id: env.tenant_id,
        environment_id: env.id,
        key_name: `FILL_${env.id}_${i}`,
        secret_id: `sec_fill_${env.id}_${i}`,
        secret_no: i + 1,
        bound_at: 0,
      }));
      await recorded(service.app.kernel, env.tenant_id, (tx) => BINDINGS.insert(tx, ...rows));
    }

    test('a list of bindings comes in pages, by name, and takes only its own cursors', async () => {
      const [env, other] = [await newEnv(), await newEnv()];
      const names = ['A', 'B', 'Z', '_', 'a', 'group_x'];
      for (const name of names.toReversed()) await ok(bind(env, (await newSecret(name)).id, name), 201);
      const seen: string[] = [];
      let cursor = '';
      do {
        const page: Json = await ok(get(`/environments/${env.id}/secrets?limit=2&cursor=${cursor}`));
        seen.push(...page.secrets.map((row: Json) => row.key_name));
        cursor = page.next_cursor ?? '';
      } while (cursor !== '');
      assert.deepEqual(seen, names);

      const { next_cursor: bindings } = await ok(get(`/environments/${env.id}/secrets?limit=1`));
      const { next_cursor: environments } = await ok(get('/environments?limit=1'));
      const wrong = [environments, encodeCursor(['3']), encodeCursor(['group_x']), 'x', encodeCursor([])];
      for (const text of wrong) {
        await invalid(get(`/environments/${env.id}/secrets?cursor=${text}`), '/query/cursor');
      }
      await invalid(get(`/environments/${other.id}/secrets?cursor=${bindings}`), '/query/cursor');
      for (const text of [bindings, encodeCursor(['3']), encodeCursor(['environment', '-1']), 'x']) {
        await invalid(get(`/environments?cursor=${text}`), '/query/cursor');
      }
    });
  });

  describe('composing', () => {
    test('over three levels: inherited, replaced, added, each with where it comes from', async () => {
      const [base, staging, team] = (await chain(3)) as [Json, Json, Json];
      const secrets: Record<string, Json> = {};
      for (const name of ['host', 'user', 'password', 'stagingHost', 'teamHost', 'teamUser', 'debug']) {
        secrets[name] = await newSecret(name);
      }
      const { host, user, password, stagingHost, teamHost, teamUser, debug } = secrets as Record<string, Json>;
      await ok(bind(base, host.id, 'HOST'), 201);
      await ok(bind(base, user.id, 'USER'), 201);
      await ok(bind(base, password.id, 'PASSWORD'), 201);
      await ok(bind(staging, stagingHost.id, 'HOST'), 201);
      await ok(bind(team, teamHost.id, 'HOST'), 201);
      await ok(bind(team, teamUser.id, 'USER'), 201);
      await ok(bind(team, debug.id, 'DEBUG'), 201);

      const entry = (key_name: string, secret: Json, ...source: Json[]) => ({
        key_name,
        value_ref: `secret:${secret.secret_id}:v1`,
        source: source.map(link),
      });
      assert.deepEqual(await compose(base), {
        environment_id: base.id,
        name: base.name,
        effective: {
          HOST: entry('HOST', host, base),
          PASSWORD: entry('PASSWORD', password, base),
          USER: entry('USER', user, base),
        },
      });
      assert.deepEqual(await compose(staging), {
        environment_id: staging.id,
        name: staging.name,
        effective: {
          HOST: entry('HOST', stagingHost, base, staging),
          PASSWORD: entry('PASSWORD', password, base),
          USER: entry('USER', user, base),
        },
      });
      const composed = await compose(team);
      assert.deepEqual(composed, {
        environment_id: team.id,
        name: team.name,
        effective: {
          DEBUG: entry('DEBUG', debug, base, staging, team),
          HOST: entry('HOST', teamHost, base, staging, team),
          PASSWORD: entry('PASSWORD', password, base),
          USER: entry('USER', teamUser, base, staging, team),
        },
      });
      assert.deepEqual(Object.keys(composed.effective), ['DEBUG', 'HOST', 'PASSWORD', 'USER']);

      const values = Object.entries((await resolve(team)).effective).map(([key, e]) => [key, (e as Json).value]);
      assert.deepEqual(values, [
        ['DEBUG', 'debug'],
        ['HOST', 'teamHost'],
        ['PASSWORD', 'password'],
        ['USER', 'teamUser'],
      ]);
      await ok(put(team, { parent_id: base.id }));
      assert.deepEqual((await compose(team)).effective.HOST, entry('HOST', teamHost, base, team));
      await ok(put(team, { parent_id: null }));
      assert.deepEqual(Object.keys((await compose(team)).effective), ['DEBUG', 'HOST', 'USER']);
    });

    rule('gives one name alone if it is requested, inherited or not, and reads no other value', async () => {
      const parent = await newEnv();
      const env = await child(parent);
      const inherited = await newSecret('inherited');
      await ok(bind(parent, inherited.id, 'WANTED'), 201);
      await ok(bind(env, (await newSecret('other')).id, 'OTHER'), 201);
      const one = (name: string, more = '') =>
        get(`/environments/${env.id}/compose?resolve=true&key_name=${name}${more}`);
      const { effective } = await ok(one('WANTED'));
      assert.deepEqual(Object.keys(effective), ['WANTED']);
      assert.equal(effective.WANTED.value, 'inherited');
      assert.deepEqual((await ok(one('wanted'))).effective, {});
      assert.equal((await one('WANTED', '&format=shell')).text, "export WANTED='inherited'\n");
      await invalid(one('1WANTED'), '/query/key_name');
      const recorded = await ok(get(`/v1/audit?action=secrets:read&resource=vault/${vault}/*&limit=2`));
      assert.deepEqual(
        recorded.entries.map(({ resource }: Json) => resource),
        [inherited.path, inherited.path].map((path) => `vault/${vault}/${path}`),
      );
    });

    rule('names the newest version, and follows a secret that moves', async () => {
      const env = await newEnv();
      const secret = await newSecret('old');
      await ok(bind(env, secret.id, 'KEY'), 201);
      await ok(send('PUT', secretUrl(secret), { value: 'new' }));
      const { KEY } = (await resolve(env)).effective;
      assert.deepEqual([KEY.value_ref, KEY.value], [`secret:${secret.secret_id}:v2`, 'new']);
      const to_vault = await newVault();
      await ok(send('POST', `${secretUrl(secret)}/move`, { to_vault, to_path: 'elsewhere' }));
      assert.equal((await resolve(env)).effective.KEY.value, 'new');
    });

    rule('a deleted secret counts as absent, what it replaced counts again, and restoring brings it back', async () => {
      const [root, leaf] = (await chain(2)) as [Json, Json];
      const [upper, lower] = [await newSecret('upper'), await newSecret('lower')];
      await ok(bind(root, upper.id, 'KEY'), 201);
      await ok(bind(leaf, lower.id, 'KEY'), 201);
      const value = async () => (await resolve(leaf)).effective.KEY?.value;
      assert.equal(await value(), 'lower');
      await ok(send('DELETE', secretUrl(lower)));
      assert.equal(await value(), 'upper');
      await ok(send('DELETE', secretUrl(upper)));
      assert.equal(await value(), undefined);
      assert.deepEqual((await compose(leaf)).effective, {});
      assert.equal((await ok(get(`/environments/${leaf.id}/secrets`))).secrets.length, 1);
      await refused(bind(leaf, (await newSecret('x')).id, 'KEY'), 409, 'ALREADY_EXISTS');
      await ok(send('POST', `${secretUrl(lower)}/restore`));
      assert.equal(await value(), 'lower');
    });

    rule('a secret in a deleted vault counts as absent until the vault is restored', async () => {
      const env = await newEnv();
      const secret = await newSecret('x', { in: await newVault() });
      await ok(bind(env, secret.id, 'KEY'), 201);
      await ok(send('DELETE', `/v1/vaults/${secret.vault}`));
      assert.deepEqual((await resolve(env)).effective, {});
      await ok(send('POST', `/v1/vaults/${secret.vault}/restore`));
      assert.equal((await resolve(env)).effective.KEY.value, 'x');
    });

    test('answers of several mebibytes arrive whole, and in order', async () => {
      const env = await newEnv();
      const expected: Record<string, string> = {};
      for (let i = 0; i < 20; i++) {
        const key = `KEY_${String(i).padStart(2, '0')}`;
        expected[key] = i % 4 === 0 ? `${i}-${'ü"\\'.repeat(200_000)}` : `small ${i}`;
        await ok(bind(env, (await newSecret(String(expected[key]))).id, key), 201);
      }
      const { effective } = await resolve(env);
      assert.deepEqual(Object.keys(effective), Object.keys(expected));
      for (const [key, value] of Object.entries(expected)) assert.ok(effective[key].value === value, key);
    });

    rule('of a zero-knowledge vault it gives the envelope, and says so', async () => {
      const part = (bytes: number) => randomBytes(bytes).toString('base64url');
      const envelope = `zk:v1:aes-256-gcm:argon2id:${part(16)}:${part(12)}:${part(40)}:${part(16)}`;
      const env = await newEnv();
      const secret = await newSecret(envelope, { in: await newVault({ is_zero_knowledge: true }) });
      await ok(bind(env, secret.id, 'KEY'), 201);
      await ok(bind(env, (await newSecret('plain')).id, 'PLAIN'), 201);
      const { KEY, PLAIN } = (await resolve(env)).effective;
      assert.deepEqual([KEY.value, KEY.sealed, PLAIN.value, PLAIN.sealed], [envelope, true, 'plain', undefined]);
      const unresolved = (await compose(env)).effective.KEY;
      assert.deepEqual([unresolved.key_name, unresolved.value, unresolved.sealed], ['KEY', undefined, undefined]);
    });
  });

  describe('values', () => {
    const valuesOf = async (env: Json, token?: string) =>
      Object.fromEntries(
        Object.entries((await resolve(env, token)).effective).map(([key, e]) => [key, (e as Json).value]),
      );

    rule('are given by the policy on each secret: its path, its tags, its environment', async () => {
      const env = await newEnv();
      const where = await newVault();
      const secrets: Record<string, object> = {
        PLAIN: { path: 'app/plain' },
        TAGGED: { path: 'app/tagged', metadata: { tags: ['public'] } },
        STAGED: { path: 'app/staged', environment: 'staging' },
        DENIED: { path: 'app/denied', metadata: { tags: ['public', 'private'] } },
        ELSEWHERE: { path: 'other/plain' },
      };
      for (const [key, more] of Object.entries(secrets)) {
        await ok(bind(env, (await newSecret(`value of ${key}`, { in: where, ...more })).id, key), 201);
      }
      const resources = [`vault/${where}/app/**`];
      const person = await personWho(
        ENVIRONMENTS,
        allow(['secrets:read'], resources, { tag_equals: ['public'] }),
        allow(['secrets:read'], resources, { environment: ['staging'] }),
        { effect: 'deny', action: ['secrets:read'], resource: resources, condition: { tag_equals: ['private'] } },
      );
      assert.deepEqual(await valuesOf(env, person.token), {
        PLAIN: undefined,
        TAGGED: 'value of TAGGED',
        STAGED: 'value of STAGED',
        DENIED: undefined,
        ELSEWHERE: undefined,
      });
      const { effective } = await resolve(env, person.token);
      assert.deepEqual(Object.keys(effective.PLAIN).sort(), ['key_name', 'source', 'value_ref']);
      assert.doesNotMatch(JSON.stringify(await compose(env)), /value of/);
    });

    rule('are never given to an auditor, nor to who may only compose', async () => {
      const env = await newEnv();
      await ok(bind(env, (await newSecret('not for you')).id, 'KEY'), 201);
      const person = await personWho(ENVIRONMENTS);
      for (const { token } of [auditor, person]) {
        const { text } = await get(`/environments/${env.id}/compose?resolve=true`, token);
        assert.match(text, /"value_ref":"secret:\d+:v1"/);
        assert.doesNotMatch(text, /not for you|"value":/);
      }
    });

    rule('of fortress secrets are given to no caller', async () => {
      const env = await newEnv();
      const person = await personWho(allow(['*'], ['*']));
      const session = await provenSession(person);
      const fortress = await newSecret('behind walls', { protection: 'fortress', token: session });
      assert.equal((await ok(get(secretUrl(fortress), session))).value, 'behind walls');
      await ok(bind(env, fortress.id, 'FORTRESS'), 201);
      await ok(bind(env, (await newSecret('open')).id, 'OPEN'), 201);
      assert.deepEqual(await valuesOf(env, session), { FORTRESS: undefined, OPEN: 'open' });
    });

    /** A session whose second factor was shown just now. */
    async function provenSession(person: Person): Promise<string> {
      const { code } = await addTotp(service, person.id);
      service.clock.advance(DAY_MS);
      return logIn(service, person, { otp: code() });
    }

    rule('each that is given is recorded as read, and only those', async () => {
      const env = await newEnv();
      const quiet = await newVault({ audit: { log_reads: false } });
      const [loud, silent, hidden] = [await newSecret('1'), await newSecret('2', { in: quiet }), await newSecret('3')];
      await ok(bind(env, loud.id, 'LOUD'), 201);
      await ok(bind(env, silent.id, 'SILENT'), 201);
      await ok(bind(env, hidden.id, 'HIDDEN'), 201);
      const person = await personWho(
        ENVIRONMENTS,
        allow(['secrets:read'], [`vault/${vault}/${loud.path}`, `vault/${quiet}/**`]),
      );
      await compose(env, person.token);
      assert.deepEqual(await valuesOf(env, person.token), { LOUD: '1', SILENT: '2', HIDDEN: undefined });
      const entries = await recordedOf(person);
      const shown = entries.map(({ action, resource, vault: of, details }: Json) => ({
        action,
        resource,
        of,
        details,
      }));
      const composed = (resolved: boolean, values: number) => ({
        action: 'environments:compose',
        resource: `environment/${env.id}`,
        of: null,
        details: { name: env.name, resolve: resolved, entries: 3, values },
      });
      assert.deepEqual(
        shown.toSorted((a: Json, b: Json) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
        [
          composed(false, 0),
          composed(true, 2),
          {
            action: 'secrets:read',
            resource: `vault/${vault}/${loud.path}`,
            of: vault,
            details: { secret: loud.id, version: 1, via: 'compose' },
          },
        ],
      );
      const requests = new Set(entries.filter((e: Json) => e.details.values !== 0).map((e: Json) => e.request_id));
      assert.equal(requests.size, 1, 'the read belongs to the request that composed');
      assert.equal((await ok(get('/v1/audit/verify'))).valid, true);
    });

    rule('changes are recorded by name and id', async () => {
      const person = await personWho(ENVIRONMENTS, allow(['secrets:*'], [`vault/${vault}/**`]));
      const { token } = person;
      const env = await newEnv({}, token);
      const secret = await newSecret('top secret');
      await ok(bind(env, secret.id, 'KEY', token), 201);
      await ok(unbind(env, secret.secret_id, token), 200);
      await missing(unbind(env, secret.secret_id, token));
      await ok(send('DELETE', `/environments/${env.id}`, undefined, token), 200);
      const entries = (await recordedOf(person)).toReversed();
      const resource = `environment/${env.id}`;
      const binding = { name: env.name, secret: secret.id, key_name: 'KEY' };
      assert.deepEqual(
        entries.map((e: Json) => [e.action, e.resource, e.status, e.details]),
        [
          ['environments:create', 'environment', 201, { environment: env.id, name: env.name, parent: null }],
          ['environments:bind', resource, 201, binding],
          ['environments:unbind', resource, 200, binding],
          ['environments:unbind', resource, 404, {}],
          ['environments:delete', resource, 200, { name: env.name }],
        ],
      );
      assert.doesNotMatch(JSON.stringify(entries), /top secret/);
    });

    async function recordedOf(person: Person): Promise<Json[]> {
      const entries = await allPages(service, `/v1/audit?actor=${person.id}&limit=1000`, 'entries');
      return entries.filter(({ action }) => !/^(auth|tokens|sessions|self|mfa):/.test(action));
    }
  });

  describe('what must not be reached', () => {
    rule('environments and secrets of another tenant do not exist', async () => {
      const secret = await newSecret('ours');
      const env = await newEnv({ description: 'untouched' });
      await ok(bind(env, secret.id, 'KEY'), 201);
      const { owner } = await addTenant(service);
      const theirs = await newEnv({}, owner.token);
      assert.notEqual(theirs.id, env.id);
      const tries: [string, string, object?][] = [
        ['GET', ''],
        ['PUT', '', { name: uniqueName('taken-over') }],
        ['DELETE', ''],
        ['GET', '/secrets'],
        ['POST', '/secrets', { secret_id: secret.id, key_name: 'MINE' }],
        ['DELETE', `/secrets/${secret.id}`],
        ['GET', '/compose?resolve=true'],
      ];
      for (const [method, rest, body] of tries) {
        await missing(send(method, `/environments/${env.id}${rest}`, body, owner.token));
      }
      for (const id of [secret.id, secret.secret_id]) {
        await missing(bind(theirs, id, 'MINE', owner.token));
        await missing(unbind(theirs, id, owner.token));
      }
      assert.deepEqual(await ok(get(`/environments/${env.id}`)), env);
      assert.equal((await resolve(env)).effective.KEY.value, 'ours');
      const seen = await allPages(service, '/environments', 'environments', { token: owner.token });
      assert.deepEqual(
        seen.map(({ id }) => id),
        [theirs.id],
      );
    });

    rule('two tenants with the same numbers stay apart', async () => {
      const [one, two] = [await addTenant(service), await addTenant(service)];
      const values: Record<string, string> = { [one.id]: 'of one', [two.id]: 'of two' };
      for (const { id, owner } of [one, two]) {
        const root = await newEnv({}, owner.token);
        const leaf = await child(root, owner.token);
        assert.deepEqual([root.id, leaf.id], [1, 2]);
        const where = await newVault({}, owner.token);
        const secret = await newSecret(String(values[id]), { in: where, token: owner.token });
        await ok(bind(root, secret.id, 'KEY', owner.token), 201);
      }
      for (const { id, owner } of [one, two]) {
        assert.equal((await resolve({ id: 2 }, owner.token)).effective.KEY.value, values[id]);
      }
      await ok(send('DELETE', '/environments/2', undefined, one.owner.token), 200);
      await ok(send('DELETE', '/environments/1', undefined, one.owner.token), 200);
      assert.equal((await resolve({ id: 2 }, two.owner.token)).effective.KEY.value, 'of two');
    });

    rule('a member may not even ask whether one exists', async () => {
      const env = await newEnv();
      const { token } = await addPerson(service);
      const there = await refusedTo(get(`/environments/${env.id}`, token));
      for (const id of [env.id + 100_000, 'abc']) {
        assert.equal((await refusedTo(get(`/environments/${id}`, token))).message, there.message);
      }
      await refusedTo(get('/environments', token));
      await refusedTo(make({}, token));
      await refusedTo(get(`/environments/${env.id}/compose`, token));
      await refusedTo(bind(env, (await newSecret('x')).id, 'KEY', token));
    });

    rule('each right is its own, and holds on the environment it names', async () => {
      const [env, other] = [await newEnv(), await newEnv()];
      const { token } = await personWho(
        allow(['environments:read', 'environments:compose'], [`environment/${env.id}`]),
      );
      await ok(get(`/environments/${env.id}`, token));
      await compose(env, token);
      await refusedTo(get(`/environments/${other.id}`, token));
      await refusedTo(get(`/environments/${other.id}/compose`, token));
      await refusedTo(put(env, {}, token));
      await refusedTo(send('DELETE', `/environments/${env.id}`, undefined, token));
      await refusedTo(bind(env, 1, 'KEY', token));
      await refusedTo(unbind(env, 1, token));
      await refusedTo(get('/environments', token));
    });

    rule('a token bound to a vault or to actions gets no farther than that', async () => {
      const env = await newEnv();
      const secret = await newSecret('value');
      await ok(bind(env, secret.id, 'KEY'), 201);
      const tokenWith = async (scope: object) => String((await addToken(service, service.adminToken, { scope })).token);

      const toVault = await tokenWith({ vaults: [vault] });
      for (const path of ['/environments', `/environments/${env.id}`, `/environments/${env.id}/compose?resolve=true`]) {
        await refusedTo(get(path, toVault));
      }
      await refusedTo(bind(env, secret.id, 'AGAIN', toVault));

      const composing = await tokenWith({ actions: ['environments:*'] });
      assert.equal((await resolve(env, composing)).effective.KEY.value, undefined);
      await missing(bind(await newEnv(), secret.id, 'KEY', composing));

      const reading = await tokenWith({ actions: ['environments:compose', 'secrets:read'] });
      assert.equal((await resolve(env, reading)).effective.KEY.value, 'value');
      await refusedTo(unbind(env, secret.id, reading));
    });
  });

  /** Last, since the clock goes on by a year: tokens made before are over. */
  describe('what is destroyed', () => {
    rule('takes its bindings along: a secret, and a vault with all its secrets', async () => {
      const env = await newEnv();
      const gone = await newVault();
      const [deleted, stays] = [await newSecret('deleted'), await newSecret('stays')];
      const inVault = await Promise.all([1, 2, 3].map((n) => newSecret(`in the vault ${n}`, { in: gone })));
      const bound = [deleted, stays, ...inVault];
      for (const [i, { id }] of bound.entries()) await ok(bind(env, id, `KEY_${i}`), 201);
      await ok(send('DELETE', secretUrl(deleted)));
      await ok(send('DELETE', `/v1/vaults/${gone}`));
      await runPurges(service);
      assert.deepEqual(await Promise.all(bound.map(bindingsIn)), [1, 1, 1, 1, 1], 'not before it is destroyed');
      service.clock.advance(RETENTION_MS);
      await runPurges(service);
      assert.deepEqual(await Promise.all(bound.map(bindingsIn)), [0, 1, 0, 0, 0]);
    });
  });
});
