import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addTenant, allPages, ok, refused, type Tenant } from '../../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../../test/support/postgres.ts';
import {
  type Answer,
  type DatabaseKind,
  onBothDatabases,
  type Service,
  startService,
} from '../../../../../test/support/service.ts';
import { runJobs, startNodeBeside } from '../../../../../test/support/vaults.ts';
import { link } from '../../../kernel/audit/chain/chain.ts';
import { segmentText, textsOf } from '../../../kernel/audit/chain/segment.ts';
import { HOUR_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';
import { UnsealError } from '../../../kernel/crypto/sealing.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../../kernel/storage/tables.ts';
import { SIGNATURE_ALGORITHM } from '../../pqc/contract.ts';
import { keyIdOf, PqcKeys } from '../../pqc/keys.ts';

const JOB = 'sign-audit-checkpoints';

const signNow = (service: Service, token = service.adminToken) =>
  ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
const stored = (service: Service, tenantId: string) =>
  service.app.kernel.database.read
    .selectFrom('audit_checkpoints')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('checkpoint_no')
    .execute();
const verification = (service: Service, token = service.adminToken) =>
  ok(service.call('GET', '/v1/audit/verify', { token }));

onBothDatabases('audit checkpoints', (database) => {
  let service: Service;
  let tenant: Tenant;

  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
  });
  after(() => service.close());

  async function nextRound(): Promise<void> {
    service.clock.advance(HOUR_MS + MINUTE_MS);
    await runJobs(service);
  }

  test('each hour the head of a log that has grown is signed, and of one that has not is not', async () => {
    const { token } = tenant.owner;
    await nextRound();
    const [first] = await stored(service, tenant.id);
    assert.equal(first?.seq, 1, 'a log begins with the tenant’s own rows');
    await nextRound();
    assert.equal((await stored(service, tenant.id)).length, 1, 'nothing was recorded in this hour');
    await ok(service.call('GET', '/v1/groups', { token }));
    await nextRound();
    const [, second] = await stored(service, tenant.id);
    assert.deepEqual([second?.checkpoint_no, second?.seq], [2, first.seq + 1]);
  });

  test('are listed newest first, with the key that signed them, in pages', async () => {
    const token = tenant.owner.token;
    const last = (await stored(service, tenant.id)).length;
    assert.equal((await signNow(service, token)).id, last, 'it covers everything');
    await ok(service.call('GET', '/v1/groups', { token }));
    assert.equal((await signNow(service, token)).id, last + 1);
    const page = await ok(service.call('GET', '/v1/audit/checkpoints', { token }));
    const numbers = page.checkpoints.map(({ id }: { id: number }) => id);
    assert.deepEqual(numbers, [3, 2, 1]);
    assert.equal(page.keys.length, 1);
    assert.deepEqual(
      new Set(page.checkpoints.map((one: Answer['body']) => one.key_id)),
      new Set([page.keys[0].key_id]),
    );
    for (const { tenant_id } of page.checkpoints) assert.equal(tenant_id, tenant.id);
    assert.deepEqual(
      await allPages(service, '/v1/audit/checkpoints?limit=1', 'checkpoints', { token }),
      page.checkpoints,
    );
  });

  test('the key is no tenant’s: nobody signs, verifies or reads with it through the service', async () => {
    const { keys } = await ok(service.call('GET', '/v1/audit/checkpoints', { token: tenant.owner.token }));
    const [{ key_id }] = keys;
    await refused(service.call('GET', `/pqc/keys/${key_id}`), 404, 'NOT_FOUND');
    const body = { key_id, signature: '', message: '' };
    await refused(service.call('POST', '/pqc/dual-sign/verify', { body }), 404, 'NOT_FOUND');
    const listed = await allPages(service, '/pqc/keys', 'keys');
    assert.ok(!listed.some((key) => key.key_id === key_id));
  });

  test('verification counts them and says how far they vouch', async () => {
    const { seq, id } = await signNow(service, tenant.owner.token);
    const result = await verification(service, tenant.owner.token);
    assert.deepEqual([result.valid, result.checkpoints, result.signed_seq], [true, id, seq]);
    assert.ok(result.entries >= seq);
  });

  test('requested at once, each is signed once', async () => {
    const ask = () => service.call('POST', '/v1/audit/checkpoints', { token: tenant.owner.token });
    const answers = await Promise.all(Array.from({ length: 6 }, ask));
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 201),
    );
    const numbers = (await stored(service, tenant.id)).map((row) => row.checkpoint_no);
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => i + 1),
    );
    assert.equal((await verification(service, tenant.owner.token)).valid, true);
  });
});

