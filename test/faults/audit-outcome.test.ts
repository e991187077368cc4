import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { systemEntry } from '../../server/src/kernel/audit/entry/system-entry.ts';
import { OPEN_WAIT_MS } from '../../server/src/kernel/audit/postgres/tombstones.ts';
import { MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { ok } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { DatabaseProxy } from '../support/proxy.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, auditOf, secretUrl, startNodeBeside } from '../support/vaults.ts';

/** Held by the test while an INSERT of the service must wait for it, inside PostgreSQL. */
const GATE = 4711;

/** What becomes of entries when the database does not say whether it has stored them. Only several nodes need more than one writer to agree. */
describe('audit entries whose outcome is unknown', () => {
  let databaseUrl: string;
  let service: Service;
  let proxy: DatabaseProxy;
  let vault: string;

  before(async () => {
    databaseUrl = await newPostgresDatabase();
    proxy = await DatabaseProxy.before(databaseUrl);
    service = await startService('postgres', { databaseUrl: proxy.through(databaseUrl) });
    vault = await addVault(service);
    for (const path of ['held', 'other']) await addSecret(service, vault, path);
    await query(
      databaseUrl,
      `create function hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(${GATE}); return new; end $$`,
    );
  });
  after(() => service.close());

  /** Holds each INSERT of an entry about this name, `before` or `after` its key is inserted, until the gate opens. */
  async function gate(when: 'before' | 'after', name: string): Promise<{ open(): Promise<void> }> {
    const holder = new pg.Client({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query(`select pg_advisory_lock(${GATE})`);
    await query(
      databaseUrl,
      `create trigger hold ${when} insert on audit_segments for each row when (new.entries like '%${name}%') execute function hold()`,
    );
    return {
      open: async () => {
        await holder.end();
        await until('the held INSERT has ended', async () => !(await isHeld()));
        await query(databaseUrl, 'drop trigger hold on audit_segments');
      },
    };
  }

  const isHeld = async () =>
    (await query(databaseUrl, `select 1 from pg_stat_activity where wait_event = 'advisory' and state = 'active'`))
      .length > 0;

  const tombstones = () => query(databaseUrl, `select id from audit_segments where voids like '%tombstone%'`);

  async function assertNoAlarm(node: Service): Promise<void> {
    const verified = await ok(node.call('GET', '/v1/audit/verify'));
    assert.equal(verified.valid, true, JSON.stringify(verified));
    assert.deepEqual(await auditOf(node, 'action=audit:tampering'), []);
  }

  /** A read that gets no answer from the database, because its connection ends while PostgreSQL goes on with the INSERT. */
  async function interruptedRead(interrupt = () => proxy.reset()): Promise<string> {
    const read = service.call('GET', secretUrl(vault, 'held'));
    await until('the INSERT is held', isHeld);
    interrupt();
    const { status, headers } = await read;
    assert.equal(status, 503);
    return String(headers.get('x-request-id'));
  }

  async function assertEveryEntryIsLinked(): Promise<void> {
    await ok(service.call('GET', secretUrl(vault, 'other')));
    await service.app.kernel.audit.link();
    const [{ count } = {}] = await query(
      databaseUrl,
      'select count(*)::integer as count from audit_segments where first_seq is null',
    );
    assert.equal(count, 0);
  }

  test('are refused when they come late, and nobody is notified of a forgery', async () => {
    const held = await gate('before', `${vault}/held`);
    const requestId = await interruptedRead();
    await ok(service.call('GET', secretUrl(vault, 'other')));
    await until('the segment is declared lost', async () => (await tombstones()).length === 1);
    await held.open();
    assert.deepEqual(await auditOf(service, `request_id=${requestId}`), [], 'it did not come after all');
    await assertEveryEntryIsLinked();
    await assertNoAlarm(service);
  });

  const interruptions: Record<string, () => void> = {
    'and the connection is lost': () => proxy.reset(),
    'and the server ends and says that its disk is full': () => proxy.panic(),
  };
  for (const [how, interrupt] of Object.entries(interruptions)) {
    test(`stay if they are stored after all ${how}, and are then not declared lost`, async () => {
      const before = await tombstones();
      const held = await gate('after', `${vault}/held`);
      const requestId = await interruptedRead(interrupt);
      await ok(service.call('GET', secretUrl(vault, 'other')));
      // Its number must not be passed over meanwhile.
      await service.app.kernel.audit.link();
      await held.open();
      await until('the entry is linked', async () => {
        const [entry] = await auditOf(service, `request_id=${requestId}`);
        return entry !== undefined && entry.seq !== null;
      });
      assert.deepEqual(await tombstones(), before);
      await assertEveryEntryIsLinked();
      await assertNoAlarm(service);
    });
  }

  test('of a change that another node has given up are not committed, and its caller is told so', async () => {
    const beside = await startNodeBeside(service, databaseUrl);
    const held = await gate('before', 'given-up');
    const change = service.call('POST', '/v1/groups', { body: { name: 'given-up' } });
    await until('the INSERT is held', isHeld);
    const read = await service.call('GET', secretUrl(vault, 'other'));
    assert.equal(read.status, 200, read.text);
    const before = (await tombstones()).length;
    await until('the other node gives the change up', async () => {
      await beside.app.kernel.audit.link();
      beside.clock.advance(OPEN_WAIT_MS);
      return (await tombstones()).length > before;
    });
    await held.open();
    const { status, body } = await change;
    assert.deepEqual([status, body.error.code], [503, 'UNAVAILABLE']);
    const { groups } = await ok(service.call('GET', '/v1/groups'));
    assert.deepEqual(
      groups.filter(({ name }: { name: string }) => name === 'given-up'),
      [],
    );
    const [lost] = await auditOf(service, 'action=audit:lost');
    assert.equal(lost?.details.lost.length, 1, JSON.stringify(lost));
    await ok(service.call('POST', '/v1/groups', { body: { name: 'given-up' } }), 201);
    await assertEveryEntryIsLinked();
    for (const node of [service, beside]) await assertNoAlarm(node);
    await beside.close();
  });

  test('of nodes whose clocks differ by minutes are all linked, and none is missed', async () => {
    const beside = await startNodeBeside(service, databaseUrl);
    for (const node of [service, beside]) node.expectErrorLogs(/the clock of this node differs/);
    const recorded: string[] = [];
    for (const wrongBy of [-5 * MINUTE_MS, 5 * MINUTE_MS]) {
      beside.clock.set({ node: wrongBy });
      await Promise.all(
        [service, beside].flatMap((node) => Array.from({ length: 10 }, (_, i) => record(node, `${wrongBy}/${i}`))),
      );
    }
    beside.clock.set({});
    await service.app.kernel.audit.link();
    for (const resource of recorded) assert.equal((await auditOf(service, `resource=${resource}`)).length, 1, resource);
    await assertNoAlarm(service);
    await assertNoAlarm(beside);
    await beside.close();

    /** As changes record it, one after the other, while the other node links what it finds. */
    async function record({ app: { kernel } }: Service, name: string): Promise<void> {
      const tenantId = kernel.operatorTenantId;
      const headKey = await kernel.audit.headKey(tenantId);
      for (let i = 0; i < 5; i++) {
        const resource = `test/${kernel.nodeId}/${name}/${i}`;
        const facts = { actorId: 'operator', action: 'test:entry', status: 200, details: {} } as const;
        const entry = systemEntry({ tenantId, now: kernel.clock.now(), resource, ...facts });
        if (i % 2 === 0) await kernel.audit.record(entry);
        else await kernel.database.transaction((tx) => kernel.audit.recordIn(tx, [entry], headKey));
        recorded.push(resource);
      }
    }
  });

  test('are not recorded at all with a clock that is known to be wrong', async () => {
    service.expectErrorLogs(/the clock of this node differs/);
    service.clock.set({ node: -5 * MINUTE_MS });
    await service.app.kernel.clockGuard.check();
    const group = { body: { name: 'with-a-wrong-clock' } };
    for (const answer of [
      await service.call('GET', secretUrl(vault, 'other')),
      await service.call('POST', '/v1/groups', group),
      await service.call('GET', '/auth/me', { token: 'nonsense' }),
    ]) {
      assert.deepEqual([answer.status, answer.body.error.code], [503, 'UNAVAILABLE']);
      assert.match(answer.body.error.message, /^The clock of this node differs from the database’s/);
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]/);
    }
    assert.match((await service.call('GET', '/metrics')).text, /^cv_clock_trusted 0$/m, 'an operator sees why');
    assert.equal((await service.call('GET', '/health', { token: null })).status, 200);
    service.clock.set({});
    await service.app.kernel.clockGuard.check();
    await ok(service.call('POST', '/v1/groups', group), 201);
  });
});
