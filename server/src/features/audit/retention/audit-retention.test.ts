import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import {
  type Entry,
  fill,
  makePurgeDue,
  purgeAudit,
  purgesOf,
  readsOf,
  sign,
  verdictOf,
  verified,
  verifiedOffline,
} from '../../../../../test/support/audit-retention.ts';
import { addPerson, addTenant, ok, type Tenant } from '../../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, readValue, runJobs, runPurges } from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import type { Database } from '../../../kernel/storage/database.ts';
import { savePermission } from '../../../kernel/time/operator-permissions.ts';

onBothDatabases('retention of audit entries', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('entries of a vault go after their days, everything else stays, and the log records it', async () => {
    const short = await addVault(service, { audit: { retention_days: 7 } });
    const forever = await addVault(service);
    const outsider = await addPerson(service);
    for (const vault of [short, forever]) await addSecret(service, vault, 'a');
    for (let round = 0; round < 3; round++) {
      for (const vault of [short, forever]) await readValue(service, vault, 'a');
    }
    await service.call('GET', `/v1/vaults/${short}/secrets/a`, { token: outsider.token });
    service.clock.advance(5 * DAY_MS);
    await readValue(service, short, 'a');
    await purgeAudit(service);
    assert.equal((await readsOf(service, short)).length, 5, 'nothing goes before its time');

    service.clock.advance(3 * DAY_MS);
    await purgeAudit(service);
    assert.deepEqual(
      (await readsOf(service, short)).map((entry) => entry.decision),
      ['allow'],
      'what is younger stays',
    );
    assert.equal((await readsOf(service, forever)).length, 3);
    const kept = await auditOf(service, `vault=${short}&action=secrets:create`);
    assert.equal(kept.length, 1, 'entries that tell rows stay');
    assert.ok(kept[0]?.rows.length > 0);

    // The service may have run the job by itself meanwhile: each entry is told once, by the run that purged it.
    const purges = await purgesOf(service);
    for (const { actor, resource, vault, details } of purges) {
      assert.deepEqual([actor.id, resource, vault], ['job:purge-audit', 'audit', null]);
      assert.deepEqual(details.vaults, { [short]: details.entries });
    }
    assert.equal(
      purges.reduce((sum, { details }) => sum + details.entries, 0),
      4,
    );
    const result = await verified(service);
    assert.deepEqual([result.valid, result.purged, result.first_broken], [true, 4, null]);
    await sign(service);
    const offline = await verifiedOffline(service);
    assert.deepEqual([offline.problems, offline.purged], [[], 4]);
  });

  test('what was purged is nowhere in the database', async () => {
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await service.call('GET', `/v1/vaults/${vault}/secrets/a-very-private-name`);
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    await service.app.kernel.audit.settle();
    const rows = await service.app.kernel.database.read.selectFrom('audit_segments').select('entries').execute();
    assert.equal(rows.filter(({ entries }) => entries.includes('a-very-private-name')).length, 0);
  });

  test('another vault of the same name that was there before keeps its entries', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    await readValue(service, vault, 'a');
    await ok(service.call('DELETE', `/v1/vaults/${vault}`));
    service.clock.advance(31 * DAY_MS);
    await runPurges(service);
    await addVault(service, { name: vault, audit: { retention_days: 1 } });
    await service.call('GET', `/v1/vaults/${vault}/secrets/a`);
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    assert.equal((await readsOf(service, vault)).length, 1);
    assert.equal((await readsOf(service, vault))[0]?.status, 200);
  });

  test('to keep entries for less time takes a second admin, to keep them longer does not', async () => {
    const tenant: Tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    const patch = (retention_days: number | null) =>
      service.call('PATCH', `/v1/vaults/${vault}`, { token, body: { audit: { retention_days } } });
    await ok(patch(400));
    const [alone] = await auditOf(service, `vault=${vault}&action=vault_updated`, token);
    assert.deepEqual(alone?.details.retention_days, { before: null, after: 400 });
    assert.equal(alone?.details.self_approved, true);
    await addPerson(service, { role: 'admin', tenant });
    assert.equal((await ok(patch(300), 202)).approval, 'siem_change');
    assert.equal((await ok(service.call('GET', `/v1/vaults/${vault}`, { token }))).audit.retention_days, 400);
    await ok(patch(500));
    await ok(patch(null));
  });

  test('a vault of the same name of another tenant loses nothing', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await addVault(service, { name: vault }, token);
    for (const by of [token, service.adminToken]) {
      await ok(service.call('GET', `/v1/vaults/${vault}`, { token: by }));
    }
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    const reads = (by: string) => auditOf(service, `vault=${vault}&action=vaults:read`, by);
    assert.deepEqual([(await reads(token)).length, (await reads(service.adminToken)).length], [1, 0]);
    const result = await verified(service, token);
    assert.deepEqual([result.valid, result.purged], [true, 0]);
  });

  test('lists go on over what was purged', async () => {
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await fill(service, vault, 300);
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await ok(service.call('GET', `/v1/audit?limit=40${cursor}`));
      found.push(...page.entries.map((entry: Entry) => entry.id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    assert.equal(new Set(found).size, found.length);
    const { entries, purged } = await verified(service);
    // The reads of the pages came after the first one.
    assert.ok(
      found.length >= entries - purged - 40 && found.length <= entries - purged,
      `${found.length} of ${entries}`,
    );
  });
});

