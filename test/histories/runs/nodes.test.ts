import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { postgresPrograms } from '../../support/installed-postgres.ts';
import { noPreloadedClock } from '../../support/preloaded-clock.ts';
import { runCoffer, stopService } from '../../support/process.ts';
import { call } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { collect, Verifier } from '../collect.ts';
import { Nemesis } from '../nemesis.ts';
import { assertHolds, SECONDS, SEED } from '../run.ts';
import { TwoNodes } from '../two-nodes.ts';
import { noAnswer, type Place, Workload } from '../workload.ts';

const programs = postgresPrograms();
const skip = 'missing' in programs ? programs.missing : noPreloadedClock;
const HEALS_WITHIN_MS = 120_000;

/** A node whose workers were all killed is not listening until one of them is replaced. */
async function isReady(node: Place): Promise<boolean> {
  const answer = await call(node.url(), 'GET', '/health/ready', { token: null }).catch(noAnswer);
  return answer?.status === 200;
}

describe('two nodes with workers on PostgreSQL', { skip }, () => {
  let two: TwoNodes;
  let workload: Workload;
  let verifier: Verifier;

  before(async () => {
    two = await TwoNodes.start('bin' in programs ? programs.bin : '');
    workload = new Workload(two.nodes, two.token, SEED);
    verifier = new Verifier(two.nodes, two.token);
    await workload.prepare();
  });
  after(async () => {
    await workload?.stop();
    await verifier?.stop();
  });

  test(`keep what they acknowledge, in order, audited and without alarm, from seed ${SEED}`, async (t) => {
    const nemesis = new Nemesis(two.faults(), SEED);
    workload.start();
    verifier.start();
    await nemesis.run(SECONDS);
    for (const node of two.nodes) await until(`${node.name} is ready`, () => isReady(node), HEALS_WITHIN_MS);
    await workload.stop();
    await verifier.stop();
    const history = await collect(two.nodes, two.token, workload.operations, verifier);
    assertHolds(t, 'nodes', history, nemesis);
  });

  test('what they leave is found valid by the operator’s command too', async () => {
    for (const { service } of two.nodes) await stopService(service);
    const options = { dataDir: String(two.nodes[0]?.dataDir), databaseUrl: two.databaseUrl };
    const { code, stdout, stderr } = await runCoffer(['server', 'verify'], options);
    assert.equal(code, 0, stdout + stderr);
  });
});
