import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { assertChainValid, assertNothingLost, isWrite, Load } from '../support/load.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { killService, newDataDir, pause, spawnService, stopService } from '../support/process.ts';
import { Random } from '../support/random.ts';
import { DATABASES, onBothDatabases } from '../support/service.ts';

/** `npm run test:crash` sets many more. They are shared between the databases, which are tested at the same time. */
const KILLS = Math.ceil(Number(process.env['COFFER_TEST_CRASH_KILLS'] ?? 12) / DATABASES.length);
const SEED = Number(process.env['COFFER_TEST_CRASH_SEED'] ?? randomInt(2 ** 31));
/** After the ready line, so that requests are under way at the kill. */
const KILL_AFTER_MS = { min: 50, max: 700 };

describe('crashes', { concurrency: true }, () => {
  onBothDatabases('a process killed at any instant', (database) => {
    test(`loses nothing it acknowledged, in ${KILLS} kills from seed ${SEED}`, async (t) => {
      const random = new Random(SEED);
      const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
      const dataDir = newDataDir();
      const load = new Load();
      for (let kill = 1; kill <= KILLS; kill++) {
        const service = await spawnService({ dataDir, databaseUrl });
        await assertChainValid(service.url, service.adminToken());
        load.start(service.url, service.adminToken());
        await pause(random.integer(KILL_AFTER_MS.min, KILL_AFTER_MS.max));
        await killService(service);
        await load.stop();
      }
      const survivor = await spawnService({ dataDir, databaseUrl });
      const entries = await assertChainValid(survivor.url, survivor.adminToken());
      await assertNothingLost(survivor.url, survivor.adminToken(), load.acknowledged);
      await assertChainValid(survivor.url, survivor.adminToken());
      await stopService(survivor);

      assert.deepEqual(load.refused, [], 'a process that is killed answers or breaks off, and refuses nothing');
      const writes = load.acknowledged.filter(isWrite).length;
      assert.ok(writes > 0 && load.broken > 0, 'the kills came while requests were under way');
      t.diagnostic(
        `${KILLS} kills: ${writes} writes and ${load.acknowledged.length - writes} reads acknowledged, ` +
          `${load.broken} requests without an answer, ${entries} audit entries`,
      );
    });
  });
});
