import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CofferClient } from '../agent/src/coffer-client.ts';
import { runEndpointAgent } from '../agent/src/endpoint/endpoint-agent.ts';
import { scanHost } from '../agent/src/endpoint/scan.ts';
import { newLog } from '../agent/src/log.ts';
import { readSettings } from '../agent/src/settings.ts';
import { addCluster, type TestCluster } from './support/fleet.ts';
import { ed25519Line, HostRoot, newFolder } from './support/host-root.ts';
import { ok } from './support/people.ts';
import { onSqliteAtLanding, type Service, startService } from './support/service.ts';

onSqliteAtLanding('the agent of a host and the service', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  /** One scan, as `--once` makes it; what was logged comes back with whether it succeeded. */
  async function runOnce(host: HostRoot, cluster: TestCluster) {
    const tokenFile = join(newFolder(), 'token');
    writeFileSync(tokenFile, cluster.cluster_token);
    const settings = readSettings(['--once', '--root', host.path], {
      CV_GUARDIAN_MODE: 'endpoint',
      CV_URL: service.url,
      CV_CLUSTER_ID: cluster.id,
      CV_CLUSTER_TOKEN_FILE: tokenFile,
    });
    assert.ok(settings !== 'help');
    const lines: string[] = [];
    const isDone = await runEndpointAgent({
      settings,
      client: new CofferClient(settings),
      log: newLog((line) => lines.push(line)),
      signal: new AbortController().signal,
      now: () => new Date(service.clock.now()),
    });
    return { isDone, log: lines.join('') };
  }

  test('what the agent reports is listed with its fingerprints', async () => {
    const cluster = await addCluster(service, { kind: 'hosts' });
    const host = new HostRoot();
    host.account('anna', [
      ed25519Line(1, 'anna@laptop'),
      `expiry-time="20200101" ${ed25519Line(2, '\u001b[1m=cmd()')}`,
    ]);
    host.account('nobody', null, { shell: '/usr/sbin/nologin' });
    const { isDone, log } = await runOnce(host, cluster);
    assert.ok(isDone, log);
    const { report } = scanHost({ root: host.path, clusterId: cluster.id, now: new Date() });
    const { accounts } = await ok(service.call('GET', `/endpoint-discovery/accounts?host=${report.host_id}`));
    assert.deepEqual(
      accounts.map(({ username, hostname }: Record<string, string>) => [username, hostname]),
      [['anna', 'web-1']],
    );
    const { ssh_keys } = await ok(service.call('GET', `/endpoint-discovery/accounts/${accounts[0].id}`));
    const byFingerprint = (a: { fingerprint_sha256: string }, b: { fingerprint_sha256: string }) =>
      a.fingerprint_sha256 < b.fingerprint_sha256 ? -1 : 1;
    assert.deepEqual(
      ssh_keys.toSorted(byFingerprint).map(({ first_seen_at: _, ...key }: { first_seen_at: string }) => key),
      report.accounts[0]?.ssh_keys.toSorted(byFingerprint),
    );
  });

  test('the largest report that the agent makes is accepted', async () => {
    const cluster = await addCluster(service, { kind: 'hosts' });
    const host = new HostRoot();
    for (let i = 0; i < 20; i++) {
      const comment = '\u0001"\\ü'.repeat(120);
      host.account(
        `u${i}`,
        Array.from({ length: 1000 }, (_, key) => ed25519Line(i * 1000 + key, comment)),
      );
    }
    const { isDone, log } = await runOnce(host, cluster);
    assert.ok(isDone, log);
  });

  test('a revoked token is refused, and the agent says so without it', async () => {
    const cluster = await addCluster(service, { kind: 'hosts' });
    await ok(service.call('POST', `/clusters/${cluster.id}/rotate-token`, { body: {} }));
    const { isDone, log } = await runOnce(new HostRoot(), cluster);
    assert.equal(isDone, false);
    assert.match(log, /401 INVALID_TOKEN/);
    assert.ok(!log.includes(cluster.cluster_token));
  });
});
