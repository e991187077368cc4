import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readGuidePage } from '../support/guide-pages.ts';
import { ok } from '../support/people.ts';
import { freePort } from '../support/ports.ts';
import { onBothDatabases, startService } from '../support/service.ts';
import { testAuthority } from '../support/test-authority.ts';

/** rsyslog over TLS, as the guide configures it: Debian's package, unpacked and not installed. */

const PACKAGES = ['rsyslog', 'rsyslog-gnutls', 'libestr0', 'libfastjson4', 'liblognorm5'];
const DOWNLOAD_TIMEOUT_MS = 120_000;
const HOSTILE = 'a"b\'c\\d]e|f=g 漢𝔘é <14>1 - - - - - forged';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'coffer-rsyslog-'));
const started: { kill(): unknown }[] = [];
after(() => {
  for (const process of started) process.kill();
  rmSync(folder, { recursive: true, force: true });
});

interface Rsyslog {
  program: string;
  libraries: string;
}

/** The unpacked package, or why there is none. */
async function unpacked(): Promise<Rsyslog | string> {
  const cwd = join(folder, 'packages');
  mkdirSync(cwd);
  try {
    await run('apt-get', ['download', ...PACKAGES], { cwd, timeout: DOWNLOAD_TIMEOUT_MS });
    for (const file of readdirSync(cwd)) await run('dpkg', ['-x', join(cwd, file), join(folder, 'root')]);
  } catch (error) {
    return `Debian’s package of rsyslog cannot be had here: ${String((error as Error).message).split('\n')[0]}`;
  }
  const [architecture] = readdirSync(join(folder, 'root/usr/lib')).filter((name) => name.includes('-linux-'));
  const libraries = join(folder, 'root/usr/lib', architecture ?? '');
  return { program: join(folder, 'root/usr/sbin/rsyslogd'), libraries };
}

/** The configuration of the guide, with the paths and the port of this test. */
function guideConfiguration(own: Record<string, string>): string {
  const [, block] = /^```\n(global\(.*?)^```$/ms.exec(readGuidePage('exporters.md')) ?? [];
  assert.ok(block !== undefined, 'the guide has no configuration of rsyslog');
  let text = block;
  for (const [from, to] of Object.entries(own)) {
    assert.ok(text.includes(from), from);
    text = text.replaceAll(from, to);
  }
  return text;
}

const rsyslog = await unpacked();

onBothDatabases('rsyslog', (database) => {
  test('takes every entry whole, in order, over TLS', async (t) => {
    if (typeof rsyslog === 'string') return t.skip(rsyslog);
    const authority = await testAuthority();
    const leaf = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }], extendedKeyUsage: null });
    const own = mkdtempSync(join(folder, 'own-'));
    const files = { 'ca.pem': authority.pem, 'server.pem': leaf.pem, 'server.key': await leaf.keyPem() };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(own, name), text, { mode: 0o600 });
    const port = await freePort();
    const log = join(own, 'coffer.log');
    const configuration = guideConfiguration({
      '/etc/rsyslog.d': own,
      '/var/log/coffer.log': log,
      '"6514"': `"${port}"`,
    });
    const file = join(own, 'rsyslog.conf');
    writeFileSync(file, configuration);
    const modules = join(rsyslog.libraries, 'rsyslog');
    const args = ['-n', '-f', file, '-i', join(own, 'pid'), '-M', modules];
    const child = spawn(rsyslog.program, args, {
      env: { LD_LIBRARY_PATH: rsyslog.libraries, PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece) => {
        said += piece;
      });
    }

    const service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    const body = { name: 'rsyslog', type: 'syslog', endpoint: `tls://127.0.0.1:${port}`, ca_pem: authority.pem };
    const exporter = await ok(service.call('POST', '/v1/audit/exporters', { body }), 201);
    for (let i = 0; i < 20; i++) {
      const headers = { 'user-agent': `${'x'.repeat(i * 400)}${encodeURIComponent(HOSTILE)} <14>1 - - - - - forged` };
      await ok(service.call('GET', '/v1/groups', { headers }));
    }
    await ok(service.call('POST', '/v1/groups', { body: { name: 'hostile', description: HOSTILE } }), 201);
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=1000'));
    const last = Number(entries[0].seq);
    const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
    const deadline = performance.now() + 60_000;
    while (!lines().some((line) => line.includes(`"seq":${last},`))) {
      assert.ok(performance.now() < deadline, `the last entry does not arrive: ${said}`);
      service.clock.advance(10_000);
      await sleep(200);
    }
    const received = lines().map((line) => JSON.parse(line));
    const bySeq = new Map(received.filter(({ seq }) => seq !== null).map((entry) => [entry.seq, entry]));
    let newest = exporter.cursor;
    for (const { seq } of received) {
      if (seq === null) continue;
      assert.ok(seq <= newest + 1, `${seq} came after ${newest}`);
      newest = Math.max(newest, seq);
    }
    for (const entry of entries.filter(({ seq }: { seq: number }) => seq > exporter.cursor)) {
      const { hash, user_agent, resource } = bySeq.get(entry.seq);
      assert.deepEqual([hash, user_agent, resource], [entry.hash, entry.user_agent, entry.resource]);
    }
    await ok(service.call('DELETE', `/v1/audit/exporters/${exporter.id}`));
    await service.close();
    child.kill();
  });
});
