import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { addPerson, addTenant, invalid, ok, refused } from '../../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../../test/support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  auditOf,
  pathsIn,
  readValue,
  runPurges,
  secretUrl,
} from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';

const CONFLICT = 'VAULT_ENV_CONFLICT';

onBothDatabases('moving and copying', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const move = (vault: string, path: string, body: object, token?: string) =>
    send('POST', secretUrl(vault, path, 'move'), body, token);
  const copy = (vault: string, path: string, body: object, token?: string) =>
    send('POST', secretUrl(vault, path, 'copy'), body, token);
  const countOf = async (vault: string) => (await ok(send('GET', `/v1/vaults/${vault}`))).secrets_count as number;
  const versionsOf = async (vault: string, path: string) =>
    (await ok(send('GET', secretUrl(vault, path, 'versions')))).versions;
  const two = async (more = {}) => [await addVault(service, more), await addVault(service, more)] as const;
  const withHistory = async (vault: string, path: string) => {
    const rotation = { interval_days: 30 };
    const metadata = { description: 'd', tags: ['t'] };
    const made = await addSecret(service, vault, path, { type: 'password', value: 'one', metadata, rotation });
    await ok(send('PUT', secretUrl(vault, path), { value: 'two', reason: 'second' }));
    await ok(send('POST', secretUrl(vault, path, 'rotate'), { value: 'three' }));
    await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 1 }));
    return made;
  };

  test('a secret moves with its number, history, tags and rotation', async () => {
    const [from, to] = await two();
    const made = await withHistory(from, 'a/b');
    const before = await ok(send('GET', secretUrl(from, 'a/b')));
    const versions = await versionsOf(from, 'a/b');
    const moved = await ok(move(from, 'a/b', { to_vault: to, to_path: 'c/d' }));
    assert.deepEqual([moved.id, moved.secret_id, moved.vault, moved.path], [made.id, made.secret_id, to, 'c/d']);
    const after = await ok(send('GET', secretUrl(to, 'c/d')));
    assert.deepEqual({ ...after, updated_at: '' }, { ...before, vault: to, path: 'c/d', updated_at: '' });
    assert.deepEqual(await versionsOf(to, 'c/d'), versions);
    for (const [i, value] of ['one', 'two', 'three', 'one'].entries()) {
      assert.equal(await readValue(service, to, `c/d?version=${i + 1}`), value);
    }
    await refused(send('GET', secretUrl(from, 'a/b')), 404, 'SECRET_NOT_FOUND');
    await refused(send('POST', secretUrl(from, 'a/b', 'restore')), 404, 'SECRET_NOT_FOUND');
    assert.deepEqual([await pathsIn(service, from, 'tags=t'), await pathsIn(service, to, 'tags=t')], [[], ['c/d']]);
    assert.deepEqual([await countOf(from), await countOf(to)], [0, 1]);
    await ok(send('POST', secretUrl(to, 'c/d', 'rollback'), { to_version: 2 }));
    assert.equal(await readValue(service, to, 'c/d'), 'two');
    await addSecret(service, from, 'a/b', { value: 'another' });
    assert.equal(await readValue(service, from, 'a/b'), 'another');
  });

  test('within its vault it is renamed', async () => {
    const [vault] = await two();
    await withHistory(vault, 'old');
    await ok(move(vault, 'old', { to_path: 'new/name' }));
    assert.deepEqual(await pathsIn(service, vault), ['new/name']);
    assert.deepEqual(await pathsIn(service, vault, 'tags=t'), ['new/name']);
    assert.equal(await readValue(service, vault, 'new/name?version=2'), 'two');
    assert.equal(await countOf(vault), 1);
    await ok(move(vault, 'new/name', { to_vault: vault, to_path: 'old' }));
    assert.equal(await readValue(service, vault, 'old'), 'one');
  });

  test('a copy is a new secret with the newest value and what describes it, and no schedule', async () => {
    const [from, to] = await two();
    const made = await withHistory(from, 'a');
    const made2 = await ok(copy(from, 'a', { to_vault: to, to_path: 'b' }), 201);
    assert.notEqual(made2.id, made.id);
    assert.notEqual(made2.secret_id, made.secret_id);
    assert.deepEqual(
      [made2.version, made2.type, made2.metadata, made2.rotation, made2.next_rotation, made2.rotated_at],
      [1, 'password', { description: 'd', tags: ['t'] }, null, null, null],
    );
    const versions = await versionsOf(to, 'b');
    assert.deepEqual(
      versions.map((one: { operation: string; reason: string }) => [one.operation, one.reason]),
      [['copy', `copied from vault/${from}/a`]],
    );
    assert.equal(await readValue(service, to, 'b'), 'one');
    await ok(send('PUT', secretUrl(to, 'b'), { value: 'changed' }));
    assert.equal(await readValue(service, from, 'a'), 'one');
    await ok(copy(from, 'a', { to_path: 'beside' }), 201);
    assert.deepEqual([await countOf(from), await countOf(to)], [2, 1]);
    assert.deepEqual(await pathsIn(service, from, 'tags=t'), ['a', 'beside']);
  });

  test('what was moved or copied outlives the vault it came from, and its keys', async () => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const stored = databaseUrl === undefined ? {} : { databaseUrl };
    const first = await startService(database, { ...stored, keepData: true });
    const [from, to] = [await addVault(first), await addVault(first)];
    for (const path of ['moved', 'copied']) {
      await addSecret(first, from, path, { value: 'one' });
      await ok(first.call('PUT', secretUrl(from, path), { body: { value: 'two' } }));
    }
    await ok(first.call('POST', secretUrl(from, 'moved', 'move'), { body: { to_vault: to, to_path: 'moved' } }));
    await ok(first.call('POST', secretUrl(from, 'copied', 'copy'), { body: { to_vault: to, to_path: 'copied' } }), 201);
    await ok(first.call('DELETE', `/v1/vaults/${from}`));
    first.clock.advance(31 * DAY_MS);
    await runPurges(first);
    await addVault(first, { name: from });
    await first.close();
    // Started anew, so that it caches no key that was destroyed.
    const second = await startService(database, { ...stored, dataDir: first.dataDir });
    assert.equal(await readValue(second, to, 'moved?version=1'), 'one');
    assert.equal(await readValue(second, to, 'moved'), 'two');
    assert.equal(await readValue(second, to, 'copied'), 'two');
    await ok(second.call('PUT', secretUrl(to, 'moved'), { body: { value: 'new' } }));
    assert.equal(await readValue(second, to, 'moved'), 'new');
    await second.close();
  });

  rule(
    'a destination that exists, is reserved, is malformed or is the source is refused, and nothing changes',
    async () => {
      const [from, to] = await two();
      await addSecret(service, from, 'a', { metadata: { tags: ['t'] } });
      await addSecret(service, to, 'taken', { value: 'theirs', metadata: { tags: ['t'] } });
      for (const go of [move, copy]) {
        await refused(go(from, 'a', { to_vault: to, to_path: 'taken' }), 409, 'SECRET_ALREADY_EXISTS');
        for (const to_path of ['x/rotate', 'versions', 'x//y', '/x', 'x/', '..', 'x/../y', 'x y', 'x%2Fy', '', 'é']) {
          await invalid(go(from, 'a', { to_vault: to, to_path }), '/body/to_path');
        }
        await invalid(go(from, 'a', { to_path: 'a' }), '/body/to_path');
        await invalid(go(from, 'a', { to_vault: from, to_path: 'a' }), '/body/to_path');
        await invalid(go(from, 'a', { to_vault: to }), '/body/to_path');
        await invalid(go(from, 'a', { to_vault: 'a b', to_path: 'b' }), '/body/to_vault');
        await invalid(go(from, 'a', { to_path: 'b', overwrite: true }), '/body/overwrite');
        await refused(go(from, 'a', { to_vault: 'no-such-vault', to_path: 'b' }), 404, 'VAULT_NOT_FOUND');
        await refused(go(from, 'missing', { to_vault: to, to_path: 'b' }), 404, 'SECRET_NOT_FOUND');
      }
      assert.deepEqual([await pathsIn(service, from), await pathsIn(service, to)], [['a'], ['taken']]);
      assert.deepEqual([await countOf(from), await countOf(to)], [1, 1]);
      assert.deepEqual(await pathsIn(service, from, 'tags=t'), ['a']);
      assert.equal(await readValue(service, to, 'taken'), 'theirs');
      await ok(send('DELETE', secretUrl(to, 'taken')));
      await ok(move(from, 'a', { to_vault: to, to_path: 'taken' }));
    },
  );

  rule('source and destination each need a permission, and nothing shows either of them without it', async () => {
    const [from, to] = await two();
    await addSecret(service, from, 'a');
    const person = await addPerson(service);
    const by = person.token;
    const there = { to_vault: to, to_path: 'b' };
    const attach = (action: string[], resource: string) =>
      addPolicy(service, { user: person.id }, [{ action, resource: [resource] }]);
    const both = async (status: number, code: string) => {
      await refused(move(from, 'a', there, by), status, code);
      await refused(copy(from, 'a', there, by), status, code);
    };
    await both(403, 'INSUFFICIENT_PRIVILEGE');
    await attach(['secrets:create'], `vault/${to}/**`);
    await both(403, 'INSUFFICIENT_PRIVILEGE');
    await attach(['secrets:move', 'secrets:copy'], `vault/${from}/**`);
    await ok(copy(from, 'a', there, by), 201);
    await refused(move(from, 'a', there, by), 409, 'SECRET_ALREADY_EXISTS');
    for (const target of [{ to_path: 'b' }, { to_vault: 'no-such-vault', to_path: 'b' }]) {
      await refused(copy(from, 'a', target, by), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    const [denied] = await auditOf(service, 'action=secrets:copy&decision=deny');
    assert.equal(denied.details.to, 'vault/no-such-vault/b');
    await addPolicy(service, { user: person.id }, [
      { effect: 'deny', action: ['secrets:create'], resource: [`vault/${to}/closed/**`] },
    ]);
    await refused(move(from, 'a', { to_vault: to, to_path: 'closed/x' }, by), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(move(from, 'a', { to_vault: to, to_path: 'open/x' }, by));
  });

  rule(
    'conditions at the destination are checked with the tags and the environment that the secret will have there',
    async () => {
      const [from] = await two({ environment: 'development' });
      const to = await addVault(service, { environment: 'development' });
      const person = await addPerson(service);
      await addSecret(service, from, 'mine', { environment: 'staging', metadata: { tags: ['mine'] } });
      await addSecret(service, from, 'theirs', { environment: 'staging', metadata: { tags: ['theirs'] } });
      await addSecret(service, from, 'plain', { metadata: { tags: ['mine'] } });
      const condition = { tag_equals: ['mine'], environment: ['staging'] };
      await addPolicy(service, { user: person.id }, [
        { action: ['secrets:copy'], resource: [`vault/${from}/**`] },
        { action: ['secrets:create'], resource: [`vault/${to}/**`], condition },
      ]);
      const go = (path: string) => copy(from, path, { to_vault: to, to_path: path }, person.token);
      await ok(go('mine'), 201);
      await refused(go('theirs'), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(go('plain'), 403, 'INSUFFICIENT_PRIVILEGE');
    },
  );

  rule('why a secret does not fit there is shown only to callers who may create one there', async () => {
    const [from] = await two();
    const production = await addVault(service, { environment: 'production' });
    const sealed = await addVault(service, { is_zero_knowledge: true });
    await addSecret(service, from, 'a');
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [{ action: ['secrets:*'], resource: [`vault/${from}/**`] }]);
    for (const to_vault of [production, sealed]) {
      await refused(copy(from, 'a', { to_vault, to_path: 'a' }, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    await refused(copy(from, 'a', { to_vault: production, to_path: 'a' }), 409, CONFLICT);
    await refused(copy(from, 'a', { to_vault: sealed, to_path: 'a' }), 409, 'ZkBoundaryViolation');
    await refused(move(from, 'a', { to_vault: sealed, to_path: 'a' }), 409, 'ZkBoundaryViolation');
  });

  /** From a vault, with an own environment or the vault's, to a vault: what it becomes, without and with `promote`. */
  const FITTING: [from: string, own: string | undefined, to: string, without: string, promoted: string][] = [
    ['development', undefined, 'staging', CONFLICT, 'staging'],
    ['development', undefined, 'production', CONFLICT, 'production'],
    ['development', 'staging', 'staging', 'staging', 'staging'],
    ['development', 'staging', 'homologation', CONFLICT, CONFLICT],
    ['development', 'staging', 'production', CONFLICT, CONFLICT],
    ['staging', undefined, 'development', 'staging', 'development'],
    ['staging', undefined, 'homologation', CONFLICT, 'homologation'],
    ['staging', undefined, 'production', CONFLICT, 'production'],
    ['homologation', undefined, 'production', CONFLICT, 'production'],
    ['production', 'production', 'production', 'production', 'production'],
    ['production', 'production', 'staging', CONFLICT, CONFLICT],
    ['production', 'production', 'development', CONFLICT, CONFLICT],
  ];
  rule('environments decide as when a secret is made', async () => {
    for (const [source, own, target, without, promoted] of FITTING) {
      const from = await addVault(service, { environment: source });
      const to = await addVault(service, { environment: target });
      for (const [promote, expected] of [
        [false, without],
        [true, promoted],
      ] as const) {
        for (const [verb, go, status] of [
          ['copy', copy, 201],
          ['move', move, 200],
        ] as const) {
          const path = `${verb}-${promote}`;
          await addSecret(service, from, path, { environment: own });
          const answer = go(from, path, { to_vault: to, to_path: path, promote });
          const name = `${source} ${own} → ${target}, ${path}`;
          if (expected === CONFLICT) await refused(answer, 409, CONFLICT);
          else assert.equal((await ok(answer, status)).environment, expected, name);
        }
      }
    }
  });

  rule('both ends are recorded, with where it came from and went', async () => {
    const [from, to] = await two();
    const made = await addSecret(service, from, 'a');
    await ok(copy(from, 'a', { to_vault: to, to_path: 'c' }), 201);
    await ok(move(from, 'a', { to_vault: to, to_path: 'm' }));
    const left = await auditOf(service, `resource=vault/${from}/a`);
    assert.deepEqual(
      left.slice(0, 2).map((entry) => [entry.action, entry.details.to, entry.details.secret]),
      [
        ['secrets:move', `vault/${to}/m`, made.id],
        ['secrets:copy', `vault/${to}/c`, made.id],
      ],
    );
    const [moved] = await auditOf(service, `resource=vault/${to}/m`);
    assert.deepEqual(
      [moved.action, moved.vault, moved.details],
      ['secrets:create', to, { secret: made.id, moved_from: `vault/${from}/a` }],
    );
    const [copied] = await auditOf(service, `resource=vault/${to}/c`);
    assert.deepEqual(copied.details, { secret: left[1]?.details.copy, copied_from: `vault/${from}/a` });
    assert.equal(copied.request_id, left[1]?.request_id);
  });

  rule('another tenant’s vault is no destination, whatever its name', async () => {
    const [from] = await two();
    await addSecret(service, from, 'a');
    const { owner } = await addTenant(service);
    const theirs = await addVault(service, { name: `theirs-of-${from}` }, owner.token);
    for (const go of [move, copy]) {
      await refused(go(from, 'a', { to_vault: theirs, to_path: 'a' }), 404, 'VAULT_NOT_FOUND');
      await refused(go(from, 'a', { to_vault: theirs, to_path: 'a' }, owner.token), 404, 'VAULT_NOT_FOUND');
      await refused(go(theirs, 'a', { to_vault: from, to_path: 'a' }), 404, 'VAULT_NOT_FOUND');
    }
    assert.deepEqual(await pathsIn(service, theirs, '', owner.token), []);
  });

  test('a long history keeps nobody waiting while it moves', async () => {
    const [from, to] = await two();
    const value = 'v'.repeat(1024 * 1024);
    await addSecret(service, from, 'a', { value });
    for (let i = 0; i < 12; i++) await ok(send('PUT', secretUrl(from, 'a'), { value }));
    /** The part of the time that the longest turn took. */
    const longestTurn = async (source: string, target: string) => {
      let isMoving = true;
      const moved = ok(move(source, 'a', { to_vault: target, to_path: 'a' })).finally(() => {
        isMoving = false;
      });
      const started = performance.now();
      let longest = 0;
      for (let last = started; isMoving; ) {
        await nextTurn();
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }
      await moved;
      return longest / (performance.now() - started);
    };
    // The least of some: what else the machine does can only make a turn longer.
    let least = 1;
    for (let round = 0; round < 5 && least >= 1 / 2; round++) {
      least = Math.min(least, await (round % 2 === 0 ? longestTurn(from, to) : longestTurn(to, from)));
    }
    assert.ok(least < 1 / 2, `a turn took ${least} of the time`);
  });

  test('a long history moves whole', async () => {
    const [from, to] = await two();
    await addSecret(service, from, 'a', { value: 'v1' });
    for (let version = 2; version <= 120; version++)
      await ok(send('PUT', secretUrl(from, 'a'), { value: `v${version}` }));
    await ok(move(from, 'a', { to_vault: to, to_path: 'a' }));
    for (const version of [1, 49, 50, 51, 100, 101, 120]) {
      assert.equal(await readValue(service, to, `a?version=${version}`), `v${version}`);
    }
  });
});
