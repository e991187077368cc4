import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertOnlyPutOff, assertSaysSo, assertUnharmed, untilReady } from '../support/faults.ts';
import { assertChainValid, isWrite, Load } from '../support/load.ts';
import { newPostgresDatabase, type PostgresServer, query, startPostgres, startStandby } from '../support/postgres.ts';
import { newDataDir, pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { DatabaseProxy } from '../support/proxy.ts';

let primary: PostgresServer;
let standby: PostgresServer;
let proxy: DatabaseProxy;
let nodes: ServiceProcess[];

before(async () => {
  primary = await startPostgres();
  standby = await startStandby(primary);
  proxy = await DatabaseProxy.before(primary.url);
  const databaseUrl = proxy.through(await newPostgresDatabase(primary));
  const first = await spawnService({ databaseUrl });
  const dataDir = newDataDir();
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(join(first.dataDir, 'root.key'), join(dataDir, 'root.key'));
  nodes = [first, await spawnService({ databaseUrl, dataDir })];
});
after(async () => {
  await standby?.remove();
  await primary?.remove();
});

test('two nodes go on with the standby, without a restart, and nothing acknowledged is lost', async (t) => {
  const token = String(nodes[0]?.adminToken());
  const loads = nodes.map(({ url }) => {
    const load = new Load();
    load.start(url, token);
    return load;
  });
  await pause(1500);
  await primary.kill();
  proxy.reset();
  await pause(1000);
  for (const [i, node] of nodes.entries()) await assertSaysSo({ ...node, adminToken: () => token }, loads[i] as Load);

  proxy.target = Number(new URL(standby.url).port);
  await pause(1500);
  for (const [i, node] of nodes.entries()) {
    await assertSaysSo({ ...node, adminToken: () => token }, loads[i] as Load);
    assert.match(node.stdout(), /"what_to_do":"PostgreSQL accepts no writes: it is a standby/);
  }

  const acknowledgedBefore = loads.map((load) => load.acknowledged.length);
  const [promoted] = await query(standby.url, 'select pg_promote() as done');
  assert.equal(promoted?.['done'], true);
  const readyMs = await Promise.all(nodes.map(({ url }) => untilReady(url)));
  await pause(1500);
  for (const load of loads) await load.stop();

  for (const [i, load] of loads.entries()) {
    assertOnlyPutOff(load);
    assert.ok(load.refused.length > 0, 'requests were refused meanwhile');
    assert.ok(load.acknowledged.length > (acknowledgedBefore[i] ?? 0) + 20, 'it works again');
  }
  const acknowledged = loads.flatMap((load) => load.acknowledged);
  for (const { url } of nodes) await assertChainValid(url, token);
  await assertUnharmed(String(nodes[1]?.url), token, acknowledged);
  const refused = loads.reduce((sum, load) => sum + load.refused.length, 0);
  t.diagnostic(
    `${acknowledged.filter(isWrite).length} writes and ${acknowledged.filter((one) => !isWrite(one)).length} reads acknowledged, ` +
      `${refused} refused, ready ${readyMs.join(' and ')} ms after the promotion`,
  );
  for (const node of nodes) {
    await stopService(node);
    assert.equal(node.stderr(), '');
  }
});
