import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { assertModes } from '../support/data-folder.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import {
  assertWorks,
  killService,
  newDataDir,
  pause,
  randomBetween,
  spawnService,
  startServiceProcess,
  stopService,
} from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';

onBothDatabases('a first start killed at any instant', (database) => {
  test('is made good by the next one', async (t) => {
    const usual = await spawnService({ dataDir: newDataDir() });
    await stopService(usual);
    let [kills, beforeReady] = [0, 0];
    for (let folder = 0; folder < 3; folder++) {
      const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
      const dataDir = newDataDir();
      for (let kill = 0; kill < 3; kill++) {
        const started = startServiceProcess({ dataDir, databaseUrl });
        // The last third of a start is where things are made; the rest of it loads code.
        await pause(randomBetween(usual.readyMs * (kill === 0 ? 0.1 : 0.6), usual.readyMs * 1.05));
        if (started.stdout() === '') beforeReady++;
        kills++;
        await killService(started);
      }
      const service = await spawnService({ dataDir, databaseUrl });
      await assertWorks(service);
      const { body } = await call(service.url, 'GET', '/v1/tenants', { token: service.adminToken() });
      assert.equal(body.tenants.length, 1);
      await stopService(service);
      const expected = ['admin.token', 'audit.anchor', 'ca.pem', 'coffer.db', 'lock', 'root.key'];
      for (const name of readdirSync(dataDir)) assert.ok(expected.includes(name), `${name} was left behind`);
      assertModes(dataDir);
    }
    t.diagnostic(`${kills} kills, ${beforeReady} of them before it was ready`);
  });
});
