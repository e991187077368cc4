import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { ANCHOR_FILE } from '../../server/src/kernel/audit/chain/anchor.ts';
import { systemEntry } from '../../server/src/kernel/audit/entry/system-entry.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { SCHEMA_VERSION } from '../../server/src/kernel/storage/schema-version.ts';
import { type Attacker, attackerOf, type Row } from '../support/attacker.ts';
import { addColleague, addTenant, ok, refused, type Tenant } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { runCoffer } from '../support/process.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, auditOf, secretUrl } from '../support/vaults.ts';

/** What a writer of the database without the root key must not do to the log unseen. */
onBothDatabases('the audit log', (kind) => {
  let service: Service;
  let attacker: Attacker;
  let tenant: Tenant;
  let token: string;
  let databaseUrl: string | undefined;

  before(async () => {
    databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(kind, { ...(databaseUrl !== undefined && { databaseUrl }), keepData: true });
    attacker = await attackerOf(kind, service, databaseUrl);
    tenant = await addTenant(service);
    token = tenant.owner.token;
  });
  after(async () => {
    await attacker.close();
    await service.close();
    rmSync(service.dataDir, { recursive: true, force: true });
  });

  const verified = () => ok(service.call('GET', '/v1/audit/verify', { token }));

  /** As the log stores it, of somebody who did nothing. */
  function forgedSegment(): Row {
    const now = service.clock.now();
    const facts = { actorId: 'operator', action: 'secrets:read', resource: 'vault/prod/k', status: 200 } as const;
    const entry = {
      ...systemEntry({ tenantId: tenant.id, details: {}, now, ...facts }),
      actor_name: tenant.owner.email,
    };
    const { tenant_id, rows: _, ...fields } = entry;
    const row = { tenant_id, id: newId('audit', now), entries: JSON.stringify([Object.values(fields)]) };
    return kind === 'postgres' ? { ...row, schema_version: SCHEMA_VERSION } : row;
  }

  if (kind === 'postgres') {
    test('takes no entry that no node wrote, also with the signature of another', async () => {
      service.expectErrorLogs(/the audit log was tampered with/);
      const [genuine] = await attacker.rows('audit_segments', { tenant_id: tenant.id });
      const { node_id, node_no, voids, mac, mac_key_version } = genuine as Row;
      const [bare, signed] = [forgedSegment(), forgedSegment()];
      await attacker.insert('audit_segments', bare);
      await attacker.insert('audit_segments', { ...signed, node_id, node_no, voids, mac, mac_key_version });
      const { valid, rows } = await verified();
      assert.equal(valid, false);
      for (const { id } of [bare, signed]) {
        assert.ok(
          rows.problems.some((one: Row) => one['row'] === id && one['problem'] === 'forged'),
          String(id),
        );
        assert.equal((await attacker.row('audit_segments', { id }))['first_seq'], '-1');
      }
      assert.deepEqual(await auditOf(service, 'resource=vault/prod/k', token), []);
      const [told] = await auditOf(service, 'action=audit:tampering', token);
      assert.equal(told.decision, 'error');
      await attacker.delete('audit_segments', { first_seq: -1 });
    });

    test('misses an entry that a node wrote and somebody took away before it was linked', async () => {
      service.expectErrorLogs(/the audit log was tampered with/);
      const { kernel } = service.app;
      const headKey = await kernel.audit.headKey(tenant.id);
      let edited = 0;
      const record = (resource: string) =>
        kernel.database.transaction((tx) => {
          const facts = { actorId: 'operator', action: 'test:change', resource, status: 200, details: {} } as const;
          const entry = systemEntry({ tenantId: tenant.id, now: kernel.clock.now(), ...facts });
          return kernel.audit.recordIn(tx, [entry], headKey);
        });
      await holdHead(async () => {
        await record('removed');
        for (const row of await attacker.rows('audit_segments', { tenant_id: tenant.id })) {
          if (String(row['entries']).includes('removed')) await attacker.delete('audit_segments', { id: row['id'] });
        }
        await record('kept');
        await ok(service.call('GET', '/v1/groups', { token }));
        const isStored = async () =>
          (await attacker.rows('audit_segments', { tenant_id: tenant.id })).some((row) =>
            String(row['entries']).includes('groups'),
          );
        await until('the entry is not stored', isStored);
        // The numbers of what was removed are told to be void, in rows that this node wrote and has in memory.
        for (const row of await attacker.rows('audit_segments', { tenant_id: tenant.id })) {
          if (row['first_seq'] !== null || !String(row['entries']).includes('groups')) continue;
          const voids = JSON.stringify(Array.from({ length: Number(row['node_no']) }, (_, no) => no));
          await attacker.update('audit_segments', { tenant_id: tenant.id, id: row['id'] }, { voids });
          edited++;
        }
      });
      assert.equal(edited, 1);
      await kernel.audit.link();
      const { valid, rows } = await verified();
      assert.equal(valid, false);
      assert.ok(rows.problems.some((one: Row) => one['table'] === 'audit_segments' && one['problem'] === 'missing'));
      assert.equal((await auditOf(service, 'resource=kept', token)).length, 1);
    });

    test('misses an entry whose place somebody gave to a tombstone', async () => {
      service.expectErrorLogs(/the audit log was tampered with/);
      tenant = await addTenant(service);
      token = tenant.owner.token;
      await service.app.kernel.audit.link();
      const before = new Set((await attacker.rows('audit_segments', { tenant_id: tenant.id })).map(({ id }) => id));
      const waiting = async () =>
        (await attacker.rows('audit_segments', { tenant_id: tenant.id })).filter(({ id }) => !before.has(id));
      const forged: Row = { ...forgedSegment(), entries: '[]', voids: '{"tombstone":true}', first_seq: -2 };
      let ids: unknown[] = [];
      await holdHead(async () => {
        for (let i = 0; i < 3; i++) await ok(service.call('GET', '/v1/groups', { token }));
        const [passed] = await waiting();
        ids = [passed?.['id'], forged['id']];
        await attacker.update('audit_segments', { tenant_id: tenant.id, id: passed?.['id'] }, { first_seq: -2 });
        await attacker.insert('audit_segments', forged);
      });
      await ok(service.call('GET', '/v1/groups', { token }));
      await service.app.kernel.audit.link();
      const { valid, rows } = await verified();
      assert.equal(valid, false);
      for (const id of ids) {
        const isNamed = ({ row, problem }: Row) => row === id && problem === 'forged';
        assert.ok(rows.problems.some(isNamed), `${id}: ${JSON.stringify(rows.problems)}`);
      }
      const [told] = await auditOf(service, 'action=audit:tampering', token);
      const missing = told.details.missing.map(({ from, to }: { from: number; to: number }) => to - from + 1);
      assert.deepEqual(missing, [1]);
    });

    /** Nothing is linked while another transaction holds the head. */
    async function holdHead(act: () => Promise<void>): Promise<void> {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      await client.query('begin');
      await client.query('select seq from audit_heads where tenant_id = $1 for update', [tenant.id]);
      await act();
      await client.query('rollback');
      await client.end();
    }

    test('is not prevented from being linked by what was written for nobody, or for a tenant whose key was edited', async () => {
      const other = await addTenant(service);
      const [key] = await attacker.rows('keys', { tenant_id: other.id, purpose: 'audit-head' });
      await ok(service.call('GET', '/v1/groups', { token: other.owner.token }));
      const wrapped = Buffer.from(key?.['wrapped'] as Uint8Array).fill(0, 20, 30);
      await attacker.update('keys', { tenant_id: other.id, purpose: 'audit-head' }, { wrapped });
      await attacker.insert('audit_segments', { ...forgedSegment(), tenant_id: 'a-tenant' });
      await service.close();
      service = await startService('postgres', {
        databaseUrl: String(databaseUrl),
        dataDir: service.dataDir,
        keepData: true,
      });
      service.expectErrorLogs(/was tampered with|cut back|cannot be linked/);
      await ok(service.call('GET', '/v1/groups', { token }));
      await service.app.kernel.audit.link();
      const waiting = await attacker.rows('audit_segments', { tenant_id: tenant.id });
      assert.deepEqual(
        waiting.filter((row) => row['first_seq'] === null),
        [],
      );
      await attacker.update('keys', { tenant_id: other.id, purpose: 'audit-head' }, { wrapped: key?.['wrapped'] });
      await attacker.delete('audit_segments', { tenant_id: 'a-tenant' });
    });

    test('goes on without a word after a transaction that was undone', async () => {
      tenant = await addTenant(service);
      token = tenant.owner.token;
      const { kernel } = service.app;
      const headKey = await kernel.audit.headKey(tenant.id);
      const facts = {
        actorId: 'operator',
        action: 'test:change',
        resource: 'undone',
        status: 200,
        details: {},
      } as const;
      const undone = kernel.database.transaction(async (tx) => {
        await kernel.audit.recordIn(
          tx,
          [systemEntry({ tenantId: tenant.id, now: kernel.clock.now(), ...facts })],
          headKey,
        );
        throw new Error('undone');
      });
      await assert.rejects(undone, /undone/);
      await ok(service.call('GET', '/v1/groups', { token }));
      await kernel.audit.link();
      await kernel.audit.link();
      const { valid, rows } = await verified();
      assert.deepEqual([valid, rows.problems], [true, []]);
      const waiting = (await attacker.rows('audit_segments', { tenant_id: tenant.id })).filter(
        (row) => row['first_seq'] === null,
      );
      assert.ok(waiting.length <= 1, `${waiting.length} wait`);
    });
  }

  /** The head of a tenant's log, once the service has noted it outside the database. */
  async function anchoredHead(tenantId: string): Promise<Row> {
    let head: Row = {};
    await until('the service does not note how far the log has come', async () => {
      head = await attacker.row('audit_heads', { tenant_id: tenantId });
      const file = join(service.dataDir, ANCHOR_FILE);
      if (!existsSync(file)) return false;
      const { heads } = JSON.parse(readFileSync(file, 'utf8'));
      return heads.some(([id, seq]: [string, number]) => id === tenantId && seq >= Number(head['seq']));
    });
    return head;
  }

  test('cannot be cut back to an older head while the service runs', async () => {
    tenant = await addTenant(service);
    token = tenant.owner.token;
    const vault = await addVault(service, {}, token);
    await addSecret(service, vault, 'k', {}, token);
    await ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
    const head = await anchoredHead(tenant.id);
    for (let i = 0; i < 3; i++) await ok(service.call('GET', secretUrl(vault, 'k'), { token }));
    await ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
    assert.equal((await verified()).valid, true);
    await anchoredHead(tenant.id);
    service.expectErrorLogs(/the audit log was cut back to an older state/);
    await cutBack(head);
    const { valid, first_broken } = await verified();
    assert.equal(valid, false);
    assert.match(first_broken.reason, /^entries up to \d+, which this node knows, were removed$/);
  });

  /** Everything after this head goes, and the head is put back with its own MAC. */
  async function cutBack(head: Row): Promise<void> {
    const seq = Number(head['seq']);
    for (const row of await attacker.rows('audit_segments', { tenant_id: tenant.id })) {
      if (Number(row['first_seq']) > seq)
        await attacker.delete('audit_segments', { tenant_id: tenant.id, id: row['id'] });
    }
    for (const row of await attacker.rows('audit_checkpoints', { tenant_id: tenant.id })) {
      const { checkpoint_no } = row;
      if (Number(row['seq']) > seq) await attacker.delete('audit_checkpoints', { tenant_id: tenant.id, checkpoint_no });
    }
    await attacker.update('audit_heads', { tenant_id: tenant.id }, head);
  }

  test('cannot be cut back while the service is stopped, and the command names every forgery', async () => {
    const other = await addTenant(service);
    const member = await addColleague(service, other.id, 'member');
    await service.app.kernel.audit.link();
    const head = await anchoredHead(other.id);
    const page = await ok(service.call('GET', '/v1/groups', { token: other.owner.token }));
    assert.ok(page);
    const signed = await ok(service.call('POST', '/v1/audit/checkpoints', { token: other.owner.token }), 201);
    const checkpoint = join(service.dataDir, 'kept.json');
    writeFileSync(checkpoint, JSON.stringify({ checkpoint: signed }));
    await service.close();
    const verify = (...more: string[]) =>
      runCoffer(['server', 'verify', ...more], { dataDir: service.dataDir, databaseUrl });
    tenant = other;
    await cutBack(head);
    await attacker.update('users', { user_id: member.id }, { role: 'owner' });
    const anchored = await verify();
    assert.equal(anchored.code, 1, anchored.stderr);
    assert.match(anchored.stdout, new RegExp(`users ${member.id}: forged`));
    assert.match(anchored.stdout, /entries up to \d+, which this node knows, were removed/);
    // Without the anchor of the node, a checkpoint that is stored elsewhere still shows it.
    const anchor = readFileSync(join(service.dataDir, ANCHOR_FILE));
    copyFileSync(join(service.dataDir, ANCHOR_FILE), join(service.dataDir, 'anchor.kept'));
    rmSync(join(service.dataDir, ANCHOR_FILE));
    const held = await verify('--checkpoint', checkpoint);
    assert.equal(held.code, 1, held.stderr);
    assert.match(held.stdout, /entries up to \d+, which checkpoint \d+ in \S+ knows, were removed/);
    const missing = await verify('--checkpoint', join(service.dataDir, 'none.json'));
    assert.deepEqual([missing.code, /cannot be read/.test(missing.stderr)], [1, true]);
    assert.ok(anchor.length > 0);
    const again = { dataDir: service.dataDir, keepData: true, ...(databaseUrl !== undefined && { databaseUrl }) };
    service = await startService(kind, again);
    service.expectErrorLogs(/a row was not written by the service|cut back/);
    await refused(service.call('GET', '/auth/me', { token: member.token }), 500, 'INTERNAL_ERROR');
  });
});
