import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { before, test } from 'node:test';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { UnsealError } from '../../server/src/kernel/crypto/sealing.ts';
import {
  KEY_AGE_MAX_MS,
  KEY_USES_MAX,
  Keyring,
  USES_BLOCK_MAX,
  USES_BLOCK_MIN,
} from '../../server/src/kernel/keys/keyring.ts';
import { lockKeys, RekeyedTenant } from '../../server/src/kernel/keys/rekeying.ts';
import type { Database } from '../../server/src/kernel/storage/database.ts';
import { openDatabase } from '../support/database.ts';
import { onBothDatabases, TestClock } from '../support/service.ts';

const rootKey = () => {
  const bytes = randomBytes(32);
  return { id: bytes.toString('hex').slice(0, 8), key: createSecretKey(bytes) };
};

onBothDatabases('keyring', (kind) => {
  const root = rootKey();
  const clock = new TestClock();
  let db: Database;
  let keyring: Keyring;
  let tenants = 0;

  before(async () => {
    db = await openDatabase(kind);
    keyring = new Keyring(db, root, clock);
  });

  const newTenant = async () => {
    const tenantId = `tenant_${++tenants}`;
    await db.transaction((tx) => keyring.createTenantKey(tx, tenantId));
    return tenantId;
  };
  const place = (tenantId: string) => ({ tenantId, table: 't', row: 'r' });
  const text = Buffer.from('a secret');
  const versions = async (tenantId: string) => {
    const rows = await db.read
      .selectFrom('keys')
      .select(['version', 'uses'])
      .where('tenant_id', '=', tenantId)
      .where('purpose', '=', 'p')
      .orderBy('version')
      .execute();
    return rows.map(({ version, uses }) => ({ version, uses }));
  };
  const setUses = (tenantId: string, uses: number) =>
    db.transaction(async (tx) => {
      await tx.updateTable('keys').set({ uses }).where('tenant_id', '=', tenantId).where('purpose', '=', 'p').execute();
    });

  test('another node with the same root key opens what this one sealed', async () => {
    const tenantId = await newTenant();
    const sealed = await keyring.seal('p', place(tenantId), text);
    assert.deepEqual(await new Keyring(db, root, clock).unseal('p', place(tenantId), sealed), text);
  });

  test('another tenant, purpose or root key does not', async () => {
    const [a, b] = [await newTenant(), await newTenant()];
    const sealed = await keyring.seal('p', place(a), text);
    await keyring.seal('p', place(b), text);
    await keyring.seal('q', place(a), text);
    await assert.rejects(keyring.unseal('p', place(b), sealed), UnsealError);
    await assert.rejects(keyring.unseal('q', place(a), sealed), UnsealError);
    await assert.rejects(new Keyring(db, rootKey(), clock).unseal('p', place(a), sealed), UnsealError);
  });

  test('wrapped keys swapped between tenants or versions do not open', async () => {
    const [a, b] = [await newTenant(), await newTenant()];
    const sealed = await keyring.seal('p', place(a), text);
    await keyring.seal('p', place(b), text);
    const wrapped = async (tenantId: string) =>
      db.read
        .selectFrom('keys')
        .select('wrapped')
        .where('tenant_id', '=', tenantId)
        .where('purpose', '=', 'p')
        .executeTakeFirstOrThrow();
    const foreign = await wrapped(b);
    await db.transaction(async (tx) => {
      await tx.updateTable('keys').set(foreign).where('tenant_id', '=', a).where('purpose', '=', 'p').execute();
    });
    await assert.rejects(new Keyring(db, root, clock).unseal('p', place(a), sealed), UnsealError);
  });

  test('keys rotate by age; old versions open, the newest seals', async () => {
    const tenantId = await newTenant();
    const old = await keyring.seal('p', place(tenantId), text);
    clock.advance(KEY_AGE_MAX_MS + DAY_MS);
    const fresh = await keyring.seal('p', place(tenantId), text);
    assert.deepEqual([old.readUInt32BE(1), fresh.readUInt32BE(1)], [1, 2]);
    assert.deepEqual(await keyring.unseal('p', place(tenantId), old), text);
    assert.deepEqual(await keyring.unseal('p', place(tenantId), fresh), text);
  });

  test('keys rotate long before their uses run out, counted across nodes and restarts', async () => {
    const tenantId = await newTenant();
    await keyring.seal('p', place(tenantId), text);
    await setUses(tenantId, KEY_USES_MAX);
    const sealed = await new Keyring(db, root, clock).seal('p', place(tenantId), text);
    assert.equal(sealed.readUInt32BE(1), 2);
    assert.ok(
      (await versions(tenantId)).every((row) => row.uses > 0),
      'uses are reserved before they happen',
    );
  });

  test('many first uses at once make one version', async () => {
    const tenantId = await newTenant();
    const nodes = Array.from({ length: 8 }, () => new Keyring(db, root, clock));
    const sealed = await Promise.all(nodes.map((node) => node.seal('p', place(tenantId), text)));
    assert.equal((await versions(tenantId)).length, 1);
    for (const value of sealed) assert.deepEqual(await keyring.unseal('p', place(tenantId), value), text);
  });

  test('a start reserves little, and a busy key ever larger blocks', async () => {
    const tenantId = await newTenant();
    for (let start = 1; start <= 3; start++) {
      const node = new Keyring(db, root, clock);
      await Promise.all(Array.from({ length: 20 }, () => node.seal('p', place(tenantId), text)));
      assert.deepEqual(await versions(tenantId), [{ version: 1, uses: start * USES_BLOCK_MIN }]);
    }
    await setUses(tenantId, 0);
    const node = new Keyring(db, root, clock);
    const reserved: number[] = [];
    for (let before = 0; reserved.at(-1) !== USES_BLOCK_MAX; ) {
      const key = await node.sealingKey(tenantId, 'p');
      const [row] = await versions(tenantId);
      const block = Number(row?.uses) - before;
      before = Number(row?.uses);
      reserved.push(block);
      if (block < USES_BLOCK_MAX) for (let use = 0; use < block; use++) key.seal(place(tenantId), text);
    }
    assert.deepEqual(
      reserved,
      [10, 12, 14, 16, 18, 20].map((bits) => 2 ** bits),
    );
  });

  test('what one transaction seals beyond its block is counted with the next', async () => {
    const tenantId = await newTenant();
    const node = new Keyring(db, root, clock);
    const key = await node.sealingKey(tenantId, 'p');
    for (let use = 0; use < USES_BLOCK_MIN + 500; use++) key.seal(place(tenantId), text);
    await node.sealingKey(tenantId, 'p');
    assert.deepEqual(await versions(tenantId), [{ version: 1, uses: USES_BLOCK_MIN + 500 + 4 * USES_BLOCK_MIN }]);
  });

  test('a key that makes MACs is never used up, however often the service starts', async () => {
    const tenantId = await newTenant();
    const first = await keyring.macKey(tenantId, 'p', Number.POSITIVE_INFINITY);
    for (let start = 0; start < 5; start++) {
      await new Keyring(db, root, clock).macKey(tenantId, 'p', Number.POSITIVE_INFINITY);
    }
    assert.deepEqual(await versions(tenantId), [{ version: 1, uses: 0 }], 'nothing is reserved');
    // As older releases left it after 1,024 starts.
    await setUses(tenantId, KEY_USES_MAX);
    clock.advance(10 * KEY_AGE_MAX_MS);
    const later = await new Keyring(db, root, clock).macKey(tenantId, 'p', Number.POSITIVE_INFINITY);
    assert.deepEqual([later.version, later.mac(text)], [1, first.mac(text)]);
  });

  test('a key that makes MACs rotates by age where that is wanted, and what it made before stays good', async () => {
    const tenantId = await newTenant();
    const old = await keyring.macKey(tenantId, 'p');
    const mac = old.mac(text);
    clock.advance(KEY_AGE_MAX_MS + DAY_MS);
    assert.deepEqual([old.version, (await keyring.macKey(tenantId, 'p')).version], [1, 2]);
    assert.ok(await keyring.verifyMac(tenantId, { purpose: 'p', version: 1 }, text, mac));
    assert.ok(!(await keyring.verifyMac(tenantId, { purpose: 'p', version: 2 }, text, mac)));
  });

  const rekeyed = (tenantId: string, from: typeof root, to: typeof root) =>
    db.transaction(async (tx) => {
      assert.ok((await lockKeys(tx)).includes(tenantId));
      return RekeyedTenant.replace(tx, tenantId, { from, to, now: clock.now(), ended: ['ended'] });
    });

  test('a new root key opens what was sealed, and seals with keys that the old one does not open', async () => {
    const tenantId = await newTenant();
    const sealed = await keyring.seal('p', place(tenantId), text);
    const ended = await keyring.seal('ended', place(tenantId), text);
    const next = rootKey();
    const keys = await rekeyed(tenantId, root, next);
    assert.deepEqual([keys.count, keys.newVersion('p')], [2, 2]);
    assert.deepEqual(keys.unseal('p', place(tenantId), sealed), text);
    const after = new Keyring(db, next, clock);
    assert.deepEqual(await after.unseal('p', place(tenantId), sealed), text);
    const sealedAfter = await after.seal('p', place(tenantId), text);
    assert.deepEqual(await after.unseal('p', place(tenantId), keys.seal('p', place(tenantId), text)), text);
    for (const one of [sealed, sealedAfter]) {
      await assert.rejects(new Keyring(db, root, clock).unseal('p', place(tenantId), one), UnsealError);
    }
    // With the keys of before still in memory, as somebody has them who stole a copy.
    await assert.rejects(keyring.unseal('p', place(tenantId), sealedAfter), UnsealError);
    const tenantKeys = await db.read
      .selectFrom('keys')
      .select('version')
      .where('tenant_id', '=', tenantId)
      .where('purpose', '=', 'tenant')
      .execute();
    assert.deepEqual(
      tenantKeys.map(({ version }) => version),
      [2],
    );
    assert.deepEqual(keys.unseal('ended', place(tenantId), ended), text);
    await assert.rejects(after.unseal('ended', place(tenantId), ended), UnsealError);
  });

  test('keys that somebody added are left out of a rekey, and do not pass for the newest after it', async () => {
    const tenantId = await newTenant();
    const sealed = await keyring.seal('p', place(tenantId), text);
    const junk = { tenant_id: tenantId, wrapped: randomBytes(65), wrapping_key: 'tenant:1', uses: 0, created_at: 0 };
    await db.transaction(async (tx) => {
      for (const purpose of ['p', 'tenant']) {
        await tx
          .insertInto('keys')
          .values({ ...junk, purpose, version: 9 })
          .execute();
      }
    });
    const next = rootKey();
    assert.equal((await rekeyed(tenantId, root, next)).count, 1);
    const after = new Keyring(db, next, clock);
    assert.deepEqual(await after.unseal('p', place(tenantId), sealed), text);
    assert.equal((await after.sealingKey(tenantId, 'p')).version, 10);
  });

  test('a tenant whose own key does not open stops a rekey, which changes nothing', async () => {
    const tenantId = await newTenant();
    await assert.rejects(rekeyed(tenantId, rootKey(), root), /^StartError: The key of tenant_\d+ cannot be decrypted/);
    assert.ok(await new Keyring(db, root, clock).sealingKey(tenantId, 'p'));
  });

  test('a MAC is good for its key and data alone', async () => {
    const tenantId = await newTenant();
    const key = await keyring.macKey(tenantId, 'p');
    const mac = key.mac(text);
    assert.ok(await keyring.verifyMac(tenantId, { purpose: 'p', version: key.version }, text, mac));
    assert.ok(
      !(await keyring.verifyMac(tenantId, { purpose: 'p', version: key.version }, Buffer.from('another'), mac)),
    );
    assert.ok(!(await keyring.verifyMac(tenantId, { purpose: 'p', version: key.version }, text, mac.subarray(1))));
  });
});