onBothDatabases('the key that signs checkpoints', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const keyRows = () =>
    service.app.kernel.database.read
      .selectFrom('pqc_keys')
      .selectAll()
      .where('tenant_id', '=', SYSTEM_TENANT)
      .orderBy('version')
      .execute();
  const change = (keyId: string, what: object) =>
    service.app.kernel.database.transaction(async (tx) => {
      await tx.updateTable('pqc_keys').set(what).where('key_id', '=', keyId).execute();
    });
  const shownKeys = async () => (await ok(service.call('GET', '/v1/audit/checkpoints'))).keys;
  /** As a year later. */
  async function replaceKey(): Promise<void> {
    for (const { key_id } of await keyRows()) await change(key_id, { created_at: 0 });
    await ok(service.call('GET', '/v1/groups'));
    await signNow(service);
  }
  /** Nothing of what an earlier process has in memory. */
  const freshKeys = () => new PqcKeys(service.app.kernel);

  test('vouches for its successor once; with that its private half is destroyed, and what it signed still verifies', async () => {
    await ok(service.call('GET', '/v1/groups'));
    await signNow(service);
    const [old] = await keyRows();
    assert.ok(old !== undefined);
    await replaceKey();
    const [newest, before] = await shownKeys();
    assert.deepEqual([newest.endorsed_by, before.key_id, before.endorsed_by], [old.key_id, old.key_id, null]);
    const [destroyed] = await keyRows();
    assert.ok(destroyed?.destroyed_at !== null);
    assert.deepEqual(destroyed?.public_key, old.public_key);
    assert.ok((destroyed?.sealed_private.length ?? 0) < 64, 'nothing is sealed in its place');
    assert.deepEqual(await shownKeys(), [newest, before], 'the word it gave is stored');
    assert.equal(
      await freshKeys()
        .find(SYSTEM_TENANT, old.key_id)
        .catch((error) => error.name),
      'UnsealError',
    );
    const { valid, checkpoints } = await verification(service);
    assert.deepEqual([valid, checkpoints], [true, 2]);
  });

  test('of three, each is destroyed by the one after it, also by the hourly job alone', async () => {
    await replaceKey();
    service.clock.advance(HOUR_MS + MINUTE_MS);
    await runJobs(service);
    assert.deepEqual(
      (await keyRows()).map((row) => [row.destroyed_at !== null, row.endorsement !== null]),
      [
        [true, false],
        [true, true],
        [false, true],
      ],
    );
    assert.equal((await verification(service)).valid, true);
  });

  test('requested many times at once, one statement of it is stored', async () => {
    await replaceKey();
    const pages = await Promise.all(Array.from({ length: 5 }, shownKeys));
    const stored = await shownKeys();
    for (const keys of pages) assert.deepEqual(keys, stored);
    const rows = await keyRows();
    assert.deepEqual(
      rows.map((row) => row.destroyed_at !== null),
      rows.map((_, i) => i < rows.length - 1),
    );
  });

  test('a destroyed key’s row does not let in anybody else’s public key', async () => {
    const rows = await keyRows();
    const [destroyed] = rows;
    const live = rows.at(-1);
    assert.ok(destroyed !== undefined && live !== undefined);
    // A live key said to be destroyed, and a destroyed one said to be live, are none.
    await change(live.key_id, { destroyed_at: 1 });
    await assert.rejects(freshKeys().findPublic(SYSTEM_TENANT, live.key_id), UnsealError);
    await change(live.key_id, { destroyed_at: null });
    await change(destroyed.key_id, { destroyed_at: null });
    await assert.rejects(freshKeys().findPublic(SYSTEM_TENANT, destroyed.key_id), UnsealError);
    await change(destroyed.key_id, { destroyed_at: 1 });
    // Nor is another public key under the mark of a destroyed one.
    const { publicKey } = await freshKeys().newest(service.app.kernel.operatorTenantId, SIGNATURE_ALGORITHM);
    const key_id = keyIdOf(SIGNATURE_ALGORITHM, publicKey);
    await service.app.kernel.database.transaction(async (tx) => {
      await tx
        .insertInto('pqc_keys')
        .values({ ...destroyed, version: 99, key_id, public_key: publicKey })
        .execute();
    });
    await assert.rejects(freshKeys().findPublic(SYSTEM_TENANT, key_id), UnsealError);
    assert.ok(!(await shownKeys()).some((key: Answer['body']) => key.key_id === key_id));
  });

  if (database === 'sqlite') {
    test('leaves no trace of a destroyed private half in the files of the database', async () => {
      const before = (await keyRows()).find((row) => row.destroyed_at === null);
      assert.ok(before !== undefined);
      const part = Buffer.from(before.sealed_private).subarray(100, 164);
      const files = () =>
        ['coffer.db', 'coffer.db-wal']
          .map((name) => join(service.dataDir, name))
          .filter(existsSync)
          .some((file) => readFileSync(file).includes(part));
      assert.ok(files(), 'it was there');
      await replaceKey();
      await shownKeys();
      assert.ok(!files());
    });
  }
});

