import assert from 'node:assert/strict';
import { test } from 'node:test';
import { account, hostId, sshKey } from '../support/fleet.ts';
import { assertChainValid, readAll } from '../support/load.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { killService, newDataDir, pause, randomBetween, spawnService, stopService } from '../support/process.ts';
import { type Answer, call, onBothDatabases } from '../support/service.ts';

const KILLS = 6;
/** After the ready line, so that a report and a rotation are under way at the kill. */
const KILL_AFTER_MS = { min: 50, max: 900 };
/** Enough that a report takes several statements, each of them with many rows. */
const ACCOUNTS = 600;
const HOST = 'web-1';

interface Cluster {
  id: string;
  cluster_token: string;
}

/** Sends one report after the other and replaces one token after the other, until the process is gone. */
class Fleet {
  scan = 0;
  acknowledgedScan = 0;
  rotations = 0;
  broken = 0;
  readonly hosts: Cluster;
  readonly rotated: Cluster;
  readonly #startedAt = Date.now();

  constructor(hosts: Cluster, rotated: Cluster) {
    this.hosts = hosts;
    this.rotated = rotated;
  }

  async #untilGone(step: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await step();
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        this.broken++;
        return;
      }
    }
  }

  report(url: string): Promise<void> {
    return this.#untilGone(async () => {
      const scan = ++this.scan;
      // Every account of a scan has its number, so that a mixture of two scans is recognized.
      const accounts = Array.from({ length: ACCOUNTS }, (_, i) =>
        account(`u${i}`, { uid: scan, ssh_keys: [sshKey(`${scan}-${i}`, { comment: `scan ${scan}` })] }),
      );
      const scanned_at = new Date(this.#startedAt + scan).toISOString();
      const body = { host_id: hostId(HOST), hostname: HOST, scanned_at, accounts };
      const headers = { 'x-cluster-token': this.hosts.cluster_token };
      await succeeded(call(url, 'POST', '/kube-guardian/endpoint-accounts', { token: null, headers, body }));
      this.acknowledgedScan = scan;
    });
  }

  rotate(url: string, token: string): Promise<void> {
    return this.#untilGone(async () => {
      const body = { overlap_seconds: 3600 };
      const answer = await succeeded(call(url, 'POST', `/clusters/${this.rotated.id}/rotate-token`, { token, body }));
      this.rotated.cluster_token = answer.cluster_token;
      this.rotations++;
    });
  }

  /** The host has one whole scan, no older than the last one that was acknowledged. */
  async assertOneScan(url: string, token: string): Promise<void> {
    const accounts = await readAll(url, token, '/endpoint-discovery/accounts', 'accounts');
    const scans = new Set(accounts.map(({ uid }) => Number(uid)));
    if (this.acknowledgedScan === 0 && accounts.length === 0) return;
    assert.deepEqual([accounts.length, scans.size], [ACCOUNTS, 1]);
    const [scan = 0] = scans;
    assert.ok(scan >= this.acknowledgedScan, `scan ${scan} is older than ${this.acknowledgedScan}`);
    for (const { id } of [accounts[0], accounts.at(-1)] as { id: string }[]) {
      const { ssh_keys } = await succeeded(call(url, 'GET', `/endpoint-discovery/accounts/${id}`, { token }));
      assert.deepEqual(
        ssh_keys.map(({ comment }: { comment: string }) => comment),
        [`scan ${scan}`],
      );
    }
    const stats = await succeeded(call(url, 'GET', '/endpoint-discovery/stats', { token }));
    assert.deepEqual([stats.hosts_scanned, stats.accounts, stats.ssh_keys], [1, ACCOUNTS, ACCOUNTS]);
  }

  /** The last token that somebody got is accepted: it is the current one, or the one before it. */
  async assertTokenWorks(url: string): Promise<void> {
    const headers = { 'x-cluster-token': this.rotated.cluster_token };
    await succeeded(call(url, 'GET', `/clusters/${this.rotated.id}/desired-state`, { token: null, headers }));
  }
}

async function succeeded(answer: Promise<Answer>, status = 200): Promise<Answer['body']> {
  const { status: actual, text, body } = await answer;
  assert.equal(actual, status, text);
  return body;
}

function isRotation({ action, decision }: Record<string, unknown>): boolean {
  return action === 'clusters:rotate' && decision === 'allow';
}

onBothDatabases('a process killed while hosts report and tokens are replaced', (database) => {
  test(`leaves whole scans and usable tokens, in ${KILLS} kills`, async (t) => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const dataDir = newDataDir();
    let service = await spawnService({ dataDir, databaseUrl });
    const token = service.adminToken();
    const add = (name: string, kind: string) =>
      succeeded(call(service.url, 'POST', '/clusters', { token, body: { name, kind } }), 201);
    const fleet = new Fleet(await add('hosts', 'hosts'), await add('rotated', 'kubernetes'));
    for (let kill = 1; kill <= KILLS; kill++) {
      const { url } = service;
      const working = Promise.all([fleet.report(url), fleet.rotate(url, token)]);
      // Half of the kills come after a scan that was acknowledged, however slow the machine is.
      const { acknowledgedScan } = fleet;
      while (kill % 2 === 1 && fleet.acknowledgedScan === acknowledgedScan) await pause(10);
      await pause(randomBetween(KILL_AFTER_MS.min, KILL_AFTER_MS.max));
      await killService(service);
      await working;
      service = await spawnService({ dataDir, databaseUrl });
      await assertChainValid(service.url, token);
      await fleet.assertOneScan(service.url, token);
      await fleet.assertTokenWorks(service.url);
    }
    const entries = await readAll(service.url, token, '/v1/audit', 'entries');
    const recorded = entries.filter(isRotation).length;
    assert.ok(recorded >= fleet.rotations && recorded <= fleet.rotations + KILLS, `${recorded} of ${fleet.rotations}`);
    assert.equal(fleet.broken, 2 * KILLS, 'every kill came while requests were under way');
    assert.ok(fleet.rotations > 0 && fleet.acknowledgedScan >= KILLS / 2);
    t.diagnostic(`${fleet.acknowledgedScan} of ${fleet.scan} scans and ${fleet.rotations} rotations acknowledged`);
    await stopService(service);
  });
});
