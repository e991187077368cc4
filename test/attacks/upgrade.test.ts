import assert from 'node:assert/strict';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ANCHOR_FILE } from '../../server/src/kernel/audit/chain/anchor.ts';
import { StartError } from '../../server/src/kernel/base/data-folder.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { expectedOf, type Unpacked, unpack } from '../fixtures/unpack.ts';
import { type Attacker, attackerOf } from '../support/attacker.ts';
import { ok, refused } from '../support/people.ts';
import { runCoffer } from '../support/process.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

const RELEASE = '0.4.0';

/** What a writer of the database must not gain by the upgrade that authenticates rows. */
onBothDatabases('the upgrade to authenticated rows', (kind) => {
  const expected = expectedOf(RELEASE, kind);
  const token = String(expected.tokens['admin'] ?? Object.values(expected.tokens)[0]);
  let data: Unpacked;
  let attacker: Attacker;
  let service: Service | null = null;

  before(async () => {
    data = await unpack(RELEASE, kind);
    attacker = await attackerOf(kind, data as unknown as Service, data.databaseUrl);
  });
  after(async () => {
    await attacker.close();
    await service?.close();
    rmSync(data.dataDir, { recursive: true, force: true });
  });

  const start = ({ dataDir, databaseUrl }: Unpacked) =>
    startService(kind, {
      dataDir,
      keepData: true,
      at: expected.at + 1000,
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
  const command = (...args: string[]) => runCoffer(['server', ...args], data);

  test('takes no signing key of somebody else’s into its own', async () => {
    const [model] = await attacker.rows('signing_keys');
    const kid = newId('key');
    await attacker.insert('signing_keys', { ...model, kid });
    service = await start(data);
    service.expectErrorLogs(/a row was not written by the service|verification/);
    const { keys } = await ok(service.call('GET', '/.well-known/jwks.json'));
    assert.ok(!keys.some((key: { kid: string }) => key.kid === kid));
    const { rows } = await ok(service.call('GET', '/v1/audit/verify', { token }));
    assert.deepEqual(rows.problems, [{ table: 'signing_keys', row: kid, problem: 'forged' }]);
    await attacker.delete('signing_keys', { kid });
    await service.close();
    service = null;
  });

  test('happens once: rows whose MAC is removed are not authenticated again', async () => {
    const [user] = await attacker.rows('users', { role: 'member' });
    const tenant = await attacker.row('tenants', { tenant_id: user?.['tenant_id'] });
    await attacker.update('users', { user_id: user?.['user_id'] }, { role: 'owner', row_mac: null });
    await attacker.update('tenants', { tenant_id: user?.['tenant_id'] }, { row_mac: null });
    await attacker.delete('keys', { tenant_id: user?.['tenant_id'], purpose: 'rows' });
    const isOperator = Number(tenant['is_operator']) === 1;
    if (isOperator) await assert.rejects(start(data));
    else {
      service = await start(data);
      service.expectErrorLogs(/a row was not written by the service|verification/);
      await service.close();
      service = null;
    }
    assert.equal((await attacker.row('users', { user_id: user?.['user_id'] }))['row_mac'], null);
  });

  test('happens once, also for a node that was not there the first time', async () => {
    const first = await unpack(RELEASE, kind);
    const writer = await attackerOf(kind, first as unknown as Service, first.databaseUrl);
    const { tenant_id } = await writer.row('tenants', { is_operator: 1 });
    const before = await writer.rows('keys', { tenant_id, purpose: 'tenant' });
    const upgraded = await start(first);
    await ok(upgraded.call('GET', '/auth/me', { token }));
    await upgraded.close();

    for (const { version, wrapped, wrapped_by: wrapping_key } of before)
      await writer.update('keys', { tenant_id, purpose: 'tenant', version }, { wrapped, wrapping_key });
    await writer.delete('keys', { tenant_id, purpose: 'rows' });
    await writer.update('tenants', { tenant_id }, { row_mac: null });
    rmSync(join(first.dataDir, ANCHOR_FILE));
    await assert.rejects(start(first), (error: Error) => {
      return error instanceof StartError && /the rows were authenticated before/.test(error.message);
    });
    await writer.close();
    rmSync(first.dataDir, { recursive: true, force: true });
  });

  test('refuses a database of the earlier release beside what the node stored about the newer one', async () => {
    const older = await unpack(RELEASE, kind);
    assert.ok(existsSync(join(data.dataDir, ANCHOR_FILE)));
    copyFileSync(join(data.dataDir, ANCHOR_FILE), join(older.dataDir, ANCHOR_FILE));
    await assert.rejects(start(older), (error: Error) => {
      return error instanceof StartError && /older than before/.test(error.message);
    });
    rmSync(older.dataDir, { recursive: true, force: true });
  });

  test('trusts no rows of a tenant whose log was changed, until an operator says so', async () => {
    const tampered = await unpack(RELEASE, kind);
    const other = await attackerOf(kind, tampered as unknown as Service, tampered.databaseUrl);
    const operator = await other.row('tenants', { is_operator: 1 });
    const tenant_id = String(operator['tenant_id']);
    const [segment] = await other.rows('audit_segments', { tenant_id, first_seq: 1 });
    const entries = String(segment?.['entries']).replace('"allow"', '"deny"');
    await other.update('audit_segments', { tenant_id, id: segment?.['id'] }, { entries });
    await assert.rejects(start(tampered), (error: Error) => {
      return error instanceof StartError && /its rows are not trusted/.test(error.message);
    });
    const refusal = await runCoffer(['server', 'new-admin-token'], tampered);
    assert.deepEqual([refusal.code, /not trusted/.test(refusal.stderr)], [1, true]);
    const accepted = await runCoffer(['server', 'authenticate-rows', tenant_id], tampered);
    assert.deepEqual(
      [accepted.code, accepted.stdout],
      [0, `The rows of ${tenant_id} are accepted and authenticated.\n`],
      accepted.stderr,
    );
    service = await start(tampered);
    service.expectErrorLogs(/fails verification/);
    assert.equal((await service.call('GET', '/auth/me', { token })).status, 200);
    const { first_broken } = await ok(service.call('GET', '/v1/audit/verify', { token }));
    assert.equal(first_broken.seq, 1);
    const [told] = (await ok(service.call('GET', '/v1/audit?action=server:authenticate_rows', { token }))).entries;
    assert.match(told.details.history, /^entry 1: /);
    await refused(service.call('GET', '/auth/me', { token: 'cv_pat_none' }), 401, 'INVALID_TOKEN');
    await other.close();
    await service.close();
    service = null;
    rmSync(tampered.dataDir, { recursive: true, force: true });
  });

  test('says of a tenant that is not there, or not from before, that nothing is to be done', async () => {
    const { code, stdout } = await command('authenticate-rows', 'tenant_none');
    assert.ok(code === 1 || /no tenant tenant_none/.test(stdout));
  });
});
