import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { ForgedRowError } from '../../kernel/storage/row-keys.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { RefusedBatch, type SyncProblem } from './acceptance.ts';
import { EXPIRED_RETENTION_MS } from './crdt/merge.ts';
import { type Operation, tagOf, valueText } from './crdt/operation.ts';
import { Directory } from './directory.ts';
import { deleteExpiredCells, findCells, findPrimary } from './directory-store.ts';
import { RegionIdentity } from './identity.ts';
import { PUSHED_AHEAD_MAX } from './schemas.ts';
import type { RegionConfig } from './settings.ts';

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
    for (const name of ['eu', 'us', 'ap', 'sa', 'sa-new']) {
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
  /** A page that us sends. */
  const pull = (operations: Operation[], seq: number | null) => eu.mergePage('us', { operations, pushed: [] }, seq);
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

  const name = async (key: string) =>
    (await eu.cell(service.app.kernel.database.read, 'tenant', key))?.value.name ?? null;

  test('a clock that is ahead is refused, and accepted once the time has come', async () => {
    const earlier = signed({ key: 'tenant_3' });
    const ahead = signed({ ms: service.clock.now() + 5 * MINUTE_MS, key: 'tenant_2' });
    await refusedFor('clock_ahead', ahead);
    await refusedFor('clock_ahead', earlier, ahead);
    assert.deepEqual([await name('tenant_2'), await name('tenant_3')], [null, null]);
    const { held, problem } = await pull([earlier, ahead], ahead.seq);
    assert.deepEqual([[...held], problem?.problem], [['us'], 'clock_ahead']);
    assert.notEqual(await name('tenant_3'), null, 'what was written before is accepted');
    assert.equal(await name('tenant_2'), null);
    assert.equal((await eu.vector()).get('us'), earlier.seq);
    service.clock.advance(5 * MINUTE_MS);
    assert.deepEqual(await eu.merge([ahead]), ['merged']);
    assert.notEqual(await name('tenant_2'), null);
  });

  test('what a region passes on of others does not keep this one from the rest', async () => {
    const sa = new RegionIdentity(configOf('sa', []));
    const { database: rows, clock } = service.app.kernel;
    const identity = new RegionIdentity(configOf('eu', ['us', 'ap']));
    const three = new Directory({ region: 'eu', database: rows, clock, identity, onConflict: () => {} });
    const bySa = signed({ origin: 'sa', key: 'tenant_sa' }, sa);
    const byAp = (change: Partial<Operation>) => signed({ origin: 'ap', ...change }, ap);
    const value = valueText('primary', { epoch: 1, previous: null });
    const late = byAp({ key: 'tenant_late', ms: service.clock.now() + 2 * MINUTE_MS });
    const later = byAp({ key: 'tenant_later' });
    const promoted = byAp({ kind: 'primary', key: 'tenant_promoted', value });
    const own = signed({ key: 'tenant_own' });
    const page = (...operations: Operation[]) => three.mergePage('us', { operations, pushed: [bySa] }, own.seq);

    const { held, problem } = await page(late, later, promoted, own, bySa);
    assert.deepEqual([[...held], problem], [['ap'], null], 'the clock of ap is not the fault of us');
    assert.notEqual(await name('tenant_own'), null);
    assert.deepEqual([await name('tenant_late'), await name('tenant_later')], [null, null]);
    assert.equal(await name('tenant_sa'), null, 'a region that is not configured has no say');
    assert.equal((await three.cell(rows.read, 'primary', 'tenant_promoted'))?.origin, 'ap');
    assert.equal((await three.vector()).get('ap') ?? 0, 0, 'what was left out is still to be pulled');

    const next = byAp({ key: 'tenant_next' });
    const again = await three.mergePage('us', { operations: [next], pushed: [] }, own.seq, held);
    assert.deepEqual([[...again.held], await name('tenant_next')], [['ap'], null], 'in the next page neither');
    assert.equal((await three.vector()).get('ap') ?? 0, 0);

    const unsigned = { ...byAp({ key: 'tenant_u' }), signature: 'AAAA' };
    assert.deepEqual(await page(unsigned), { held: new Set(['ap']), problem: null });
    const lost = await page({ ...byAp({ kind: 'primary', key: 'tenant_u', value }), signature: 'AAAA' });
    assert.equal(lost.problem?.problem, 'bad_signature', 'without a promotion nothing can be relied on');
    const ahead = byAp({ kind: 'primary', key: 'tenant_v', value, ms: service.clock.now() + 2 * MINUTE_MS });
    assert.equal((await page(ahead)).problem?.problem, 'clock_ahead');
    const isBadSignature = (error: Error) => error instanceof RefusedBatch && error.problem === 'bad_signature';
    await assert.rejects(page({ ...signed({ key: 'tenant_u' }), signature: 'AAAA' }), isBadSignature);
  });

  test('a region that changes its key signs everything again', async () => {
    const { database: rows, clock } = service.app.kernel;
    const open = (key: string) => {
      const identity = new RegionIdentity({
        ...configOf('sa', []),
        certFile: file(`${key}.pem`),
        keyFile: file(`${key}.key`),
      });
      return {
        identity,
        directory: new Directory({ region: 'sa', database: rows, clock, identity, onConflict: () => {} }),
      };
    };
    const [old, renewed] = [open('sa'), open('sa-new')];
    const publicKey = { issuer: 'urn:x', jwk: '{}', verifies_until: service.clock.now() };
    await rows.transaction(async (tx) => {
      await old.directory.write(tx, { kind: 'primary', key: 'tenant_sa', value: { epoch: 3, previous: 'eu' } });
      await old.directory.write(tx, { kind: 'public_key', key: 'kid_sa', value: publicKey });
      await old.directory.write(tx, { kind: 'tenant', key: 'tenant_forged', value: { name: 'x' } });
      await sql`update region_cells set value = '{"name":"y"}' where cell_key = 'tenant_forged'`.execute(tx);
    });
    service.expectErrorLogs(/was not written by the service/);
    const cells = async () => (await renewed.directory.delta(new Map(), 1000)).operations;
    assert.ok((await cells()).every((cell) => old.identity.isSigned(cell) || cell.key === 'tenant_forged'));
    for (let at: number | null = 0; at !== null; ) at = await renewed.directory.signAgain(at, 1);
    const again = await cells();
    assert.deepEqual(
      again.filter((cell) => renewed.identity.isSigned(cell)).map(({ kind, isRemoved }) => [kind, isRemoved]),
      [
        ['primary', false],
        ['public_key', false],
        ['public_key', true],
      ],
    );
    assert.ok(!again.some((cell) => cell.key === 'tenant_forged' && renewed.identity.isSigned(cell)));
    assert.equal((await renewed.directory.cell(rows.read, 'primary', 'tenant_sa'))?.value.epoch, 3);
  });

  test('an operation that is pushed ahead of earlier ones hides none of them', async () => {
    const [earlier, pushed] = [signed({ key: 'tenant_4' }), signed({ key: 'tenant_5' })];
    const known = (await eu.vector()).get('us') ?? 0;
    assert.deepEqual(await eu.merge([pushed]), ['merged']);
    assert.equal((await eu.vector()).get('us') ?? 0, known, 'the earlier one is still to be pulled');
    const passedOn = (await eu.delta(new Map(), 1000)).operations;
    assert.ok(!passedOn.some(({ key }) => key === 'tenant_5'), 'nobody else gets it before the earlier one');
    await pull([earlier, pushed], pushed.seq);
    assert.notEqual(await eu.cell(service.app.kernel.database.read, 'tenant', 'tenant_4'), null);
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
    await pull([earlier, pushed], pushed.seq);
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
    await pull([], beyond.seq - 1);
    assert.deepEqual(await eu.merge([beyond]), ['merged']);
    await pull([], beyond.seq);
  });

  test('a removed key is deleted once it would have expired, and nobody brings it back', async () => {
    const { database: rows, clock } = service.app.kernel;
    const verifies_until = clock.now() + MINUTE_MS;
    const value = { issuer: 'urn:x', jwk: '{}', verifies_until };
    await rows.transaction((tx) => eu.write(tx, { kind: 'public_key', key: 'kid_1', value }));
    const cells = async () => {
      const found = (await eu.delta(new Map(), 1000)).operations;
      return found.filter(({ key }) => key === 'kid_1');
    };
    const [added] = await cells();
    await rows.transaction((tx) => eu.remove(tx, added === undefined ? [] : [added]));
    const [removed] = await cells();
    assert.deepEqual([removed?.isRemoved, removed?.tag], [true, added?.tag]);
    const expired = signed({
      kind: 'revoked_token',
      key: 'token_1',
      value: valueText('revoked_token', { tenant_id: 'tenant_1', expires_at: verifies_until }),
    });
    service.clock.advance(EXPIRED_RETENTION_MS + 2 * MINUTE_MS);
    const cutoff = (clock.now() - EXPIRED_RETENTION_MS) as Cutoff;
    assert.ok((await rows.transaction((tx) => deleteExpiredCells(tx, cutoff, 10))) > 0);
    assert.deepEqual(await cells(), []);
    await pull([expired], expired.seq);
    assert.deepEqual(await findCells(rows.read, 'revoked_token', ['token_1']), []);
    assert.equal((await eu.vector()).get('us'), expired.seq, 'it is not sent again');
  });

  test('writes and merges at the same time lose nothing, and their numbers grow', async () => {
    const { database: rows } = service.app.kernel;
    const write = (n: number) =>
      rows.transaction((tx) => eu.write(tx, { kind: 'tenant', key: `tenant_w${n}`, value: { name: 'x' } }));
    const merge = (n: number) => pull([signed({ key: `tenant_m${n}` })], null);
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

  test('anyone who writes to the database cannot move a tenant', async () => {
    service.expectErrorLogs(/fails verification/);
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

  const edit = (statement: ReturnType<typeof sql>) =>
    service.app.kernel.database.transaction(async (tx) => void (await statement.execute(tx)));

  test('numbers that no clock can have given out are refused', async () => {
    const last = Number.MAX_SAFE_INTEGER;
    const before = await state();
    await refusedFor('clock_ahead', signed({ seq: last }));
    const far = await pull([], last);
    assert.deepEqual([[...far.held], far.problem?.problem], [['us'], 'clock_ahead']);
    const page = (vector: [string, number][]) => ({ operations: [], pushed: [], vector: new Map(vector) });
    const own = await eu.mergePage('us', page([['eu', last]]), null);
    assert.equal(own.problem?.problem, 'clock_ahead', 'what others say of this region counts only as far as it can be');
    const ofOthers = await eu.mergePage('us', page([['ap', last]]), null);
    assert.deepEqual([[...ofOthers.held], ofOthers.problem], [['ap'], null]);
    assert.deepEqual(await state(), before);
  });

  test('a number that was forged counts as missing, until the next pull', async () => {
    const news = signed({ key: 'tenant_n1' });
    await pull([news], news.seq);
    await edit(sql`update region_vectors set seq = ${Number.MAX_SAFE_INTEGER} where origin = 'us'`);
    assert.equal((await eu.vector()).get('us'), undefined);
    await pull([], news.seq);
    assert.equal((await eu.vector()).get('us'), news.seq);
  });

  test('a clock that was forged is made anew, and what it numbered is written again', async () => {
    const { database: rows, clock } = service.app.kernel;
    const write = (key: string) =>
      rows.transaction((tx) => eu.write(tx, { kind: 'tenant', key, value: { name: 'x' } }));
    const numberOf = async (key: string) =>
      (await eu.delta(new Map(), 10_000)).operations.find((one) => one.key === key)?.seq ?? null;
    await write('tenant_t1');
    const wrong = clock.now() + 60 * MINUTE_MS;
    service.clock.set({ node: 60 * MINUTE_MS, database: 60 * MINUTE_MS });
    await write('tenant_t2');
    service.clock.set({});
    assert.ok(((await numberOf('tenant_t2')) ?? 0) >= wrong * 1000);
    await edit(sql`update region_clocks set seq = 5, ms = ${Number.MAX_SAFE_INTEGER}`);
    eu.takeRenumbered();
    await write('tenant_t3');
    assert.ok(eu.takeRenumbered() && !eu.takeRenumbered());
    assert.ok(((await numberOf('tenant_t3')) ?? 0) > ((await numberOf('tenant_t1')) ?? 0));
    for (let at: number | null = 0; at !== null; ) at = await eu.signAgain(at, 100);
    for (const key of ['tenant_t2', 'tenant_t3']) {
      const seq = (await numberOf(key)) ?? 0;
      assert.ok(seq > 0 && seq < wrong * 1000, `${key} has a number that others accept`);
    }
    const [again] = await findCells(rows.read, 'tenant', ['tenant_t2']);
    assert.ok((again?.ms ?? 0) < wrong, 'and a time');
  });

  test('a region whose database lost a promotion that it noted passes nothing on', async () => {
    const { database: rows } = service.app.kernel;
    const value = valueText('primary', { epoch: 1, previous: null });
    const promotion = signed({ kind: 'primary', key: 'tenant_l', value });
    await pull([promotion], promotion.seq);
    let lost = 0;
    eu.onLost = () => void lost++;
    const known = new Map([['us', promotion.seq - 1]]);
    const passedOn = (await eu.delta(known, 1000)).operations.map(({ key }) => key);
    assert.ok(passedOn.includes('tenant_l'));
    const edits = [sql`update region_cells set seq = 1 where cell_key = 'tenant_l'`];
    edits.push(sql`delete from region_cells where cell_key = 'tenant_l'`);
    for (const statement of edits) {
      await edit(statement);
      await assert.rejects(eu.delta(known, 1000), /deleted or put back/);
      await eu.delta(new Map([['us', promotion.seq]]), 1000);
    }
    assert.equal(lost, edits.length);
    await pull([promotion], promotion.seq);
    await eu.delta(known, 1000);
    const { read } = rows;
    assert.equal((await eu.cell(read, 'primary', 'tenant_l'))?.origin, 'us');
  });
});
