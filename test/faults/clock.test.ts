import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { Clocked } from '../support/clocked.ts';
import { assertUnharmed } from '../support/faults.ts';
import { Load } from '../support/load.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause, runCoffer, stopService } from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';

const NOTICED_WITHIN_MS = 3000;

/** Once the service had the time to notice what was done to its clock. */
async function readiness(url: string): Promise<number> {
  await pause(NOTICED_WITHIN_MS);
  return (await call(url, 'GET', '/health/ready')).status;
}

onBothDatabases('a clock that jumps', (kind) => {
  const databaseOf = async () => (kind === 'postgres' ? newPostgresDatabase() : undefined);

  test('forwards and back, under load: nothing is lost, tokens and jobs go on, and nothing is refused but with a clock that is known to be wrong', async (t) => {
    const clocked = new Clocked(await databaseOf());
    const service = await clocked.start(0);
    const token = service.adminToken();
    const load = new Load();
    load.start(service.url, token);
    await clocked.untilJobsRunAt(0);
    const tokens: string[] = [];
    for (const days of [40, -3, 20, -60, 0]) {
      if (kind === 'postgres' && days !== 0) {
        // Its clock is compared with the database's: until it is right, the node answers nobody.
        clocked.tell(days * DAY_MS);
        assert.equal(await readiness(service.url), 503, `at ${days}`);
        const read = await call(service.url, 'GET', '/auth/me', { token });
        assert.deepEqual([read.status, read.body.error.code], [503, 'UNAVAILABLE'], `at ${days}`);
        continue;
      }
      await clocked.set(days * DAY_MS);
      await clocked.untilJobsRunAt(days * DAY_MS);
      const made = await call(service.url, 'POST', '/auth/tokens', {
        token,
        body: { name: `at ${days}`, ttl_days: 300 },
      });
      assert.equal(made.status, 201, made.text);
      tokens.push(made.body.token);
      assert.equal(await readiness(service.url), 200, `at ${days}`);
      for (const one of tokens) assert.equal((await call(service.url, 'GET', '/auth/me', { token: one })).status, 200);
      const checkpoint = await call(service.url, 'POST', '/v1/audit/checkpoints', { token });
      assert.ok(checkpoint.status < 300, checkpoint.text);
    }
    await load.stop();
    const refused = new Set(load.refused.map(({ status }) => status));
    assert.deepEqual([[...refused], load.broken], [kind === 'postgres' ? [503] : [], 0]);
    await assertUnharmed(service.url, token, load.acknowledged);
    for (const { job, last_outcome } of await clocked.jobs()) assert.equal(last_outcome, 'success', job);
    t.diagnostic(`${load.acknowledged.length} requests acknowledged over five jumps`);
    await stopService(service);
    assert.equal(service.stderr(), '');
  });

  test('was ahead at the first start, and is right from the next one on', async () => {
    const clocked = new Clocked(await databaseOf());
    if (kind === 'postgres') {
      const { code, stderr } = await clocked.run(40 * DAY_MS);
      assert.equal(code, 1);
      assert.match(stderr, /^Coffer cannot start\. The clock of this machine is at .* start again\.\n$/);
      await stopService(await clocked.start(0));
      return;
    }
    const first = await clocked.start(40 * DAY_MS);
    const token = first.adminToken();
    const load = new Load();
    load.start(first.url, token);
    await clocked.untilJobsRunAt(40 * DAY_MS);
    await load.stop();
    await stopService(first);

    const again = await clocked.start(0);
    assert.ok(existsSync(join(again.dataDir, 'admin.token')));
    await clocked.untilJobsRunAt(0);
    const made = await call(again.url, 'POST', '/auth/tokens', { token, body: { name: 'signed' } });
    assert.equal(made.status, 201, made.text);
    assert.equal((await call(again.url, 'GET', '/auth/me', { token: made.body.token })).status, 200);
    await assertUnharmed(again.url, token, load.acknowledged);
    assert.match(again.stdout(), /the clock is behind the newest record/);
    assert.match((await call(again.url, 'GET', '/metrics', { token })).text, /^cv_clock_trusted 0$/m);
    await stopService(again);

    const accepted = await runCoffer(['server', 'accept-clock'], { dataDir: again.dataDir });
    assert.equal(accepted.code, 0, accepted.stderr);
    const last = await clocked.start(0);
    assert.match((await call(last.url, 'GET', '/metrics', { token })).text, /^cv_clock_trusted 1$/m);
    await assertUnharmed(last.url, token, load.acknowledged);
    await stopService(last);
  });
});
