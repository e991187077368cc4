import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DAY_MS, timestamp } from '../../server/src/kernel/base/clock.ts';
import { archive, archivesOf, grow, prune } from '../support/audit-growth.ts';
import { verified } from '../support/audit-retention.ts';
import { ok } from '../support/people.ts';
import { newMigratedDatabase } from '../support/postgres.ts';
import { runCoffer } from '../support/process.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addVault } from '../support/vaults.ts';

const VERIFY = join(import.meta.dirname, '../../cli/src/verify/main.ts');

/** Without a network, an environment, or anything of the service beside it. */
function offline(...args: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [VERIFY, ...args], { env: {} }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr });
    });
  });
}

onBothDatabases('archived ranges of an audit log', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-archive-'));
  const dataDir = mkdtempSync(join(tmpdir(), 'coffer-test-'));
  const env = { CV_AUDIT_ARCHIVE: folder, CV_AUDIT_KEEP_DAYS: '1' };
  let databaseUrl: string | undefined;
  let service: Service;
  let tenantId: string;
  let files: string[];
  let archived: { first: number; last: number };

  const start = (at: number) =>
    startService(database, { env, dataDir, keepData: true, at, ...(databaseUrl !== undefined && { databaseUrl }) });
  const coffer = (...args: string[]) => runCoffer(['server', 'audit-restore', ...args], { dataDir, databaseUrl, env });

  before(async () => {
    databaseUrl = database === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await start(Date.now() - 20 * DAY_MS);
    tenantId = service.app.kernel.operatorTenantId;
    for (let range = 0; range < 2; range++) {
      await grow(service, await addVault(service));
      await archive(service);
    }
    await prune(service);
    const rows = await archivesOf(service);
    assert.equal(rows.length, 2);
    files = rows.map(({ object }) => join(folder, object));
    archived = { first: Number(rows[0]?.last_at), last: Number(rows[1]?.last_at) };
  });
  after(async () => {
    await service.close();
    for (const one of [folder, dataDir]) rmSync(one, { recursive: true, force: true });
  });

  test('are verified offline by their signatures', async () => {
    const page = await ok(service.call('GET', '/v1/audit/checkpoints?limit=1000'));
    const checkpoints = join(dataDir, 'checkpoints.json');
    writeFileSync(checkpoints, JSON.stringify(page));
    const trust = ['--checkpoints', checkpoints, '--key', page.keys.at(-1).key_id];
    const [first = '', second = ''] = files;
    const good = await offline('--archive', first, '--archive', second, ...trust);
    assert.deepEqual([good.code, good.out.trim().split('\n').at(-1)], [0, 'OK'], good.out);
    const content = readFileSync(first);
    const end = content.indexOf(10);
    const header = JSON.parse(content.subarray(0, end).toString());
    const write = (name: string, changed: object, body = content.subarray(end + 1)) => {
      const file = join(dataDir, name);
      writeFileSync(file, Buffer.concat([Buffer.from(`${JSON.stringify({ ...header, ...changed })}\n`), body]));
      return file;
    };
    for (const [file, expected] of [
      [write('truncated', {}, content.subarray(end + 1, -1)), /other content/],
      [write('renumbered', { first_seq: 2 }), /invalid signature/],
      [write('of-another', { tenant_id: 'tenant_other' }), /invalid signature/],
      [write('unsigned', { signature: '' }), /invalid signature/],
      [write('unknown-key', { key_id: `rsa-pss-3072-${'0'.repeat(40)}` }), /neither a key given/],
    ] as const) {
      const { code, out } = await offline('--archive', file, ...trust);
      assert.deepEqual([code, expected.test(out)], [1, true], out);
    }
    const gap = await offline('--archive', second, '--archive', first, '--archive', first, ...trust);
    assert.match(gap.out, /does not follow/);
    writeFileSync(join(dataDir, 'other'), 'no archive');
    for (const args of [
      ['--archive', join(dataDir, 'other'), ...trust],
      ['--archive', first],
      ['--archive', first, '--log', first, ...trust],
    ]) {
      assert.equal((await offline(...args)).code, 2, args.join(' '));
    }
  });

  test('are not restored without a choice, from a wrong file, or if there are none', async () => {
    await service.close();
    for (const [args, expected] of [
      [[], /--tenant/],
      [['--tenant', tenantId, '--from', 'yesterday'], /--from must be a time/],
      [[join(dataDir, 'nothing')], /There is no file/],
      [[join(dataDir, 'other')], /not an archive/],
      [[join(dataDir, 'of-another')], /no record of such an archive/],
      [[join(dataDir, 'truncated')], /changed or truncated/],
      [[join(dataDir, 'unsigned')], /signature/],
    ] as const) {
      const { code, stderr } = await coffer(...args);
      assert.deepEqual([code, expected.test(stderr)], [1, true], `${args.join(' ')}: ${stderr}`);
    }
    const none = await coffer('--tenant', 'tenant_none');
    assert.match(none.stdout, /nothing was restored/);
  });

  test('are searchable again by time or by file, once', async () => {
    const [, second = ''] = files;
    const byTime = await coffer('--tenant', tenantId, '--to', timestamp(archived.first), '--days', '5');
    assert.match(byTime.stdout, /entries from .* are searchable for 5 days/, byTime.stderr);
    assert.equal(byTime.stdout.trim().split('\n').length, 1);
    const byFile = await coffer(second);
    assert.equal(byFile.code, 0, byFile.stderr);
    const again = await coffer(second);
    assert.deepEqual([again.code, /in the database already/.test(again.stderr)], [1, true], again.stderr);
    service = await start(Date.now());
    const { valid, archived: away } = await verified(service);
    assert.deepEqual([valid, away], [true, 0]);
    const page = await ok(service.call('GET', `/v1/audit?to=${timestamp(archived.first + 1)}&limit=10`));
    assert.equal(page.entries.length, 10);
  });
});
