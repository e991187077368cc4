import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { ForgedRowError } from '../../kernel/integrity/row-keys.ts';
import { MINUTE_MS } from '../../kernel/platform/clock.ts';
import type { RegionConfig } from '../../kernel/platform/config.ts';
import { type Operation, tagOf, valueText } from './crdt/operation.ts';
import { Directory, RefusedBatch, type SyncProblem } from './directory.ts';
import { findPrimary } from './directory-store.ts';
import { RegionIdentity } from './identity.ts';
import { PUSHED_AHEAD_MAX } from './schemas.ts';

onBothDatabases('the directory', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-directory-'));
  const file = (name: string) => join(folder, name);
  const conflicts: string[] = [];
  let service: Service;
  let eu: Directory;
  let us: RegionIdentity;
  let ap: RegionIdentity;
  let seq = 0;

  before(async () => {
    service = await startService(database);
    for (const name of ['eu', 'us', 'ap']) {
      const certificate = await testAuthority({ cn: name, isCa: false, keyUsage: null });
      writeFileSync(file(`${name}.pem`), certificate.pem);
      writeFileSync(file(`${name}.key`), await certificate.keyPem());
    }
    us = new RegionIdentity(configOf('us', []));
    ap = new RegionIdentity(configOf('ap', []));
    const { database: rows, clock } = service.app.kernel;
    const onConflict = (_: string, regions: readonly string[]) => void conflicts.push(regions.join());
    const identity = new RegionIdentity(configOf('eu', ['us']));
    eu = new Directory({ region: 'eu', database: rows, clock, identity, onConflict });
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  const configOf = (name: string, peers: string[]): RegionConfig => ({
    name,
    urls: {},
    peers: peers.map((peer) => ({ name: peer, certFile: file(`${peer}.pem`), syncUrl: '' })),
    certFile: file(`${name}.pem`),
    keyFile: file(`${name}.key`),
    leaseMs: 0,
  });
  const signed = (change: Partial<Operation> = {}, by = us): Operation => {
    seq++;
    const value = valueText('tenant', { name: `name-${seq}` });
    const plain = { origin: 'us', seq, ms: service.clock.now(), counter: 0, kind: 'tenant' as const, key: 'tenant_1' };
    return { ...by.sign({ ...plain, tag: '', isRemoved: false, value, ...change }) };
  };
  const refusedFor = (problem: SyncProblem, ...operations: Operation[]) =>
    assert.rejects(eu.merge(operations), (error) => error instanceof RefusedBatch && error.problem === problem);
  const state = async () => [await eu.digest(0), [...(await eu.vector())]];

  test('what a region did not sign, or that is malformed, changes nothing, and neither does the rest of its batch', async () => {
    const before = await state();
    const good = signed();
    await refusedFor('bad_signature', good, { ...signed(), value: valueText('tenant', { name: 'other' }) });
    await refusedFor('bad_signature', good, { ...signed(), signature: 'AAAA' });
    await refusedFor('bad_signature', good, { ...signed(), signature: 'no base64' });
    await refusedFor('bad_signature', good, signed({}, ap), good);
    await refusedFor('bad_signature', good, { ...good, seq: good.seq + 1000 });
    await refusedFor('unknown_origin', good, signed({ origin: 'ap' }, ap));
    await refusedFor('malformed', good, signed({ key: 'a b' }));
    await refusedFor('malformed', good, signed({ kind: 'password' as 'tenant' }));
    assert.deepEqual(await state(), before);
  });

  test('an operation is merged once, replayed without effect, and superseded by a later one', async () => {
    const first = signed();
    assert.deepEqual(await eu.merge([first]), ['merged']);
    const after = await state();
    assert.deepEqual(await eu.merge([first]), ['known']);
    assert.deepEqual(await state(), after);
    const later = signed({ ms: first.ms + 1 });
    assert.deepEqual(await eu.merge([later]), ['merged']);
    assert.deepEqual(await eu.merge([first]), ['superseded']);
    assert.equal(
      (await eu.cell(service.app.kernel.database.read, 'tenant', 'tenant_1'))?.value.name,
      JSON.parse(later.value).name,
    );
  });

  test('a clock that is ahead is refused, and accepted once the time has come', async () => {
    const earlier = signed({ key: 'tenant_3' });
    const ahead = signed({ ms: service.clock.now() + 5 * MINUTE_MS, key: 'tenant_2' });
    const read = () => eu.cell(service.app.kernel.database.read, 'tenant', 'tenant_2');
    await refusedFor('clock_ahead', ahead);
    assert.equal(await read(), null);
    assert.ok(((await eu.vector()).get('us') ?? 0) < ahead.seq);
    await refusedFor('clock_ahead', earlier, ahead);
    assert.notEqual(await eu.cell(service.app.kernel.database.read, 'tenant', 'tenant_3'), null);
    service.clock.advance(5 * MINUTE_MS);
    assert.deepEqual(await eu.merge([ahead]), ['merged']);
    assert.notEqual(await read(), null);
  });

  test('an operation that is pushed ahead of earlier ones hides none of them', async () => {
    const [earlier, pushed] = [signed({ key: 'tenant_4' }), signed({ key: 'tenant_5' })];
    const known = (await eu.vector()).get('us') ?? 0;
    assert.deepEqual(await eu.merge([pushed]), ['merged']);
    assert.equal((await eu.vector()).get('us') ?? 0, known, 'the earlier one is still to be pulled');
    const passedOn = (await eu.delta(new Map(), 1000)).operations;
    assert.ok(!passedOn.some(({ key }) => key === 'tenant_5'), 'nobody else gets it before the earlier one');
    assert.deepEqual(await eu.merge([earlier, pushed], new Map([['us', pushed.seq]])), ['merged', 'known']);
    assert.equal((await eu.vector()).get('us'), pushed.seq);
  });

  test('a promotion that is pushed ahead of earlier operations is passed on at once', async () => {
    const earlier = signed({ key: 'tenant_6' });
    const value = valueText('primary', { epoch: 1, previous: null });
    const pushed = signed({ kind: 'primary', key: 'tenant_6', value });
    await eu.merge([pushed]);
    const told = async (known: Map<string, number>) => (await eu.delta(known, 1000)).pushed.map(({ seq }) => seq);
    assert.deepEqual(await told(new Map()), [pushed.seq]);
    assert.deepEqual(await told(new Map([['us', pushed.seq - 1]])), [pushed.seq]);
    assert.deepEqual(await told(new Map([['us', pushed.seq]])), [], 'the other region has it');
    assert.deepEqual((await eu.delta(new Map(), 1)).pushed, [], 'with the last page only');
    await eu.merge([earlier, pushed], new Map([['us', pushed.seq]]));
    const { operations, pushed: left } = await eu.delta(new Map(), 1000);
    assert.ok(operations.some(({ seq }) => seq === pushed.seq));
    assert.deepEqual(left, []);
  });

  test('more promotions than a page has room for are not noted ahead of what was pulled', async () => {
    const value = valueText('primary', { epoch: 1, previous: null });
    const push = (n: number) => signed({ kind: 'primary', key: `tenant_p${n}`, value });
    const last = (await eu.vector()).get('us') ?? 0;
    await eu.merge(Array.from({ length: PUSHED_AHEAD_MAX }, (_, n) => push(n)));
    const beyond = push(PUSHED_AHEAD_MAX);
    await refusedFor('too_many_pushed', beyond);
    assert.equal((await eu.delta(new Map([['us', last]]), 1000)).pushed.length, PUSHED_AHEAD_MAX);
    await eu.merge([], new Map([['us', beyond.seq - 1]]));
    assert.deepEqual(await eu.merge([beyond]), ['merged']);
    await eu.merge([], new Map([['us', beyond.seq]]));
  });

  test('writes and merges at the same time lose nothing, and their numbers grow', async () => {
    const { database: rows } = service.app.kernel;
    const write = (n: number) =>
      rows.transaction((tx) => eu.write(tx, { kind: 'tenant', key: `tenant_w${n}`, value: { name: 'x' } }));
    const merge = (n: number) => eu.merge([signed({ key: `tenant_m${n}` })], new Map());
    await Promise.all(Array.from({ length: 10 }, (_, n) => [write(n), merge(n)]).flat());
    const { operations, isComplete } = await eu.delta(new Map(), 1000);
    assert.ok(isComplete);
    for (let n = 0; n < 10; n++) {
      for (const key of [`tenant_w${n}`, `tenant_m${n}`])
        assert.ok(
          operations.some((one) => one.key === key),
          key,
        );
    }
    assert.equal(new Set(operations.map(tagOf)).size, operations.length);
  });

  test('a transaction that is rolled back tells nobody anything', async () => {
    const before = await state();
    const { database: rows } = service.app.kernel;
    const failing = rows.transaction(async (tx) => {
      await eu.write(tx, { kind: 'tenant', key: 'tenant_never', value: { name: 'x' } });
      throw new TypeError('stop');
    });
    await assert.rejects(failing, TypeError);
    assert.deepEqual(await state(), before);
  });

  test('two regions with the same epoch are reported, and one of them stays', async () => {
    const { database: rows } = service.app.kernel;
    const value = { epoch: 7, previous: null };
    await rows.transaction((tx) => eu.write(tx, { kind: 'primary', key: 'tenant_c', value }));
    await eu.merge([signed({ kind: 'primary', key: 'tenant_c', value: valueText('primary', value) })]);
    assert.deepEqual(conflicts, ['eu,us']);
    assert.equal((await eu.cell(rows.read, 'primary', 'tenant_c'))?.origin, 'us');
  });

  test('whoever writes to the database cannot move a tenant', async () => {
    const { database: rows } = service.app.kernel;
    const operation = signed({
      kind: 'primary',
      key: 'tenant_f',
      value: valueText('primary', { epoch: 1, previous: null }),
    });
    await eu.merge([operation]);
    service.expectErrorLogs(/was not written by the service/);
    await rows.transaction(async (tx) => {
      await sql`update region_cells set origin = 'ap' where cell_key = 'tenant_f'`.execute(tx);
    });
    await assert.rejects(findPrimary(rows.read, 'tenant_f'), ForgedRowError);
    assert.deepEqual(await eu.merge([operation]), ['merged'], 'what was signed takes its place again');
    assert.equal((await eu.cell(rows.read, 'primary', 'tenant_f'))?.origin, 'us');
  });
});
