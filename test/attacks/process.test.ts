import assert from 'node:assert/strict';
import { chownSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { pause, runService, spawnService, stopService } from '../support/process.ts';
import { call } from '../support/service.ts';

/** Another process of the same user, or what a crash leaves behind. */

const INSPECTOR_PORT = 9229;

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(socket.destroy() !== undefined));
    socket.once('error', () => resolve(false));
  });
}

test('SIGUSR1 does not open an inspector, and the service goes on', async () => {
  assert.equal(await isListening(INSPECTOR_PORT), false, 'nothing else listens there');
  const service = await spawnService();
  for (let i = 0; i < 3; i++) {
    service.kill('SIGUSR1');
    // An inspector would open in a thread of its own, after the signal: only a pause lets it.
    await pause(200);
  }
  assert.equal(await isListening(INSPECTOR_PORT), false);
  assert.doesNotMatch(service.stderr(), /Debugger|inspector/i);
  assert.equal((await call(service.url, 'GET', '/health')).status, 200);
  await stopService(service);
});

test('a core dump holds no memory of the process, where the system lets it choose', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has /proc/self/coredump_filter');
  const service = await spawnService();
  const filter = readFileSync(`/proc/${service.pid}/coredump_filter`, 'utf8').trim();
  assert.equal(Number.parseInt(filter, 16), 0);
  await stopService(service);
});

test('plain http where others reach it is told in the log of the start and by /health/ready', async () => {
  const open = await spawnService({ env: { CV_HOST: '0.0.0.0' } });
  const url = open.url.replace('0.0.0.0', '127.0.0.1');
  const { body } = await call(url, 'GET', '/health/ready');
  assert.deepEqual(body, { status: 'ready', details: { warnings: ['plain_http'] } });
  assert.match(open.stdout(), /"level":"warn".*"warning":"plain_http".*CV_TLS_CERT_FILE/);
  await stopService(open);
  const closed = await spawnService();
  const quiet = await call(closed.url, 'GET', '/health/ready');
  assert.deepEqual(quiet.body, { status: 'ready', details: { warnings: [] } });
  await stopService(closed);
});

test('a folder or key that belongs to another user is not used, by root either', async (t) => {
  if (process.geteuid?.() !== 0) return t.skip('only root can give files away');
  const [nobody, own] = [65_534, 0];
  const { dataDir, ...service } = await spawnService();
  await stopService({ dataDir, ...service });
  for (const name of ['root.key', '.']) {
    chownSync(join(dataDir, name), nobody, nobody);
    const { code, stderr } = await runService({ dataDir });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Coffer cannot start\. The (root key file|data folder) \S+ belongs to another user \(uid 65534\).*chown/,
    );
    chownSync(join(dataDir, name), own, own);
  }
  await stopService(await spawnService({ dataDir }));
});
