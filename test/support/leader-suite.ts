import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KubeClient } from '../../agent/src/cluster/kube-client.ts';
import { LEASE_SECONDS, LeaderElection, RENEW_SECONDS } from '../../agent/src/cluster/leader.ts';
import type { OpenCluster } from './cluster-api.ts';

/** Which of several operators leads, the same for every API server. */
export function testLeaderElection(where: string, open: OpenCluster): void {
  async function candidates() {
    const api = await open(['shop']);
    const kube = new KubeClient({
      kubernetesUrl: new URL(api.url),
      kubernetesTokenFile: api.tokenFile,
      kubernetesCaFile: api.caFile,
    });
    const clock = { ms: 0 };
    const [a, b] = ['a', 'b'].map(
      (identity) => new LeaderElection(kube, { namespace: 'coffer', identity }, () => clock.ms),
    );
    assert.ok(a && b);
    return { api, a, b, clock, signal: new AbortController().signal };
  }

  describe(`leader election, ${where}`, () => {
    test('of two candidates at once, one leads', async () => {
      const { a, b, signal } = await candidates();
      const leads = await Promise.all([a.tick(signal), b.tick(signal)]);
      assert.equal(leads.filter((isLeader) => isLeader).length, 1);
    });

    test('a Lease that is renewed is never acquired by another; one that is not is acquired after its duration', async () => {
      const { a, b, clock, signal } = await candidates();
      assert.equal(await a.tick(signal), true);
      for (let i = 0; i < 20; i++) {
        clock.ms += 2000;
        assert.equal(await a.tick(signal), true);
        assert.equal(await b.tick(signal), false);
      }
      clock.ms += LEASE_SECONDS * 1000;
      assert.equal(await b.tick(signal), false, 'the last renewal was seen just that long ago');
      clock.ms += 1;
      assert.equal(a.isLeader, false, 'the old leader had stopped before');
      assert.equal(await b.tick(signal), true);
      const leading = a.signal;
      assert.equal(await a.tick(signal), false);
      assert.equal(leading.aborted, true, 'what the old leader had begun is stopped');
    });

    test('a leader that cannot reach the API server stops before its Lease runs out', async () => {
      const { api, a, clock, signal } = await candidates();
      await a.tick(signal);
      await api.stop();
      clock.ms += 2000;
      await assert.rejects(a.tick(signal), /no answer/);
      assert.equal(a.isLeader, true, 'one failure is not the end');
      clock.ms += RENEW_SECONDS * 1000;
      await assert.rejects(a.tick(signal), /no answer/);
      assert.equal(a.isLeader, false);
      assert.equal(a.signal.aborted, true);
      assert.ok(RENEW_SECONDS < LEASE_SECONDS);
      await api.start();
    });

    test('after a restart of the API server the leader goes on', async () => {
      const { api, a, b, clock, signal } = await candidates();
      await a.tick(signal);
      await api.stop();
      await assert.rejects(a.tick(signal));
      await api.start();
      clock.ms += 2000;
      assert.equal(await a.tick(signal), true);
      assert.equal(await b.tick(signal), false);
    });

    test('a released Lease is acquired at once', async () => {
      const { a, b, signal } = await candidates();
      await a.tick(signal);
      await a.release(signal);
      assert.equal(a.isLeader, false);
      assert.equal(await b.tick(signal), true);
      await a.release(signal);
      assert.equal(await b.tick(signal), true, 'who does not hold it gives nothing back');
    });
  });
}
