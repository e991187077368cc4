import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addTenant, ok, uniqueName } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { type Answer, type DatabaseKind, type Service, startService } from '../../../../test/support/service.ts';
import {
  addSecret,
  addVault,
  pathsIn,
  readValue,
  secretUrl,
  startNodeBeside,
} from '../../../../test/support/vaults.ts';

const WRITERS = 64;
const RETRY_MS = 100;
/** Also a change that is still under way when it is repeated. */
const REPEATED: readonly unknown[] = ['RATE_LIMIT_EXCEEDED', 'UNAVAILABLE', 'IN_USE'];

interface Version {
  version: number;
  operation: string;
  reason: string;
  restored_from: number | null;
}

/** On each database, and with two nodes that share one: requests go to them in turn. */
const SETTINGS: [string, DatabaseKind, number][] = [
  ['sqlite', 'sqlite', 1],
  ['postgres', 'postgres', 1],
  ['two nodes on one postgres', 'postgres', 2],
];

for (const [setting, database, count] of SETTINGS) {
  describe(`many at once, ${setting}`, () => {
    const nodes: Service[] = [];
    let service: Service;
    let vault: string;

    before(async () => {
      const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
      service = await startService(database, databaseUrl === undefined ? {} : { databaseUrl });
      nodes.push(service);
      if (count === 2) nodes.push(await startNodeBeside(service, databaseUrl ?? ''));
      vault = await addVault(service);
    });
    after(async () => {
      for (const node of nodes) await node.close();
    });

    let turn = 0;
    /** A busy machine refuses some of many changes. As clients do, it repeats them under their key, so that each happens once. */
    const send = async (method: string, path: string, body?: object): Promise<Answer> => {
      turn++;
      const node = nodes[turn % nodes.length] ?? service;
      const headers: Record<string, string> = method === 'GET' ? {} : { 'idempotency-key': randomUUID() };
      for (;;) {
        const answer = await node.call(method, path, { headers, ...(body !== undefined && { body }) });
        if (!REPEATED.includes(answer.body?.error?.code)) return answer;
        await sleep(RETRY_MS);
      }
    };
    const many = <T>(length: number, make: (i: number) => Promise<T>) =>
      Promise.all(Array.from({ length }, (_, i) => make(i)));
    const versionsOf = async (path: string, where = vault) => {
      const { versions } = await ok(send('GET', `${secretUrl(where, path, 'versions')}?limit=1000`));
      return (versions as Version[]).toReversed();
    };
    const assertLinear = (versions: Version[]) => {
      assert.deepEqual(
        versions.map(({ version }) => version),
        versions.map((_, i) => i + 1),
      );
    };
    const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();
    const countOf = async (where: string) => (await ok(send('GET', `/v1/vaults/${where}`))).secrets_count as number;
    const assertCount = async (where: string) => {
      assert.equal(await countOf(where), (await pathsIn(service, where, 'limit=1000')).length, 'secrets_count');
    };

    test('64 writers on one secret make 64 versions, none lost, none twice', async () => {
      const path = uniqueName('busy');
      await addSecret(service, vault, path, { value: 'start' });
      const answers = await many(WRITERS, (i) =>
        send('PUT', secretUrl(vault, path), { value: `by ${i}`, reason: `${i}` }),
      );
      assert.deepEqual(statuses(answers), Array(WRITERS).fill(200));
      const told = answers.map(({ body }) => body.version as number).sort((a, b) => a - b);
      assert.deepEqual(
        told,
        Array.from({ length: WRITERS }, (_, i) => i + 2),
      );
      const versions = await versionsOf(path);
      assertLinear(versions);
      assert.equal(new Set(versions.map(({ reason }) => reason)).size, WRITERS + 1, 'every writer has a version');
      for (const { version, reason } of versions.slice(1)) {
        assert.equal(await readValue(service, vault, `${path}?version=${version}`), `by ${reason}`);
      }
      assert.equal(await readValue(service, vault, path), `by ${versions.at(-1)?.reason}`);
    });

    test('of writers that all expect the same version one wins', async () => {
      const path = uniqueName('guarded');
      await addSecret(service, vault, path);
      for (let version = 1; version <= 3; version++) {
        const answers = await many(20, (i) =>
          send('PUT', secretUrl(vault, path), { value: `${version} ${i}`, expected_version: version }),
        );
        assert.deepEqual(statuses(answers), [200, ...Array(19).fill(409)]);
      }
      assertLinear(await versionsOf(path));
    });

    test('changes, rotations and rollbacks at once leave one line of history', async () => {
      const path = uniqueName('mixed');
      await addSecret(service, vault, path, { type: 'password', value: 'v1' });
      for (const value of ['v2', 'v3']) await ok(send('PUT', secretUrl(vault, path), { value }));
      const answers = await many(WRITERS, (i) => {
        if (i % 3 === 0) return send('PUT', secretUrl(vault, path), { value: `put ${i}`, reason: `put ${i}` });
        if (i % 3 === 1) return send('POST', secretUrl(vault, path, 'rotate'), { reason: 'rotate' });
        return send('POST', secretUrl(vault, path, 'rollback'), { to_version: 1 + (i % 4), reason: 'rollback' });
      });
      // Version 4 is there or not yet when it is asked for.
      for (const { status, body } of answers) assert.ok(status === 200 || body.error.code === 'VERSION_NOT_FOUND');
      const versions = await versionsOf(path);
      assertLinear(versions);
      assert.equal(versions.length, 3 + answers.filter(({ status }) => status === 200).length);
      const values = new Map<number, string>();
      for (const { version, operation, reason, restored_from } of versions) {
        const value = await readValue(service, vault, `${path}?version=${version}`);
        values.set(version, value);
        assert.equal(restored_from !== null, operation === 'rollback');
        if (operation === 'rollback') assert.equal(value, values.get(restored_from ?? 0), `version ${version}`);
        if (reason.startsWith('put')) assert.deepEqual([operation, value], ['update', reason]);
        if (operation === 'rotate') assert.match(value, /^[A-Za-z0-9._~-]{32}$/);
      }
      assert.equal(await readValue(service, vault, path), values.get(versions.length));
    });

    test('of creations of one path one wins, and it counts once', async () => {
      const where = await addVault(service);
      const answers = await many(30, (i) =>
        send('POST', `/v1/vaults/${where}/secrets`, { path: 'one', value: `by ${i}`, metadata: { tags: [`t${i}`] } }),
      );
      assert.deepEqual(statuses(answers), [201, ...Array(29).fill(409)]);
      const winner = answers.findIndex(({ status }) => status === 201);
      assert.equal(await readValue(service, where, 'one'), `by ${winner}`);
      assert.deepEqual(await pathsIn(service, where, `tags=t${winner}`), ['one']);
      assert.equal((await versionsOf('one', where)).length, 1);
      assert.equal(await countOf(where), 1);
    });

    test('a deletion among changes: what came before stays, what came after is told', async () => {
      for (let round = 0; round < 5; round++) {
        const path = uniqueName('going');
        await addSecret(service, vault, path);
        const answers = await many(16, (i) =>
          i === 8 ? send('DELETE', secretUrl(vault, path)) : send('PUT', secretUrl(vault, path), { value: `by ${i}` }),
        );
        const changed = answers.filter(({ status }, i) => status === 200 && i !== 8);
        assert.equal(answers[8]?.status, 200);
        for (const { status, body } of answers) assert.ok(status === 200 || body.error.code === 'SECRET_NOT_FOUND');
        const back = await ok(send('POST', secretUrl(vault, path, 'restore')));
        assert.equal(back.version, changed.length + 1);
        assertLinear(await versionsOf(path));
      }
      await assertCount(vault);
    });

    test('of deletions and of restorations at once one counts', async () => {
      const where = await addVault(service);
      await addSecret(service, where, 'one', { metadata: { tags: ['t'] } });
      const deleted = await many(20, () => send('DELETE', secretUrl(where, 'one')));
      assert.deepEqual(statuses(deleted), [200, ...Array(19).fill(404)]);
      assert.equal(await countOf(where), 0);
      const restored = await many(20, () => send('POST', secretUrl(where, 'one', 'restore')));
      assert.deepEqual(statuses(restored), [200, ...Array(19).fill(404)]);
      assert.equal(await countOf(where), 1);
      assert.deepEqual(await pathsIn(service, where, 'tags=t'), ['one']);
    });

    test('what is made while the vault is deleted is in it or was refused', async () => {
      const where = await addVault(service);
      const answers = await many(20, (i) =>
        i === 10
          ? send('DELETE', `/v1/vaults/${where}`)
          : send('POST', `/v1/vaults/${where}/secrets`, { path: `s/${i}`, value: 'x' }),
      );
      assert.equal(answers[10]?.status, 200);
      const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.path as string);
      for (const { status, body } of answers) assert.ok(status < 300 || body.error.code === 'VAULT_NOT_FOUND');
      await ok(send('POST', `/v1/vaults/${where}/restore`));
      assert.deepEqual(await pathsIn(service, where), made.sort());
      await assertCount(where);
    });

    test('moves in opposite directions wait for nobody for ever, and lose nothing', async () => {
      const [one, two] = [await addVault(service), await addVault(service)];
      for (let i = 0; i < 12; i++) {
        await addSecret(service, one, `a/${i}`);
        await addSecret(service, two, `b/${i}`);
      }
      const moves = (from: string, to: string, letter: string) =>
        many(12, (i) =>
          send('POST', secretUrl(from, `${letter}/${i}`, 'move'), { to_vault: to, to_path: `${letter}/${i}` }),
        );
      const answers = (await Promise.all([moves(one, two, 'a'), moves(two, one, 'b')])).flat();
      assert.deepEqual(statuses(answers), Array(24).fill(200));
      for (const [where, letter] of [
        [one, 'b'],
        [two, 'a'],
      ] as const) {
        assert.deepEqual(await pathsIn(service, where), Array.from({ length: 12 }, (_, i) => `${letter}/${i}`).sort());
        assert.equal(await countOf(where), 12);
        for (let i = 0; i < 12; i++) {
          assert.equal(await readValue(service, where, `${letter}/${i}`), `value of ${letter}/${i}`);
        }
      }
    });

    test('one secret moved to many places at once goes to one of them', async () => {
      const [one, two] = [await addVault(service), await addVault(service)];
      await addSecret(service, one, 'here');
      const answers = await many(16, (i) =>
        send('POST', secretUrl(one, 'here', 'move'), { to_vault: i % 2 === 0 ? one : two, to_path: `there/${i}` }),
      );
      assert.deepEqual(statuses(answers), [200, ...Array(15).fill(404)]);
      assert.equal((await countOf(one)) + (await countOf(two)), 1);
      await assertCount(one);
    });

    test('reading while the secret moves to and fro is answered with it or with 404, never with an error', async () => {
      const [one, two] = [await addVault(service), await addVault(service)];
      await addSecret(service, one, 's', { value: 'first' });
      await ok(send('PUT', secretUrl(one, 's'), { value: 'second' }));
      let isDone = false;
      const readers = many(6, async (i) => {
        const urls = [
          secretUrl(one, 's'),
          `${secretUrl(two, 's')}?version=1`,
          `/v1/vaults/${one}/aggregate`,
          `/v1/vaults/${two}/export`,
          `${secretUrl(one, 's')}?version=1`,
        ];
        const url = urls[i];
        while (!isDone) {
          const answer =
            url === undefined
              ? await send('POST', `/v1/vaults/${one}/search`, { query: 'sec' })
              : await send('GET', url);
          assert.ok([200, 404].includes(answer.status), `${url}: ${answer.text}`);
        }
      });
      const moving = (async () => {
        for (let i = 0; i < 60; i++) {
          const [from, to] = i % 2 === 0 ? [one, two] : [two, one];
          await ok(send('POST', secretUrl(from, 's', 'move'), { to_vault: to, to_path: 's' }));
        }
      })().finally(() => {
        isDone = true;
      });
      await Promise.all([moving, readers]);
      assert.equal(await readValue(service, one, 's'), 'second');
      assert.equal(await readValue(service, one, 's?version=1'), 'first');
    });

    test('everything at once on a few paths: counts, tags and lists agree afterwards', async () => {
      const [one, two] = [await addVault(service), await addVault(service)];
      const paths = ['p', 'q', 'r'];
      await many(150, (i) => {
        const path = paths[i % 3] ?? '';
        const [from, to] = i % 2 === 0 ? [one, two] : [two, one];
        const steps = [
          () => send('POST', `/v1/vaults/${from}/secrets`, { path, value: 'x', metadata: { tags: ['t'] } }),
          () => send('PUT', secretUrl(from, path), { metadata: { tags: i % 4 === 0 ? ['t'] : [] } }),
          () => send('DELETE', secretUrl(from, path)),
          () => send('POST', secretUrl(from, path, 'restore')),
          () => send('POST', secretUrl(from, path, 'move'), { to_vault: to, to_path: path }),
          () => send('POST', secretUrl(from, path, 'copy'), { to_vault: to, to_path: path }),
          () => send('POST', `/v1/vaults/${from}/import`, { secrets: { p: 'i', q: 'i' } }),
        ];
        const step = steps[Math.floor(i / 3) % steps.length];
        return (step?.() ?? Promise.reject()).then(({ status, text }) =>
          assert.ok([200, 201, 404, 409].includes(status), text),
        );
      });
      for (const where of [one, two]) {
        await assertCount(where);
        const all = (await ok(send('GET', `/v1/vaults/${where}/secrets`))).secrets as {
          path: string;
          version: number;
          metadata: { tags: string[] };
        }[];
        const tagged = all.filter(({ metadata }) => metadata.tags.includes('t')).map(({ path }) => path);
        assert.deepEqual(await pathsIn(service, where, 'tags=t'), tagged);
        for (const { path, version } of all) {
          const versions = await versionsOf(path, where);
          assertLinear(versions);
          assert.equal(versions.length, version);
          await readValue(service, where, path);
        }
      }
      assert.equal((await ok(send('GET', '/v1/audit/verify'))).valid, true);
    });

    test('hundreds of reads at once, of two tenants and of nothing: each gets its own', async () => {
      const { owner } = await addTenant(service);
      const name = uniqueName('shared');
      await addVault(service, { name });
      await addVault(service, { name }, owner.token);
      for (const path of ['a', 'b']) {
        await addSecret(service, name, path, { value: `ours ${path}` });
        await addSecret(service, name, path, { value: `theirs ${path}` }, owner.token);
      }
      await many(450, async (i) => {
        const path = ['a', 'b', 'missing'][i % 3] ?? '';
        const token = i % 2 === 0 ? service.adminToken : owner.token;
        const node = nodes[i % nodes.length] ?? service;
        const { status, body } = await node.call('GET', secretUrl(name, path), { token });
        if (path === 'missing') assert.deepEqual([status, body.error.code], [404, 'SECRET_NOT_FOUND']);
        else assert.equal(body.value, `${i % 2 === 0 ? 'ours' : 'theirs'} ${path}`);
      });
    });
  });
}
