import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import packageJson from '../../server/package.json' with { type: 'json' };
import { BalancedNodes } from '../support/balanced-nodes.ts';
import { complaints, logLines } from '../support/log-lines.ts';
import { metricsText } from '../support/metric-lines.ts';
import { MixedLoad } from '../support/mixed-load.ts';
import { NEXT_RELEASE, nextRelease } from '../support/next-release.ts';
import { ok } from '../support/people.ts';
import { runCoffer, runService, type ServiceProcess, stopService } from '../support/process.ts';
import { programOf } from '../support/running-program.ts';
import { call } from '../support/service.ts';
import { until } from '../support/until.ts';

const program = programOf('haproxy');
const skip = 'missing' in program ? program.missing : false;
const path = 'path' in program ? program.path : '';
const SHOWN = 5;

describe('two nodes behind a load balancer that repeats nothing', { skip }, () => {
  test('are upgraded one after the other without one failed request, if the new schema only adds', async (t: TestContext) => {
    const next = nextRelease({ isAdditive: true });
    const nodes = await BalancedNodes.start(path);
    const { token } = nodes;
    await MixedLoad.prepare(nodes.node(0).url, token);
    const load = new MixedLoad();
    load.start(nodes.url, token);
    await load.more();

    const [first, second] = [nodes.node(0), nodes.node(1)];
    await stopService(first);
    await load.more();
    const upgraded = await nodes.startAgain(0, { root: next.root });
    assert.equal(startOf(upgraded)['schema'], next.schema);
    assert.equal(startOf(second)['schema'], next.schema - 1);
    await load.more();
    // Both releases work side by side, and the installation says so.
    assert.deepEqual((await releasesOf(upgraded, token)).toSorted(), [THIS_RELEASE, NEXT_RELEASE].toSorted());
    assert.match(await metricsOf(second, token), new RegExp(`^coffer_build_info\\{[^}]*"${THIS_RELEASE}"`, 'm'));
    assert.match(await metricsOf(upgraded, token), new RegExp(`^coffer_build_info\\{[^}]*"${NEXT_RELEASE}"`, 'm'));
    // A node of the older release that crashes meanwhile can be started again.
    await stopService(second);
    const again = await nodes.startAgain(1);
    assert.equal(startOf(again)['schema'], next.schema - 1);
    await load.more();
    await stopService(again);
    await load.more();
    const last = await nodes.startAgain(1, { root: next.root });
    await load.more();

    await load.stop();
    t.diagnostic(`${load.answered} requests, ${load.failures.length} failed`);
    assert.deepEqual(load.failures.slice(0, SHOWN), []);
    assert.deepEqual(await load.lost(nodes.url, token), []);
    const verdict = await ok(call(nodes.url, 'GET', '/v1/audit/verify', { token }));
    assert.equal(verdict.valid, true, JSON.stringify(verdict));
    for (const node of [upgraded, last]) await stopService(node);
    for (const node of [first, second, again, upgraded, last]) assert.deepEqual(complaints(node), []);
    await nodes.stopBalancer();
  });

  test('end at once when the operator has them ended, and no write is lost', async (t: TestContext) => {
    const next = nextRelease({ isAdditive: false });
    const nodes = await BalancedNodes.start(path);
    const { token } = nodes;
    await MixedLoad.prepare(nodes.node(0).url, token);
    const load = new MixedLoad();
    load.start(nodes.url, token);
    await load.more();

    const [first, second] = [nodes.node(0), nodes.node(1)];
    await stopService(first);
    await load.more();
    assert.deepEqual(load.failures.slice(0, SHOWN), [], 'nothing failed before the new schema');
    const options = { databaseUrl: nodes.databaseUrl, dataDir: first.dataDir, root: next.root };
    const beside = await runService(options);
    assert.equal(beside.code, 1);
    assert.match(beside.stderr, /Nodes of an earlier release are running on this database/);
    await load.more();
    assert.deepEqual(load.failures.slice(0, SHOWN), [], 'the older node goes on');
    const migrated = await runCoffer(['server', 'migrate', '--end-older-nodes'], options);
    assert.equal(migrated.code, 0, migrated.stderr);
    const upgraded = await nodes.startAgain(0, { root: next.root });
    const { code } = await second.exited;
    assert.equal(code, 1, 'the older node ends by itself');
    const fenced = logLines(second).find(({ msg }) => /this node serves nothing more/.test(msg));
    assert.ok(fenced !== undefined);
    assert.deepEqual(
      [fenced.level, fenced['schema'], fenced['oldest_allowed'], fenced['what_to_do']],
      ['error', next.schema - 1, next.schema, 'Start this node with the newer release.'],
    );
    await load.more({ isFailing: true });
    const failedBefore = load.failures.length;
    await load.more({ isFailing: true });
    assert.equal(load.failures.length, failedBefore, 'the new node alone fails nothing');
    await load.stop();
    t.diagnostic(`${load.answered} requests, ${load.failures.length} failed while the older node ended`);
    // The balancer has sent some to the older node before it knew. None of them was answered with what is wrong.
    const others = load.failures.filter((failure) => !/^503 |ECONN|socket|other side/i.test(failure));
    assert.deepEqual(others.slice(0, SHOWN), []);
    assert.deepEqual(await load.lost(upgraded.url, token), []);
    assert.equal((await ok(call(upgraded.url, 'GET', '/v1/audit/verify', { token }))).valid, true);
    await until('the older node is listed no more, or as what it was', async () =>
      (await releasesOf(upgraded, token)).includes(NEXT_RELEASE),
    );

    const refused = await runService({ databaseUrl: nodes.databaseUrl, dataDir: second.dataDir });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /newer than this release supports .* Start a newer release\./);
    await stopService(upgraded);
    await nodes.stopBalancer();
  });
});

const THIS_RELEASE = packageJson.version;

/** The line that says that a node is ready, with its release and schema. */
function startOf(node: ServiceProcess): Record<string, unknown> {
  return logLines(node).find(({ msg }) => msg.startsWith('Coffer is ready')) ?? assert.fail('it is not ready');
}

function metricsOf({ url }: ServiceProcess, token: string): Promise<string> {
  return metricsText({ call: (method, to) => call(url, method, to, { token }) });
}

async function releasesOf({ url }: ServiceProcess, token: string): Promise<string[]> {
  const { nodes } = await ok(call(url, 'GET', '/admin/nodes', { token }));
  return [...new Set<string>(nodes.map(({ release }: { release: string }) => release))];
}