describe('a log that was tampered with, with checkpoints', () => {
  onBothDatabases('and', (database) => {
    interface Scene {
      service: Service;
      tenantId: string;
      /** What was signed, oldest first. */
      signed: Answer['body'][];
    }

    /** Three checkpoints with some entries between them and after, in a log that was whole. */
    async function scene(kind: DatabaseKind): Promise<Scene> {
      const service = await startService(kind);
      const signed: Answer['body'][] = [];
      for (let i = 0; i < 3; i++) {
        for (let n = 0; n < 3; n++) await ok(service.call('GET', '/v1/groups'));
        signed.push(await signNow(service));
      }
      await ok(service.call('GET', '/v1/groups'));
      assert.equal((await verification(service)).valid, true);
      return { service, tenantId: service.app.kernel.operatorTenantId, signed };
    }

    async function brokenAfter(tamper: (tx: Tx, scene: Scene) => Promise<unknown>) {
      const made = await scene(database);
      const { service } = made;
      await service.app.kernel.audit.link();
      await service.app.kernel.database.transaction((tx) => tamper(tx, made));
      const { valid, first_broken } = await verification(service);
      assert.equal(valid, false, 'the tampering was not found');
      await service.close();
      return { ...first_broken, signed: made.signed };
    }

    const change = (tx: Tx, tenantId: string, number: number, what: object) =>
      tx
        .updateTable('audit_checkpoints')
        .set(what)
        .where('tenant_id', '=', tenantId)
        .where('checkpoint_no', '=', number)
        .execute();
    const flipped = (bytes: Buffer, at: number) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    };

    test('a half of a signature was changed', async () => {
      for (const [at, half] of [
        [7, 'ML-DSA'],
        [3400, 'RSA-PSS'],
      ] as const) {
        const { seq, reason, signed } = await brokenAfter((tx, { tenantId, signed: all }) => {
          return change(tx, tenantId, 2, { signature: flipped(Buffer.from(all[1].signature, 'base64'), at) });
        });
        assert.deepEqual([seq, reason], [signed[1].seq, `the signature of checkpoint 2 does not hold (${half})`]);
      }
    });

    test('what a checkpoint says was changed', async () => {
      for (const what of [{ hash: Buffer.alloc(32, 1) }, { signed_at: 5 }]) {
        const { seq, reason, signed } = await brokenAfter((tx, { tenantId }) => change(tx, tenantId, 1, what));
        assert.equal(seq, signed[0].seq);
        assert.match(reason, /^the signature of checkpoint 1 does not hold/);
      }
    });

    test('a checkpoint was removed, exchanged with another, or is another tenant’s', async () => {
      const removed = await brokenAfter((tx, { tenantId }) =>
        tx.deleteFrom('audit_checkpoints').where('tenant_id', '=', tenantId).where('checkpoint_no', '=', 2).execute(),
      );
      assert.equal(removed.reason, 'checkpoint 2 was removed');
      const exchanged = await brokenAfter(async (tx, { tenantId }) => {
        await change(tx, tenantId, 1, { checkpoint_no: 9 });
        await change(tx, tenantId, 2, { checkpoint_no: 1 });
        await change(tx, tenantId, 9, { checkpoint_no: 2 });
      });
      assert.match(exchanged.reason, /^the signature of checkpoint 1 does not hold/);
    });

    test('a checkpoint was made by somebody else, with a key of theirs', async () => {
      const { reason } = await brokenAfter(async (tx, { tenantId, signed }) => {
        const own = generateKeyPairSync('ml-dsa-65').publicKey.export({ format: 'raw-public' });
        const key_id = signed[2].key_id.replace(/.$/, (digit: string) => (digit === '0' ? '1' : '0'));
        const row = await tx
          .selectFrom('pqc_keys')
          .selectAll()
          .where('tenant_id', '=', SYSTEM_TENANT)
          .executeTakeFirstOrThrow();
        const public_key = Buffer.concat([own, Buffer.from(row.public_key).subarray(own.length)]);
        await tx
          .insertInto('pqc_keys')
          .values({ ...row, version: 2, key_id, public_key })
          .execute();
        await change(tx, tenantId, 3, { key_id });
      });
      assert.equal(reason, 'checkpoint 3 is signed by an unknown key');
    });

    test('the log was cut back to an older head, which has a right seal', async () => {
      const made = await scene(database);
      const { service, tenantId } = made;
      const { kernel } = service.app;
      await kernel.audit.link();
      // Otherwise this node may find by itself that the log is shorter than it was.
      await kernel.heads.stopAnchoring(kernel.database);
      const head = await kernel.database.read
        .selectFrom('audit_heads')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .executeTakeFirstOrThrow();
      for (let n = 0; n < 3; n++) await ok(service.call('GET', '/v1/groups'));
      const last = await signNow(service);
      await kernel.audit.link();
      await kernel.database.transaction(async (tx) => {
        await tx
          .deleteFrom('audit_segments')
          .where('tenant_id', '=', tenantId)
          .where('first_seq', '>', head.seq)
          .execute();
        await tx
          .updateTable('audit_heads')
          .set({ seq: head.seq, hash: head.hash, mac: head.mac, key_version: head.key_version })
          .where('tenant_id', '=', tenantId)
          .execute();
      });
      const { valid, first_broken } = await verification(service);
      assert.equal(valid, false);
      assert.match(first_broken.reason, /checkpoint 4/);
      assert.ok(first_broken.seq <= last.seq);
      service.expectErrorLogs(/is behind its last checkpoint|has a head|fails verification/);
      service.clock.advance(HOUR_MS * 2);
      await runJobs(service);
      assert.equal((await stored(service, tenantId)).length, 4, 'such a log is not vouched for');
      await service.close();
    });

    test('the chain was rewritten from its first entry, with hashes that fit', async () => {
      const { seq, reason, signed } = await brokenAfter(async (tx, { tenantId }) => {
        const rows = await tx
          .selectFrom('audit_segments')
          .selectAll()
          .where('tenant_id', '=', tenantId)
          .where('first_seq', 'is not', null)
          .orderBy('first_seq')
          .execute();
        let head = { seq: 0, hash: Buffer.alloc(32) as Uint8Array };
        for (const [i, row] of rows.entries()) {
          const texts = textsOf(row).map((text) => (i === 0 ? text.replace('system', 'nobody') : text));
          const links = link(head, tenantId, texts);
          head = links.head;
          await tx
            .updateTable('audit_segments')
            .set({ entries: segmentText(texts), hashes: links.hashes })
            .where('tenant_id', '=', tenantId)
            .where('id', '=', row.id)
            .execute();
        }
        await tx.updateTable('audit_heads').set({ hash: head.hash }).where('tenant_id', '=', tenantId).execute();
      });
      // The node remembers a head within a second, perhaps the very one that was signed.
      const known = ['checkpoint 1 was signed for', 'this node knows'].map((by) => `the log is not the one that ${by}`);
      assert.deepEqual([seq, known.includes(String(reason))], [signed[0].seq, true], String(reason));
    });
  });
});

test('of two nodes one signs, once in each hour', async () => {
  const databaseUrl = await newPostgresDatabase();
  const a = await startService('postgres', { databaseUrl });
  const b = await startNodeBeside(a, databaseUrl);
  const tenants = [await addTenant(a), await addTenant(a)];
  // The round at the start, which may come late on a busy machine, is not to be one of those that are counted.
  await runJobs(a);
  const runs = async () => {
    const leases = a.app.kernel.database.read.selectFrom('job_leases').select('runs').where('job', '=', JOB);
    return (await leases.executeTakeFirstOrThrow()).runs;
  };
  const runsBefore = await runs();
  for (let hour = 1; hour <= 2; hour++) {
    for (const { owner } of tenants) await ok(a.call('GET', '/v1/groups', { token: owner.token }));
    for (const node of [a, b]) node.clock.advance(HOUR_MS + MINUTE_MS);
    await Promise.all([runJobs(a), runJobs(b)]);
    for (const { id } of tenants) assert.equal((await stored(a, id)).length, hour);
    assert.equal(await runs(), runsBefore + hour);
  }
  for (const { owner } of tenants) assert.equal((await verification(b, owner.token)).valid, true);
  await b.close();
  await a.close();
});
