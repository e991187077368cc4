import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { assertChainValid } from '../support/load.ts';
import { ELECTION_MS, PatroniCluster, type PatroniPrograms, patroniPrograms } from '../support/patroni.ts';
import { newDataDir, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { until } from '../support/until.ts';
import { Writers } from '../support/writers.ts';

const MEMBERS = 3;
const SOME = 10;
const programs = patroniPrograms();
const skip = 'missing' in programs ? programs.missing : false;

describe('two nodes on a cluster of Patroni with a synchronous standby', { skip }, () => {
  let cluster: PatroniCluster;
  let nodes: ServiceProcess[];
  let writers: Writers;

  before(async () => {
    cluster = new PatroniCluster(programs as PatroniPrograms);
    await cluster.start(MEMBERS);
    const first = await spawnService({ databaseUrl: cluster.url });
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    copyFileSync(join(first.dataDir, 'root.key'), join(dataDir, 'root.key'));
    nodes = [first, await spawnService({ databaseUrl: cluster.url, dataDir })];
    writers = new Writers(first.adminToken());
    assert.equal(await writers.makeVault(first.url), 201);
    for (const [i, { url }] of nodes.entries()) writers.start(String(i), url);
    await bothAcknowledge();
  });
  after(async () => {
    await writers?.stop();
    await cluster?.remove();
  });

  async function bothAcknowledge(): Promise<void> {
    const before = nodes.map((_, i) => writers.by(String(i)).length);
    const isMore = (_: unknown, i: number) => writers.by(String(i)).length > (before[i] ?? 0) + SOME;
    await until('both nodes acknowledge writes', () => nodes.every(isMore), ELECTION_MS);
  }

  /** Loses the leader in some way, and says how long each node needed until it acknowledged a write again. */
  async function whileLost(t: TestContext, lose: (leader: string) => Promise<void> | void): Promise<string> {
    const former = await cluster.leader();
    const lostAt = performance.now();
    await lose(former);
    await until(
      'another member leads',
      async () => (await cluster.leaders()).some(({ name }) => name !== former),
      ELECTION_MS,
    );
    const electedAt = performance.now();
    await bothAcknowledge();
    const seconds = (ms: number) => (ms / 1000).toFixed(1);
    const again = nodes.map((_, i) => {
      const acks = writers.by(String(i)).map(({ at }) => at);
      // The first write after the longest pause: what was on its way when the leader was lost may still arrive.
      const pauses = acks.map((at, n) => ({ at, ms: at - Math.max(acks[n - 1] ?? at, lostAt) }));
      const longest = pauses.filter(({ at }) => at > lostAt).reduce((a, b) => (b.ms > a.ms ? b : a));
      return seconds(longest.at - lostAt);
    });
    t.diagnostic(
      `a new leader after ${seconds(electedAt - lostAt)} s; the nodes acknowledged writes again after ${again.join(' and ')} s`,
    );
    return former;
  }

  test('the leader is killed under load', async (t) => {
    const former = await whileLost(t, (leader) => cluster.killMember(leader));
    cluster.startMember(former);
    await cluster.untilWhole();
  });

  test('the leader is partitioned under load', async (t) => {
    const former = await whileLost(t, (leader) => cluster.setConnected(leader, false));
    cluster.setConnected(former, true);
    await cluster.untilWhole();
    await bothAcknowledge();
  });

  test('nothing acknowledged is lost', async (t) => {
    await writers.stop();
    for (const { url } of nodes) assert.equal(await writers.lost(url), 0);
    await assertChainValid(String(nodes[0]?.url), String(nodes[0]?.adminToken()));
    const other = [...writers.answers].filter(([answer]) => !answer.endsWith(' 201'));
    for (const [answer] of other) assert.match(answer, / 503$/, 'requests were only put off');
    t.diagnostic(
      `${writers.acknowledged.length} writes acknowledged, 0 lost; other answers, by node and status: ` +
        other.map(([answer, n]) => `${answer}: ${n}`).join(', '),
    );
    for (const node of nodes) {
      await stopService(node);
      assert.equal(node.stderr(), '');
    }
  });
});
