import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import {
  addColleague,
  addTenant,
  approve,
  approved,
  invalid,
  ok,
  uniqueName,
} from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addVault, auditOf } from '../../../../test/support/vaults.ts';
import { USES_MAX } from './key-cache.ts';

onSqliteAtLanding('encryption as a service', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  async function addKey(more: object = {}): Promise<string> {
    const body = { name: uniqueName('key'), delete_protection: false, ...more };
    return (await ok(service.call('POST', '/eaas/keys', { body }), 201)).name;
  }
  const post = (key: string, verb: string, body: unknown, token = service.adminToken) =>
    service.call('POST', `/eaas/keys/${key}/${verb}`, { token, body });
  const encrypt = async (key: string, plaintext: string, aad?: string): Promise<string> =>
    (await ok(post(key, 'encrypt', { plaintext, ...(aad !== undefined && { aad }) }))).envelope;
  const decrypt = async (key: string, envelope: string, aad?: string): Promise<Answer> =>
    post(key, 'decrypt', { envelope, ...(aad !== undefined && { aad }) });
  const failed = (answer: Answer, what = '') => {
    assert.equal(answer.status, 422, what);
    const { request_id: _, ...error } = answer.body.error;
    assert.deepEqual(error, { code: 'DECRYPT_FAILED', message: 'The ciphertext could not be opened.' }, what);
  };

  test('a key is made protected, and shows its versions and never its material', async () => {
    const name = uniqueName('key');
    const made = await ok(service.call('POST', '/eaas/keys', { body: { name, description: 'orders' } }), 201);
    assert.equal(made.delete_protection, true);
    assert.deepEqual([made.latest_version, made.versions.length, made.rotated_at], [1, 1, null]);
    const again = await service.call('POST', '/eaas/keys', { body: { name } });
    assert.equal(again.body.error.code, 'ALREADY_EXISTS');
    const { keys } = await ok(service.call('GET', '/eaas/keys?limit=1000'));
    assert.ok(keys.some((key: { name: string }) => key.name === name));
    await ok(service.call('PATCH', `/eaas/keys/${name}`, { body: { description: 'changed' } }));
    assert.equal((await ok(service.call('GET', `/eaas/keys/${name}`))).description, 'changed');
  });

  test('what is encrypted comes back, with the same data and no other', async () => {
    const key = await addKey();
    for (const plaintext of ['', 'x', 'žluťoučký 🦊', 'x'.repeat(100_000), '\u0000\u0001']) {
      assert.equal((await ok(decrypt(key, await encrypt(key, plaintext)))).plaintext, plaintext);
    }
    const bound = await encrypt(key, 'secret', 'order 7');
    assert.equal((await ok(decrypt(key, bound, 'order 7'))).plaintext, 'secret');
    failed(await decrypt(key, bound, 'order 8'), 'another aad');
    failed(await decrypt(key, bound), 'no aad');
    failed(await decrypt(key, await encrypt(key, 'x'), ''), 'an aad where there was none');
    assert.notEqual(await encrypt(key, 'same'), await encrypt(key, 'same'));
  });

  test('after a rotation the newest encrypts, older ones still open, and rewrap moves on without showing', async () => {
    const key = await addKey();
    const first = await encrypt(key, 'old', 'a');
    const rotated = await ok(post(key, 'rotate', { reason: 'yearly' }));
    assert.equal(rotated.version, 2);
    assert.equal((await encrypt(key, 'new')).split(':')[3], '2');
    assert.equal((await ok(decrypt(key, first, 'a'))).plaintext, 'old');
    const moved = await post(key, 'rewrap', { envelope: first, aad: 'a' });
    assert.deepEqual(
      [moved.status, moved.body.version, Object.keys(moved.body).sort()],
      [200, 2, ['envelope', 'version']],
    );
    assert.equal((await ok(decrypt(key, moved.body.envelope, 'a'))).plaintext, 'old');
    failed(await post(key, 'rewrap', { envelope: first }), 'rewrap without its aad');
    const { versions, rotated_at } = await ok(service.call('GET', `/eaas/keys/${key}`));
    assert.equal(versions.length, 2);
    assert.ok(rotated_at);
  });

  test('batches do what single calls do, in order, and say which failed', async () => {
    const key = await addKey();
    const items = Array.from({ length: 1000 }, (_, i) => ({
      plaintext: `text ${i}`,
      ...(i % 2 === 0 && { aad: `${i}` }),
    }));
    const { envelopes } = await ok(post(key, 'encrypt-batch', { items }));
    const back = envelopes.map((envelope: string, i: number) => ({ envelope, ...(i % 2 === 0 && { aad: `${i}` }) }));
    back[3] = { envelope: 'nonsense' };
    back[4] = { ...back[4], aad: 'wrong' };
    const { results } = await ok(post(key, 'decrypt-batch', { items: back }));
    results.forEach((result: object, i: number) => {
      assert.deepEqual(result, i === 3 || i === 4 ? { error: 'DECRYPT_FAILED' } : { plaintext: `text ${i}` });
    });
    assert.equal((await post(key, 'encrypt-batch', { items: [...items, items[0]] })).status, 422);
    assert.equal((await post(key, 'encrypt-batch', { items: [] })).status, 422);
  });

  test('a payload of a mebibyte passes, one byte more does not, alone or in a batch', async () => {
    const key = await addKey();
    const most = 'é'.repeat(1024 * 512);
    const envelope = await encrypt(key, most);
    assert.equal((await ok(decrypt(key, envelope))).plaintext, most);
    for (const answer of [
      await post(key, 'encrypt', { plaintext: `${most}x` }),
      await post(key, 'encrypt-batch', { items: [{ plaintext: most }, { plaintext: 'x' }] }),
      await post(key, 'encrypt', { plaintext: 'x'.repeat(1024 * 1024 + 1) }),
      await post(key, 'encrypt', { plaintext: 'x'.repeat(8 * 1024 * 1024) }),
    ]) {
      assert.deepEqual([answer.status, answer.body.error.code], [413, 'PAYLOAD_TOO_LARGE']);
    }
    assert.equal((await post(key, 'encrypt', '{"plaintext":"\\ud800"}')).status, 400, 'half a character');
  });

  describe('what must not happen', () => {
    test('an envelope of another key, version or tenant opens nothing, and every refusal is the same', async () => {
      const key = await addKey();
      const other = await addKey();
      const envelope = await encrypt(key, 'x');
      await ok(post(other, 'rotate', {}));
      failed(await decrypt(other, envelope), 'another key');
      failed(await decrypt(other, envelope.replace(`:${key}:`, `:${other}:`)), 'renamed');
      failed(await decrypt(key, envelope.replace(':1:', ':2:')), 'a version that is not there');
      failed(await decrypt(key, envelope.replace(':1:', ':999999999:')), 'far beyond');
      failed(await decrypt(other, (await encrypt(other, 'x')).replace(':2:', ':1:')), 'another version');
      const parts = envelope.split(':');
      for (let i = 0; i < parts.length; i++) {
        failed(await decrypt(key, parts.toSpliced(i, 1).join(':')), `without part ${i}`);
        failed(await decrypt(key, parts.with(i, '').join(':')), `part ${i} empty`);
      }
      failed(await decrypt(key, 'nonsense'));
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      await ok(service.call('POST', '/eaas/keys', { token, body: { name: key } }), 201);
      failed(await post(key, 'decrypt', { envelope }, token), 'a key of the same name elsewhere');
    });

    test('another tenant has no such key, and nobody gives an IV', async () => {
      const key = await addKey();
      const { token } = (await addTenant(service)).owner;
      assert.equal((await post(key, 'encrypt', { plaintext: 'x' }, token)).status, 404);
      for (const field of ['iv', 'nonce', 'version', 'context']) {
        assert.equal((await post(key, 'encrypt', { plaintext: 'x', [field]: 'AAAAAAAAAAAAAAAA' })).status, 422, field);
      }
    });

    test('only admins make keys; users may use one if a policy allows it, and a machine too', async () => {
      const { kernel } = service.app;
      const member = await addColleague(service, kernel.operatorTenantId, 'member');
      const key = await addKey();
      const name = uniqueName('policy');
      const statement = [{ effect: 'allow', action: ['eaas:*'], resource: ['eaas', `eaas/${key}`] }];
      await ok(
        service.call('POST', '/v1/policies', { body: { name, document: { version: '2026-01-01', statement } } }),
        201,
      );
      const { token } = member;
      assert.equal((await post(key, 'encrypt', { plaintext: 'x' }, token)).status, 403);
      const attach = async (principal: object) => {
        const answer = await service.call('POST', `/v1/policies/${name}/attach`, { body: { principal } });
        assert.ok([200, 202].includes(answer.status));
      };
      await attach({ user: member.id });
      assert.equal((await post(key, 'encrypt', { plaintext: 'x' }, token)).status, 200);
      assert.equal(
        (await service.call('POST', '/eaas/keys', { token, body: { name: uniqueName('key') } })).status,
        403,
      );
      const machine = await addConnection(service, await addVault(service));
      const use = { body: { plaintext: 'x' } };
      assert.equal((await callAs(service, machine, 'POST', `/eaas/keys/${key}/encrypt`, use)).status, 403);
      await attach({ app_connection: machine.client_id });
      assert.equal((await callAs(service, machine, 'POST', `/eaas/keys/${key}/encrypt`, use)).status, 200);
    });

    test('a machine does all that a policy allows it, and nothing beyond', async () => {
      const { machine, key, asMachine, allow } = await machineWithKey();
      const other = await addKey();
      assert.equal((await asMachine('POST', '/eaas/keys', { name: uniqueName('key') })).status, 403);
      for (const [method, path, body] of [
        ['PATCH', '', { description: 'x' }],
        ['POST', '/rotate', {}],
        ['DELETE', '', { reason: 'the project has ended' }],
      ] as const) {
        assert.equal((await asMachine(method, `/eaas/keys/${key}${path}`, body)).status, 403, method);
      }
      await allow(['eaas:*'], ['eaas', `eaas/${key}`]);
      const made = await ok(asMachine('POST', '/eaas/keys', { name: uniqueName('key') }), 201);
      assert.equal(made.delete_protection, true);
      await ok(asMachine('PATCH', `/eaas/keys/${key}`, { description: 'by a machine' }));
      assert.equal((await ok(asMachine('POST', `/eaas/keys/${key}/rotate`, {}))).version, 2);
      for (const name of [other, made.name]) {
        assert.equal((await asMachine('POST', `/eaas/keys/${name}/rotate`, {})).status, 403);
        assert.equal((await asMachine('DELETE', `/eaas/keys/${name}`, { reason: 'not mine to end' })).status, 403);
      }
      const [entry] = await auditOf(service, `action=eaas:rotate&actor=${machine.client_id}&decision=allow`);
      assert.deepEqual([entry?.actor.kind, entry?.resource], ['app_connection', `eaas/${key}`]);
    });

    test('no plaintext is in a log or in the audit, also when it is refused', async () => {
      const key = await addKey();
      const marker = 'marker-of-a-plaintext';
      const envelope = await encrypt(key, marker, `${marker}-aad`);
      await decrypt(key, envelope, `${marker}-other`);
      await post(key, 'encrypt', { plaintext: marker, wrong: marker });
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=50'));
      assert.doesNotMatch(JSON.stringify(entries) + service.logs.join(''), /marker-of/);
    });
  });

  async function machineWithKey() {
    const key = await addKey();
    const machine = await addConnection(service, await addVault(service));
    const approver = await addColleague(service, service.app.kernel.operatorTenantId, 'admin');
    const asMachine = (method: string, path: string, body: unknown) => callAs(service, machine, method, path, { body });
    /** Attaches a policy to the machine; answers with what detaches it. */
    const allow = async (action: string[], resource: string[]) => {
      const name = uniqueName('policy');
      const document = { version: '2026-01-01', statement: [{ effect: 'allow', action, resource }] };
      await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
      const change = (verb: string) => {
        const body = { principal: { app_connection: machine.client_id } };
        return approved(service, service.call('POST', `/v1/policies/${name}/${verb}`, { body }), approver.token);
      };
      await change('attach');
      return () => change('detach');
    };
    return { machine, key, asMachine, allow };
  }

  describe('deletion', () => {
    const reason = 'the project has ended';

    test('is refused while protected, without a reason, and needs a second person on Enterprise', async () => {
      const key = await addKey({ delete_protection: true });
      const remove = (body: object, token = service.adminToken) =>
        service.call('DELETE', `/eaas/keys/${key}`, { token, body });
      assert.equal((await remove({ reason })).body.error.code, 'KEY_DELETE_PROTECTED');
      await ok(service.call('PATCH', `/eaas/keys/${key}`, { body: { delete_protection: false } }));
      for (const none of ['too short', ' '.repeat(10), `  ${'x'.repeat(9)}  `, '\u00a0'.repeat(12)]) {
        await invalid(remove({ reason: none }), '/body/reason');
      }
      assert.equal((await remove({})).status, 422);
      const pending = await ok(remove({ reason }), 202);
      const waiting = await ok(service.call('GET', `/eaas/keys/${key}`));
      assert.deepEqual([waiting.status, waiting.approval_id], ['pending_approval', pending.approval_id]);
      const envelope = await encrypt(key, 'still there');
      assert.equal((await ok(remove({ reason }), 202)).approval_id, pending.approval_id, 'asked again, it is the same');
      assert.equal((await remove({ reason: 'for another reason' })).body.error.code, 'IN_USE');
      const { kernel } = service.app;
      const admin = await addColleague(service, kernel.operatorTenantId, 'admin');
      await ok(approve(service, pending.approval_id, admin.token, { reason: 'seen' }));
      assert.equal((await decrypt(key, envelope)).status, 404);
      const made = await ok(service.call('POST', '/eaas/keys', { body: { name: key } }), 201);
      assert.equal(made.latest_version, 1);
      failed(await decrypt(key, envelope), 'a new key of that name is another key');
    });

    test('by a machine it waits for an admin, and is carried out with the rights the machine has then', async () => {
      const { kernel } = service.app;
      const admin = await addColleague(service, kernel.operatorTenantId, 'admin');
      const { machine, key, asMachine, allow } = await machineWithKey();
      const detach = await allow(['eaas:delete'], ['eaas/*']);
      const ask = (name: string) => ok(asMachine('DELETE', `/eaas/keys/${name}`, { reason }), 202);
      const pending = await ask(key);
      await ok(approve(service, pending.approval_id, admin.token));
      assert.equal((await service.call('GET', `/eaas/keys/${key}`)).status, 404);
      const [entry] = await auditOf(service, `action=eaas:delete&resource=eaas/${key}&decision=allow`);
      assert.deepEqual([entry?.actor.kind, entry?.actor.id], ['app_connection', machine.client_id]);

      const [withoutRight, leaked, gone] = [await addKey(), await addKey(), await addKey()];
      const refusedLater = await ask(withoutRight);
      await detach();
      const outcome = await ok(approve(service, refusedLater.approval_id, admin.token));
      assert.equal(outcome.status, 'failed');

      await allow(['eaas:delete'], ['eaas/*']);
      const byOldSecret = await ask(leaked);
      const { client_secret } = await ok(
        service.call('POST', `/v1/app-connections/${machine.id}/rotate`, { body: { client_secret: true } }),
      );
      machine.client_secret = client_secret;
      const read = async ({ approval_id }: { approval_id: string }) =>
        ok(service.call('GET', `/approvals/${approval_id}`));
      const replaced = await read(byOldSecret);
      assert.deepEqual([replaced.status, replaced.cancelled_because], ['cancelled', 'credential_revoked']);
      const byGone = await ask(gone);
      await ok(service.call('DELETE', `/v1/app-connections/${machine.id}`));
      const ended = await read(byGone);
      assert.deepEqual([ended.status, ended.cancelled_because], ['cancelled', 'account_ended']);
      for (const name of [withoutRight, leaked, gone]) await ok(service.call('GET', `/eaas/keys/${name}`));
    });

    test('on another plan it is done at once, and its material is gone from every file', async () => {
      const tenant = await addTenant(service, { plan: 'professional' });
      const { token } = tenant.owner;
      const name = uniqueName('key');
      await ok(service.call('POST', '/eaas/keys', { token, body: { name, delete_protection: false } }), 201);
      await ok(service.call('POST', `/eaas/keys/${name}/rotate`, { token, body: {} }));
      const { read } = service.app.kernel.database;
      const { key_id } = await read
        .selectFrom('eaas_keys')
        .select('key_id')
        .where('name', '=', name)
        .executeTakeFirstOrThrow();
      const rows = await read.selectFrom('keys').select('wrapped').where('purpose', '=', `eaas/${key_id}`).execute();
      assert.equal(rows.length, 2);
      await ok(service.call('DELETE', `/eaas/keys/${name}`, { token, body: { reason } }), 200);
      const left = await read.selectFrom('keys').select('version').where('purpose', '=', `eaas/${key_id}`).execute();
      assert.equal(left.length, 0);
      if (database !== 'sqlite') return;
      for (const file of readdirSync(service.dataDir)) {
        const bytes = readFileSync(join(service.dataDir, file));
        for (const { wrapped } of rows) assert.equal(bytes.indexOf(Buffer.from(wrapped)), -1, file);
      }
    });
  });

  describe('long before the limit of its cipher', () => {
    const rowOf = async (name: string) =>
      service.app.kernel.database.read
        .selectFrom('eaas_keys')
        .selectAll()
        .where('name', '=', name)
        .executeTakeFirstOrThrow();
    const usesOf = async (name: string) => {
      const purpose = `eaas/${(await rowOf(name)).key_id}`;
      const rows = await service.app.kernel.database.read
        .selectFrom('keys')
        .select(['version', 'uses'])
        .where('purpose', '=', purpose)
        .orderBy('version')
        .execute();
      return rows.map(({ version, uses }) => [version, uses]);
    };
    /** As if it had encrypted for years; what this process has reserved of it ends with a rotation. */
    const wearOut = async (name: string) => {
      const purpose = `eaas/${(await rowOf(name)).key_id}`;
      await service.app.kernel.database.transaction(async (tx) => {
        await tx.updateTable('keys').set({ uses: USES_MAX }).where('purpose', '=', purpose).execute();
      });
    };
    const rotations = async (name: string) =>
      (await auditOf(service, `action=eaas:rotate&resource=eaas/${name}`)).map((entry) => entry.details.version);

    test('a key gets a new version by itself, and the log says so', async () => {
      const name = await addKey();
      await wearOut(name);
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => ok(post(name, 'encrypt', { plaintext: 'x' }))),
      );
      assert.deepEqual(new Set(answers.map(({ version }) => version)), new Set([2]));
      assert.equal((await ok(service.call('GET', `/eaas/keys/${name}`))).latest_version, 2);
      assert.deepEqual(await rotations(name), [2]);
      const [entry] = await auditOf(service, `action=eaas:rotate&resource=eaas/${name}`);
      assert.deepEqual(entry.details, { version: 2, reason: 'used often enough' });
      assert.equal((await ok(service.call('GET', '/v1/audit/verify'))).valid, true);
    });

    test('it gets none that the log does not tell of: both commit, or neither does', async () => {
      const name = await addKey();
      await wearOut(name);
      const { audit } = service.app.kernel;
      const { recordIn } = audit;
      service.expectErrorLogs(/audit\.recordIn/);
      audit.recordIn = () => Promise.reject(new Error('the log cannot be written'));
      const refusal = await post(name, 'encrypt', { plaintext: 'x' });
      audit.recordIn = recordIn;
      assert.ok(refusal.status >= 500);
      assert.deepEqual([(await rowOf(name)).latest_version, await rotations(name)], [1, []]);
      assert.equal((await ok(post(name, 'encrypt', { plaintext: 'x' }))).version, 2);
      assert.deepEqual(await rotations(name), [2]);
    });

    test('a start reserves little of it, also for a batch that needs more', async () => {
      const name = await addKey();
      await encrypt(name, 'x');
      assert.deepEqual(await usesOf(name), [[1, 1024]]);
      const items = Array.from({ length: 100 }, () => ({ plaintext: 'x' }));
      for (let i = 0; i < 12; i++) await ok(post(name, 'encrypt-batch', { items }));
      assert.deepEqual(await usesOf(name), [[1, 1024 + 4096]]);
    });
  });

  test('many encrypt while others rotate: every envelope opens, and versions have no gap', async () => {
    const key = await addKey();
    const sealed = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        if (i % 10 === 0) await ok(post(key, 'rotate', {}));
        return encrypt(key, `text ${i}`);
      }),
    );
    const opened = await Promise.all(sealed.map(async (envelope) => (await ok(decrypt(key, envelope))).plaintext));
    opened.forEach((plaintext, i) => void assert.equal(plaintext, `text ${i}`));
    const { versions } = await ok(service.call('GET', `/eaas/keys/${key}`));
    assert.deepEqual(
      versions.map((v: { version: number }) => v.version),
      [1, 2, 3, 4, 5, 6, 7],
    );
  });
});

/** As far as the cache needs one. */
test('a rotation and a deletion hold on every node at once', async () => {
  const databaseUrl = await newPostgresDatabase();
  const first = await startService('postgres', { databaseUrl });
  const second = await startService('postgres', { databaseUrl, dataDir: first.dataDir, keepData: true });
  const body = { name: 'shared', delete_protection: false };
  await ok(first.call('POST', '/eaas/keys', { body }), 201);
  const encrypt = async (node: Service) =>
    (await ok(node.call('POST', '/eaas/keys/shared/encrypt', { body: { plaintext: 'x' } }))).version;
  assert.equal(await encrypt(second), 1);
  await ok(first.call('POST', '/eaas/keys/shared/rotate', { body: {} }));
  assert.equal(await encrypt(second), 2);
  const pending = await ok(first.call('DELETE', '/eaas/keys/shared', { body: { reason: 'not needed any more' } }), 202);
  await ok(approve(first, pending.approval_id, first.adminToken, { reason: 'alone' }));
  const gone = await second.call('POST', '/eaas/keys/shared/encrypt', { body: { plaintext: 'x' } });
  assert.equal(gone.status, 404);
  await second.close();
  await first.close();
});
