import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { BalancedNodes } from '../support/balanced-nodes.ts';
import { complaints, logLines } from '../support/log-lines.ts';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { MixedLoad } from '../support/mixed-load.ts';
import { stopService } from '../support/process.ts';
import { programOf } from '../support/running-program.ts';
import { call } from '../support/service.ts';

const program = programOf('haproxy');
const skip = 'missing' in program ? program.missing : false;
const path = 'path' in program ? program.path : '';
const SHOWN = 5;

describe('two nodes behind a load balancer that repeats nothing', { skip }, () => {
  test('are restarted one after the other without one failed request', async (t: TestContext) => {
    const nodes = await BalancedNodes.start(path);
    await MixedLoad.prepare(nodes.node(0).url, nodes.token);
    const load = new MixedLoad();
    load.start(nodes.url, nodes.token);
    for (let round = 0; round < 2; round++) {
      for (const i of [0, 1]) {
        await load.more();
        const stopped = nodes.node(i);
        await stopService(stopped);
        assert.deepEqual(complaints(stopped), []);
        assert.match(String(logLines(stopped).at(-1)?.msg), /stopped/);
        await load.more();
        await nodes.startAgain(i);
        await load.more();
      }
    }
    await load.stop();
    t.diagnostic(`${load.answered} requests, ${load.failures.length} failed`);
    assert.deepEqual(load.failures.slice(0, SHOWN), []);
    assert.deepEqual(await load.lost(nodes.url, nodes.token), []);
    for (const i of [0, 1]) {
      const { url } = nodes.node(i);
      const text = await metricsText({
        call: (method, to) => call(url, method, to, { token: nodes.token }),
      });
      assert.equal(seriesValue(text, 'cv_database_waits_refused_total{queue="changes"}'), 0);
      assert.doesNotMatch(text, /^cv_http_requests_total\{[^}]*status="5\d\d"[^}]*\} [1-9]/m);
      await stopService(nodes.node(i));
    }
    await nodes.stopBalancer();
  });
});
