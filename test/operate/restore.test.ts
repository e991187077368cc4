import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { RESTORED_STEP } from '../../server/src/kernel/limits/counters.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, runCoffer, runService, spawnService, stopService } from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-restore-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Place {
  dataDir: string;
  databaseUrl: string | undefined;
}

onBothDatabases('a restored installation', (kind) => {
  const file = join(folder, `${kind}.backup`);
  const fresh = async (): Promise<Place> => ({
    dataDir: newDataDir(),
    databaseUrl: kind === 'postgres' ? await newPostgresDatabase() : undefined,
  });
  /** Ready for a restore: the root key is never in a backup. */
  const target = async () => {
    const to = await fresh();
    mkdirSync(to.dataDir, { recursive: true, mode: 0o700 });
    copyFileSync(join(from.dataDir, 'root.key'), join(to.dataDir, 'root.key'));
    return to;
  };
  /** As somebody does who has the database and no key. */
  const rows = async ({ dataDir, databaseUrl }: Place, sql: string): Promise<Record<string, unknown>[]> => {
    if (databaseUrl !== undefined) return query(databaseUrl, sql);
    const database = new DatabaseSync(join(dataDir, 'coffer.db'));
    const found = database.prepare(sql).all();
    database.close();
    return found;
  };
  const sender = (url: string) => async (method: string, path: string, token: string, body?: object) =>
    call(url, method, path, { token, ...(body !== undefined && { body }) });

  let from: Place;
  let admin: string;
  let owner: string;
  /** Revoked after the backup. */
  let revoked: { id: string; token: string };
  let lostSeq: number;
  let lostEnvironment: number;
  let lostEpoch: number;

  before(async () => {
    from = await fresh();
    const service = await spawnService(from);
    const send = sender(service.url);
    admin = service.adminToken();
    const tenant = await send('POST', '/v1/tenants', admin, { name: 'other', owner_email: 'o@example.com' });
    owner = tenant.body.owner.token;
    revoked = (await send('POST', '/auth/tokens', admin, { name: 'stolen' })).body;
    await send('POST', '/environments', admin, { name: 'before' });
    const made = await runCoffer(['server', 'backup', file], from);
    assert.equal(made.code, 0, made.stderr);
    await send('DELETE', `/auth/tokens/${revoked.id}`, admin);
    assert.equal((await send('GET', '/auth/me', revoked.token)).status, 401);
    lostEnvironment = (await send('POST', '/environments', admin, { name: 'lost' })).body.id;
    lostSeq = (await send('POST', '/v1/audit/checkpoints', admin)).body.seq;
    await stopService(service);
    lostEpoch = Math.max(...(await rows(from, 'select epoch from tenants')).map(({ epoch }) => Number(epoch)));
  });

  test('says in every log that it is one, and gives out no number of what was lost', async () => {
    const to = await target();
    const { code, stdout, stderr } = await runCoffer(['server', 'restore', file], to);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Everything was restored to its state at 2\d{3}-.*are back/);
    assert.match(stdout, /These 3 tokens and sessions are valid again, even if they were revoked after the backup/);
    assert.match(stdout, new RegExp(`^  ${revoked.id} pat "stolen" of user_\\w+ in tenant_\\w+, until 2`, 'm'));
    for (const token of [admin, owner, revoked.token]) assert.equal(stdout.includes(token), false);
    for (const { epoch } of await rows(to, 'select epoch from tenants')) assert.ok(Number(epoch) > lostEpoch);

    const service = await spawnService(to);
    const send = sender(service.url);
    assert.equal((await send('GET', '/auth/me', revoked.token)).status, 200, 'it was told that it is good again');
    for (const [token, good] of [
      [admin, 2],
      [owner, 1],
    ] as const) {
      const { body } = await send('GET', '/v1/audit?action=server:restore', token);
      assert.equal(body.entries.length, 1);
      const [{ actor, details, seq }] = body.entries;
      assert.deepEqual([actor.kind, actor.id], ['system', 'operator']);
      assert.deepEqual([details.tokens_good, details.tokens_ended], [good, 0]);
      assert.ok(details.resumes_after > 0 && details.resumes_after < lostSeq + 1);
      assert.ok(seq > lostSeq + 1_000_000_000, 'far behind every number that was lost');
      const verified = await send('GET', '/v1/audit/verify', token);
      assert.equal(verified.body.valid, true, verified.text);
      assert.ok(verified.body.entries > 1 && verified.body.entries < 100, 'entries are counted, not numbers');
    }
    const { id } = (await send('POST', '/environments', admin, { name: 'after' })).body;
    assert.ok(id > lostEnvironment && id > RESTORED_STEP);
    const exported = await send('GET', '/v1/audit/export', admin);
    const seqs = exported.text
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line).seq as number);
    const gaps = seqs.filter((seq, i) => i > 0 && seq !== (seqs[i - 1] ?? 0) + 1);
    assert.equal(gaps.length, 1);
    const behind = await send('GET', `/v1/audit/export?from_seq=${gaps[0]}`, admin);
    assert.equal(behind.status, 200, behind.text);
    const header = JSON.parse(behind.text.split('\n')[0] ?? '');
    const { hash } = JSON.parse(exported.text.split('\n')[seqs.indexOf(gaps[0] ?? 0)] ?? '');
    assert.equal(header.previous_hash, hash, 'a later part continues from the entry before the gap');
    await stopService(service);

    // The gap is explained by where the chain stood: without the entry before it, it is one that somebody made.
    const small = 1_000_000_000;
    await rows(
      to,
      `delete from audit_segments where first_seq = (select max(s.first_seq) from audit_segments s
       where s.first_seq < ${small} and s.tenant_id = audit_segments.tenant_id) returning id`,
    );
    const again = await spawnService(to);
    const cut = await sender(again.url)('GET', '/v1/audit/verify', admin);
    assert.deepEqual([cut.body.valid, cut.body.first_broken.reason], [false, 'the entry is missing']);
    await stopService(again);
  });

  test('has no token from before if that is requested', async () => {
    const to = await target();
    const { code, stdout, stderr } = await runCoffer(['server', 'restore', file, '--revoke-tokens'], to);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /3 tokens and sessions from before the backup were revoked/);
    assert.doesNotMatch(stdout, /token_/);
    assert.equal((await runCoffer(['server', 'new-admin-token'], to)).code, 0);
    const service = await spawnService(to);
    const send = sender(service.url);
    for (const token of [admin, owner, revoked.token]) assert.equal((await send('GET', '/auth/me', token)).status, 401);
    const { body } = await send('GET', '/v1/audit?action=server:restore', service.adminToken());
    assert.deepEqual([body.entries[0].details.tokens_good, body.entries[0].details.tokens_ended], [0, 2]);
    assert.equal(body.entries[0].rows.length, 2, 'and tells which');
    const verified = await send('GET', '/v1/audit/verify', service.adminToken());
    assert.equal(verified.body.valid, true, verified.text);
    await stopService(service);
  });

  if (kind === 'postgres') {
    test('starts only when its restore is recorded; the same backup finishes one that was killed', async () => {
      const to = await target();
      assert.equal((await runCoffer(['server', 'restore', file], to)).code, 0);
      const [{ value: madeAt } = { value: '' }] = await rows(
        to,
        `select substring(entries from 'backup_made_at\\\\":\\\\"([^\\\\]+)') as value from audit_segments where entries like '%server:restore%'`,
      );
      assert.match(String(madeAt), /^2/);
      // As it is after all rows are in, and before the transaction that records it.
      await rows(to, `update installation set root_key_id = 'restoring ${madeAt}'`);
      const started = await runService(to);
      assert.equal(started.code, 1);
      assert.match(started.stderr, /A restore into this database was interrupted: run "coffer server restore"/);
      const other = join(folder, 'another.backup');
      assert.equal((await runCoffer(['server', 'backup', other], from)).code, 0);
      assert.match((await runCoffer(['server', 'restore', other], to)).stderr, /already/);
      const finished = await runCoffer(['server', 'restore', file, '--revoke-tokens'], to);
      assert.equal(finished.code, 0, finished.stderr);
      const service = await spawnService(to);
      assert.equal((await sender(service.url)('GET', '/auth/me', admin)).status, 401);
      await stopService(service);
    });
  }
});
