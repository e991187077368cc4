import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { TOKENS } from '../../server/src/features/tokens/storage/index.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { addToken, ok } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { runCoffer } from '../support/process.ts';
import { recorded } from '../support/rows.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addVault, auditOf, runPurges, secretUrl } from '../support/vaults.ts';

const JOB = 'forget-expired-tokens';
const TOO_MANY = 101;

/** Tokens that were over long ago, more of them than one run may remove. */
async function makeExpired(service: Service): Promise<void> {
  const made: string[] = [];
  for (let n = 0; n < TOO_MANY; n++) made.push((await addToken(service, service.adminToken)).id);
  const { kernel } = service.app;
  const { tenant } = await ok(service.call('GET', '/auth/me'));
  await recorded(kernel, tenant.id, (tx) =>
    TOKENS.updateWhere(tx, (eb) => eb('token_id', 'in', made), { expires_at: kernel.clock.now() - 60 * DAY_MS }),
  );
}

async function tokensIn({ app }: Service): Promise<number> {
  return (await app.kernel.database.read.selectFrom('tokens').select('token_id').execute()).length;
}

onBothDatabases('coffer server allow-purge', (kind) => {
  test('lets a job that was refused run once, for who has the machine, and is recorded', async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const stored = { ...(databaseUrl !== undefined && { databaseUrl }), keepData: true };
    let service = await startService(kind, stored);
    const { dataDir } = service;
    const refusal = /a job would delete more than its limit: nothing was deleted/;
    const allow = (job: string) => runCoffer(['server', 'allow-purge', job], { dataDir, databaseUrl });
    /** On SQLite the command needs the folder for itself. */
    const aside = async (act: () => Promise<void>) => {
      if (kind === 'postgres') return act();
      const at = service.clock.now();
      await service.close();
      await act();
      service = await startService(kind, { ...stored, dataDir, at });
      service.expectErrorLogs(refusal);
    };
    service.expectErrorLogs(refusal);
    await makeExpired(service);
    await runPurges(service);
    assert.equal(await tokensIn(service), TOO_MANY + 1);

    await aside(async () => {
      const other = await allow('purge-vaults');
      assert.deepEqual([other.code, other.stdout], [1, '']);
      assert.equal(
        other.stderr,
        `The job "purge-vaults" was not refused, so there is nothing to allow. Refused jobs: ${JOB}.\n`,
      );
      const { code, stdout, stderr } = await allow(JOB);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^The job forget-expired-tokens may remove more than its limit once, until \S+Z\. /);
    });
    await runPurges(service);
    assert.equal(await tokensIn(service), 1);
    const [entry] = await auditOf(service, 'action=jobs:allow_purge');
    assert.deepEqual(
      [entry.actor.kind, entry.actor.id, entry.resource, entry.details.job],
      ['system', 'operator', `job/${JOB}`, JOB],
    );
    assert.equal((await ok(service.call('GET', '/v1/audit/verify'))).valid, true);

    await makeExpired(service);
    await runPurges(service);
    assert.equal(await tokensIn(service), TOO_MANY + 1, 'it was good for one run');
    await service.close();
    rmSync(dataDir, { recursive: true });
  });

  test('accept-clock: a clock that was ahead and is right again is trusted once an operator says so', async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const stored = { ...(databaseUrl !== undefined && { databaseUrl }), keepData: true };
    const ahead = await startService(kind, { ...stored, at: Date.now() + 400 * DAY_MS });
    const { dataDir } = ahead;
    const vault = await addVault(ahead);
    await ahead.close();
    const accept = () => runCoffer(['server', 'accept-clock'], { dataDir, databaseUrl });

    const before = await startService(kind, { ...stored, dataDir });
    assert.equal(await before.app.kernel.clockGuard.check(), null);
    await before.close();
    const { code, stdout, stderr } = await accept();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^The time is \S+Z; records up to \S+Z are treated as written by a clock that was ahead\.\n$/);

    const right = await startService(kind, { ...stored, dataDir, keepData: false });
    assert.notEqual(await right.app.kernel.clockGuard.check(), null);
    assert.equal((await auditOf(right, 'action=server:accept_clock')).length, 1);
    await ok(right.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path: 'a', value: 'kept' } }), 201);
    await ok(right.call('DELETE', secretUrl(vault, 'a')));
    right.clock.advance(DAY_MS);
    await runPurges(right);
    await ok(right.call('POST', secretUrl(vault, 'a', 'restore')));
    await right.close();
  });
});

test('accept-clock has nothing to do where nothing was recorded later', async () => {
  const service = await startService('sqlite', { keepData: true });
  await service.close();
  const { code, stdout } = await runCoffer(['server', 'accept-clock'], { dataDir: service.dataDir });
  assert.deepEqual([code, stdout], [0, 'No record is later than the clock; nothing was changed.\n']);
  rmSync(service.dataDir, { recursive: true });
});
