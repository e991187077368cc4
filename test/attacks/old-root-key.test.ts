import assert from 'node:assert/strict';
import { createPrivateKey, createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SignJWT } from 'jose';
import { TOKENS, type TokenRow } from '../../server/src/features/tokens/storage/token-store.ts';
import { headRow } from '../../server/src/kernel/audit/chain/heads.ts';
import { DAY_MS, MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { sha256 } from '../../server/src/kernel/crypto/digest.ts';
import { macKeyOf } from '../../server/src/kernel/crypto/mac-key.ts';
import { type SealedLocation, UnsealError, unseal } from '../../server/src/kernel/crypto/sealing.ts';
import { keyPlace, tenantKeyPlace } from '../../server/src/kernel/keys/key-wrapping.ts';
import type { Reader } from '../../server/src/kernel/storage/database.ts';
import { type SigningKeysTable, SYSTEM_TENANT, type Tables } from '../../server/src/kernel/storage/tables.ts';
import { loadConfig, rekey } from '../../server/src/operator/index.ts';
import { ok } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { newDataDir } from '../support/process.ts';
import { behindItsBack } from '../support/rows.ts';
import { type DatabaseKind, onBothDatabases, type Service, startService } from '../support/service.ts';
import { readValue, runJobs } from '../support/vaults.ts';

const NEVER_AFTER = 'written after the rekey';
const REFUSED_ROW = /was not written by the service or was changed outside it/;

/** Somebody who had the root key and a copy of the database, and opens whatever these open. */
class Thief {
  readonly keys: Tables['keys'][];
  readonly signing: SigningKeysTable[];
  readonly #root: KeyObject;

  private constructor(root: KeyObject, keys: Tables['keys'][], signing: SigningKeysTable[]) {
    this.#root = root;
    this.keys = keys;
    this.signing = signing;
  }

  static async copying(dataDir: string, db: Reader): Promise<Thief> {
    const root = createSecretKey(Buffer.from(readFileSync(join(dataDir, 'root.key'), 'utf8').trim(), 'base64'));
    const signing = await db.selectFrom('signing_keys').selectAll().execute();
    return new Thief(root, await db.selectFrom('keys').selectAll().execute(), signing as never);
  }

  /** Of a key that was in the copy, or that is in another one. */
  open(row: Tables['keys']): KeyObject | null {
    const { tenant_id, purpose, version } = row;
    if (purpose === 'tenant') return opened(this.#root, tenantKeyPlace(tenant_id, version), row.wrapped);
    for (const tenantKey of this.keys.filter((one) => one.tenant_id === tenant_id && one.purpose === 'tenant')) {
      const by = this.open(tenantKey);
      const key = by && opened(by, keyPlace(tenant_id, purpose, version), row.wrapped);
      if (key) return key;
    }
    return null;
  }

  key(tenantId: string, purpose: string): KeyObject {
    const row = this.keys.findLast((one) => one.tenant_id === tenantId && one.purpose === purpose);
    const key = row && this.open(row);
    assert.ok(key, `the copy had a key for ${purpose}`);
    return key;
  }

  /** By any key of the tenant that was in the copy. */
  openValue(place: SealedLocation, sealed: Uint8Array): string | null {
    for (const row of this.keys.filter((one) => one.tenant_id === place.tenantId)) {
      const key = this.open(row);
      const value = key && opened(key, place, sealed);
      if (value) return value.export().toString('utf8');
    }
    return null;
  }
}

function opened(by: KeyObject, place: SealedLocation, sealed: Uint8Array): KeyObject | null {
  try {
    return createSecretKey(unseal(by, place, sealed));
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}

onBothDatabases('with the root key from before a rekey and a copy of the database nobody', (kind) => {
  let service: Service;
  let thief: Thief;
  let tenantId: string;
  let dataDir: string;
  let oldToken: TokenRow;
  let wrappedBefore: object;
  let rootBefore: string;

  let place: { dataDir: string; databaseUrl?: string };
  let isClosed = false;

  before(async () => {
    place = await newPlace(kind);
    dataDir = place.dataDir;
    const old = await startService(kind, { ...place, keepData: true });
    const db = old.app.kernel.database.read;
    tenantId = old.app.kernel.operatorTenantId;
    await made(old, 'POST', '/v1/vaults', { name: 'old', environment: 'staging' });
    await made(old, 'POST', '/v1/vaults/old/secrets', { path: 'before', value: 'written before the rekey' });
    await made(old, 'POST', '/eaas/keys', { name: 'orders' });
    wrappedBefore = await made(old, 'POST', '/pqc/hybrid-classical/wrap', {
      algorithm: 'ecdh-p256+ml-kem-768',
      key: Buffer.alloc(32, 7).toString('base64'),
    });
    rootBefore = (await old.call('GET', '/pki/root.pem', { token: null })).text;
    oldToken = (await db.selectFrom('tokens').selectAll().executeTakeFirstOrThrow()) as never;
    thief = await Thief.copying(dataDir, db);
    await old.close();
    const where = place.databaseUrl === undefined ? {} : { CV_DATABASE_URL: place.databaseUrl };
    await rekey(loadConfig({ CV_DATA_DIR: dataDir, ...where }));
    service = await startService(kind, { ...place, keepData: true });
    service.expectErrorLogs(REFUSED_ROW);
  });
  after(async () => {
    if (!isClosed) await service.close();
  });

  /** Without the memory of a running node. */
  const restart = async () => {
    await service.close();
    service = await startService(kind, { ...place, keepData: true });
    service.expectErrorLogs(REFUSED_ROW);
  };

  const db = () => service.app.kernel.database.read;
  const secretRow = async (path: string) =>
    db().selectFrom('secrets').selectAll().where('path', '=', path).executeTakeFirstOrThrow();
  const valueByThief = async (path: string) => {
    const { secret_id, sealed_version, sealed } = await secretRow(path);
    return thief.openValue({ tenantId, table: 'secret_versions', row: secret_id, version: sealed_version }, sealed);
  };
  const me = (token: string) => service.call('GET', '/auth/me', { token });

  test('opens a key that is used after it', async () => {
    await made(service, 'POST', '/v1/vaults', { name: 'new', environment: 'staging' });
    await made(service, 'POST', '/v1/vaults/new/secrets', { path: 'in-new', value: NEVER_AFTER });
    const rows = await db().selectFrom('keys').selectAll().execute();
    assert.ok(rows.length > thief.keys.length / 2);
    for (const row of rows) assert.equal(thief.open(row), null, `${row.purpose} ${row.version}`);
    const newestNow = (purpose: string) => rows.findLast((row) => row.purpose === purpose)?.version ?? 0;
    for (const { purpose, version, tenant_id } of thief.keys) {
      if (rows.some((row) => row.purpose === purpose && row.tenant_id === tenant_id))
        assert.ok(newestNow(purpose) > version, `${purpose} has no new version`);
    }
  });

  test('reads a secret that was written after it, also in a vault from before', async () => {
    await made(service, 'POST', '/v1/vaults/old/secrets', { path: 'in-old', value: NEVER_AFTER });
    assert.equal(await valueByThief('before'), 'written before the rekey', 'what they could open they can');
    assert.equal(await valueByThief('in-old'), null);
    assert.equal(await valueByThief('in-new'), null);
    for (const path of ['before', 'in-old']) {
      assert.equal((await service.call('GET', `/v1/vaults/old/secrets/${path}`)).status, 200);
    }
  });

  test('has the key by which equal values are found after it', async () => {
    const versions = async () => {
      const rows = await db().selectFrom('secrets').select(['path', 'fingerprint_version']).execute();
      return Object.fromEntries(rows.map((row) => [row.path, row.fingerprint_version]));
    };
    assert.deepEqual(await versions(), { before: -1, 'in-new': -2, 'in-old': -2 });
    // Until the job has renewed it, a fingerprint from before is compared by the key that made it.
    const value = await readValue(service, 'old', 'before');
    const { known } = await ok(service.call('POST', '/v1/secrets/known', { body: { values: [value, 'unknown'] } }));
    assert.deepEqual(
      known.map(({ index, secrets_total }: { index: number; secrets_total: number }) => [index, secrets_total]),
      [[0, 1]],
    );
    service.clock.advance(10 * MINUTE_MS);
    await runJobs(service);
    assert.deepEqual(await versions(), { before: -2, 'in-new': -2, 'in-old': -2 });
  });

  test('knows the version of an encryption key that encrypts after it', async () => {
    const key = await service.call('GET', '/eaas/keys/orders');
    assert.deepEqual([key.body.latest_version, key.body.versions.length], [2, 2]);
    assert.equal((await made(service, 'POST', '/eaas/keys/orders/encrypt', { plaintext: 'x' })).version, 2);
  });

  test('has the private key that things are wrapped to after it, or can put it back in use', async () => {
    const algorithm = 'ecdh-p256+ml-kem-768';
    const wrap = () =>
      made(service, 'POST', '/pqc/hybrid-classical/wrap', { algorithm, key: Buffer.alloc(32).toString('base64') });
    const { key_id } = wrappedBefore as { key_id: string };
    assert.notEqual((await wrap()).key_id, key_id);
    assert.equal((await service.call('POST', '/pqc/hybrid-classical/unwrap', { body: wrappedBefore })).status, 200);
    await behindItsBack(service.app.kernel.database, (tx) =>
      tx.updateTable('pqc_keys').set({ retired_at: null }).where('key_id', '=', key_id).execute(),
    );
    await behindItsBack(service.app.kernel.database, (tx) =>
      tx.deleteFrom('pqc_keys').where('algorithm', '=', algorithm).where('key_id', '!=', key_id).execute(),
    );
    const place = { tenantId, table: 'pqc_keys', row: key_id, version: 1 };
    const row = await db().selectFrom('pqc_keys').selectAll().where('key_id', '=', key_id).executeTakeFirstOrThrow();
    await assert.rejects(service.app.kernel.keyring.unseal('pqc', place, row.sealed_private), UnsealError);
  });

  test('has the key of the authority that signs certificates after it', async () => {
    const now = (await service.call('GET', '/pki/root.pem', { token: null })).text;
    const count = (pem: string) => pem.split('BEGIN CERTIFICATE').length - 1;
    assert.deepEqual([count(rootBefore), count(now)], [1, 2]);
    assert.ok(!now.startsWith(rootBefore.trim()), 'the newest one comes first');
  });

  test('brings a key from before into use again by removing newer ones', async () => {
    const { vault_id } = await db()
      .selectFrom('vaults')
      .selectAll()
      .where('name', '=', 'old')
      .executeTakeFirstOrThrow();
    const purposes = thief.keys.map(({ purpose }) => purpose).filter((purpose) => purpose.includes(vault_id));
    assert.equal(purposes.length, 1);
    await behindItsBack(service.app.kernel.database, (tx) =>
      tx.deleteFrom('keys').where('purpose', '=', purposes[0]).where('version', '>', 1).execute(),
    );
    await restart();
    await made(service, 'POST', '/v1/vaults/old/secrets', { path: 'sealed-again', value: NEVER_AFTER });
    assert.equal(await valueByThief('sealed-again'), null);
    assert.equal(await valueByThief('before'), 'written before the rekey');
  });

  test('can write a token again from its row, or forge one', async () => {
    assert.equal((await me(service.adminToken)).status, 200, 'the token from before is good');
    const signing = thief.signing.at(-1);
    assert.ok(signing);
    const place = { tenantId: SYSTEM_TENANT, table: 'signing_keys', row: signing.kid };
    const der = unseal(thief.key(SYSTEM_TENANT, 'signing'), place, signing.sealed_private);
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const claims = JSON.parse(Buffer.from(service.adminToken.split('.')[1] ?? '', 'base64url').toString());
    const { salt, ...known } = claims;
    assert.equal(typeof salt, 'string');
    const sign = async (payload: object) =>
      `cv_pat_${await new SignJWT({ ...payload }).setProtectedHeader({ alg: 'EdDSA', kid: signing.kid, typ: 'JWT' }).sign(privateKey)}`;
    assert.equal(await sign(claims), service.adminToken, 'with the salt, which is stored nowhere, it is the same');
    assert.equal((await me(await sign(known))).status, 401);

    const forged = await sign({ ...known, jti: 'token_forged' });
    const row = { ...oldToken, token_id: 'token_forged', token_hash: sha256(forged) };
    const row_mac = TOKENS.mac(macKeyOf(thief.key(tenantId, 'rows'), 1), row);
    const insert = (more: object) =>
      behindItsBack(service.app.kernel.database, async (tx) => {
        await tx
          .insertInto('tokens')
          .values({ ...row, ...more })
          .execute();
      });
    await insert({ row_mac });
    assert.equal((await me(forged)).status, 500, 'a forged row is refused');

    // And with the keys from before put back beside the new ones.
    const missing = thief.keys.filter(
      ({ tenant_id, purpose }) => tenant_id === tenantId && ['rows', 'tenant'].includes(purpose),
    );
    await behindItsBack(service.app.kernel.database, (tx) => tx.insertInto('keys').values(missing).execute());
    assert.notEqual((await me(forged)).status, 200);
    const again = await service.call('GET', '/v1/audit/verify');
    assert.match(JSON.stringify(again.body), /token_forged/);
  });

  test('passes for the head of the log', async () => {
    const head = await db()
      .selectFrom('audit_heads')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .executeTakeFirstOrThrow();
    const old = thief.keys.findLast((row) => row.purpose === 'audit-head' && row.tenant_id === tenantId);
    assert.ok(old);
    const forged = headRow(tenantId, head, macKeyOf(thief.key(tenantId, 'audit-head'), old.version));
    const write = ({ tenant_id: _, ...change }: Tables['audit_heads']) =>
      behindItsBack(service.app.kernel.database, (tx) =>
        tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute(),
      );
    await write(forged);
    const { body } = await service.call('GET', '/v1/audit/verify');
    assert.equal(body.valid, false);
    await write(head);
  });

  test('lets the authority from before sign again by removing the newer one', async () => {
    await behindItsBack(service.app.kernel.database, (tx) =>
      tx.deleteFrom('certificate_authorities').where('tenant_id', '=', SYSTEM_TENANT).where('ca_no', '>', 1).execute(),
    );
    const not_after = service.clock.now() + 3000 * DAY_MS;
    await behindItsBack(service.app.kernel.database, (tx) =>
      tx.updateTable('certificate_authorities').set({ not_after }).where('tenant_id', '=', SYSTEM_TENANT).execute(),
    );
    await service.close();
    isClosed = true;
    await assert.rejects(startService(kind, { ...place, keepData: true }), UnsealError);
  });
});

async function newPlace(kind: DatabaseKind): Promise<{ dataDir: string; databaseUrl?: string }> {
  const dataDir = newDataDir();
  return kind === 'postgres' ? { dataDir, databaseUrl: await newPostgresDatabase() } : { dataDir };
}

async function made(service: Service, method: string, path: string, body: object) {
  const answer = await service.call(method, path, { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}