onBothDatabases('purges that are interrupted or run beside others', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service, { audit: { retention_days: 1 } });
    await fill(service, vault, 5000);
    service.clock.advance(2 * DAY_MS);
  });
  after(() => service.close());

  test('one that cannot record what it removes removes nothing', async () => {
    const { kernel } = service.app;
    service.expectErrorLogs(/"job":"purge-audit"/);
    await forbidPurges(kernel.database);
    await purgeAudit(service);
    assert.deepEqual(await verdictOf(service), [true, 0]);
    await allowPurges(kernel.database);
  });

  test('beside reads, changes, checks and exports nothing is lost, repeated or mistaken for tampering', async () => {
    const checks: Promise<Entry>[] = [];
    const exports: Promise<Answer>[] = [];
    await makePurgeDue(service);
    const purge = runJobs(service);
    for (let round = 0; round < 6; round++) {
      checks.push(verified(service));
      exports.push(service.call('GET', '/v1/audit/export'));
      await addSecret(service, vault, `during-${round}`);
      await readValue(service, vault, `during-${round}`);
    }
    await purge;
    for (const check of await Promise.all(checks)) assert.equal(check.valid, true, JSON.stringify(check));
    await sign(service);
    for (const { text } of await Promise.all(exports)) {
      const { problems } = await verifiedOffline(service, () => text.trimEnd().split('\n'));
      // An export that ended before the next checkpoint was signed cannot be vouched for to its end yet.
      const isOfTheEnd = (what: string) =>
        /or it was signed after the export|no checkpoint covers the purge record/.test(what);
      const real = problems.filter(({ what }) => !isOfTheEnd(what));
      assert.deepEqual(real, []);
    }
    const [isValid, purged] = await verdictOf(service);
    assert.deepEqual([isValid, purged], [true, 5000]);
    const told = (await purgesOf(service)).reduce((sum, entry) => sum + entry.details.entries, 0);
    assert.equal(told, 5000);
    assert.equal((await readsOf(service, vault)).length, 6);
  });

  test('what is left of so many entries is a few rows', async () => {
    const rows = await service.app.kernel.database.read.selectFrom('audit_segments').selectAll().execute();
    assert.equal(rows.filter(({ entries }) => entries.startsWith('[{')).length <= 4, true);
  });

  test('twice at once purges once', async () => {
    await fill(service, vault, 50);
    service.clock.advance(2 * DAY_MS);
    await sign(service);
    await makePurgeDue(service);
    await Promise.all([runJobs(service), runJobs(service)]);
    const told = (await purgesOf(service)).reduce((sum, entry) => sum + entry.details.entries, 0);
    const [isValid, purged] = await verdictOf(service);
    assert.deepEqual([isValid, purged], [true, told]);
  });
});

onBothDatabases('purges that would be wrong', (database) => {
  test('a clock that is set ahead purges nothing', async () => {
    const service = await startService(database);
    const vault = await addVault(service, { audit: { retention_days: 30 } });
    await ok(service.call('GET', `/v1/vaults/${vault}`));
    await purgeAudit(service);
    service.expectErrorLogs(/the clock of this node differs/);
    service.clock.set({ node: 400 * DAY_MS });
    const ran = await service.app.jobs.runDue();
    service.clock.set({});
    // Until the next check the node refuses whatever it would record with that clock.
    await service.app.kernel.clockGuard.check();
    assert.equal(ran.includes('purge-audit'), false);
    assert.deepEqual(await purgesOf(service), []);
    assert.equal((await auditOf(service, `vault=${vault}&action=vaults:read`)).length, 1);
    await service.close();
  });

  test('more than a share of all entries goes only if an operator allows it', async () => {
    const service = await startService(database);
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await fill(service, vault, 10_001);
    service.clock.advance(2 * DAY_MS);
    service.expectErrorLogs(/coffer server allow-purge purge-audit/);
    await purgeAudit(service);
    assert.deepEqual(await verdictOf(service), [true, 0]);
    const given_at = service.clock.now();
    const word = { subject: 'purge-audit', given_at, valid_until: given_at + DAY_MS };
    await service.app.kernel.database.transaction((tx) => savePermission(tx, word));
    await purgeAudit(service);
    assert.deepEqual(await verdictOf(service), [true, 10_001]);
    await service.close();
  });
});

const FORBID = {
  sqlite: [
    `create trigger no_purge before insert on audit_segments when new.entries like '%audit:purge%' begin select raise(abort, 'no purge'); end`,
  ],
  postgres: [
    `create function no_purge() returns trigger language plpgsql as $$ begin
       if new.entries like '%audit:purge%' then raise exception 'no purge'; end if; return new; end $$`,
    'create trigger no_purge before insert on audit_segments for each row execute function no_purge()',
  ],
};

async function forbidPurges(database: Database): Promise<void> {
  for (const statement of FORBID[database.kind]) {
    await database.transaction((tx) => sql.raw(statement).execute(tx));
  }
}

async function allowPurges(database: Database): Promise<void> {
  const statement = `drop trigger no_purge${database.kind === 'postgres' ? ' on audit_segments' : ''}`;
  await database.transaction((tx) => sql.raw(statement).execute(tx));
}
