import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { ed25519Line, HostRoot, newFolder } from '../../../test/support/host-root.ts';
import { testAuthority } from '../../../test/support/test-authority.ts';
import { until as untilSo } from '../../../test/support/until.ts';
import type { Report } from './scan.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const CLUSTER = 'cluster_01a';
const TOKEN = 'cv_cluster_first';
const MEMORY_KB_MAX = 200 * 1024;
const folder = newFolder();
const bundle = join(folder, 'coffer-agent.mjs');
const children = new Set<ChildProcess>();
const servers = new Set<Server>();

before(() =>
  execFileSync(process.execPath, [join(REPOSITORY, 'scripts/bundle-agent.ts'), bundle], { cwd: REPOSITORY }),
);
after(() => {
  for (const child of children) child.kill('SIGKILL');
  for (const server of servers) server.close().closeAllConnections();
});

interface Received {
  token: string | undefined;
  report: Report;
}

interface Answering {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A receiver that checks each report as the service would, and then answers what the test says. */
class Receiver {
  readonly received: Received[] = [];
  url = '';
  server: Server | undefined;
  answer: () => Answering = () => ({ status: 200 });

  async listen(tls?: { key: string; cert: string }, port = 0): Promise<this> {
    const handle = async (request: IncomingMessage) => {
      assert.equal(request.method, 'POST');
      assert.equal(request.url, '/kube-guardian/endpoint-accounts');
      assert.equal(request.headers['content-type'], 'application/json');
      const report = JSON.parse(await readText(request)) as Report;
      assert.deepEqual(Object.keys(report).sort(), ['accounts', 'flags', 'host_id', 'hostname', 'scanned_at']);
      this.received.push({ token: request.headers['x-cluster-token'] as string | undefined, report });
      const { accounts, host_id, scanned_at } = report;
      return { host_id, accepted: accounts.length, excluded: 0, scanned_at, is_newest: true };
    };
    const listener = (request: IncomingMessage, response: import('node:http').ServerResponse) => {
      handle(request).then(
        (accepted) => {
          const { status, headers = {}, body = accepted } = this.answer();
          response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
        },
        (error: Error) => response.writeHead(500).end(error.message),
      );
    };
    const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.server = server;
    servers.add(server);
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    this.url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((done) => this.server?.close(done));
  }
}

interface Run {
  child: ChildProcess;
  stderr: () => string;
  stdout: () => string;
  exited: Promise<number | null>;
}

/** The bundled file under the permission model, with the reads that its host needs and no others. */
function start(
  host: HostRoot,
  url: string,
  args: readonly string[],
  options: { env?: Record<string, string>; reads?: string[]; tokenFile?: string; nodeOptions?: string[] } = {},
): Run {
  const tokenFile = options.tokenFile ?? join(folder, 'token');
  const reads = [bundle, tokenFile, ...(options.reads ?? [host.path])];
  const permissions = [
    ...(options.nodeOptions ?? []),
    '--permission',
    '--allow-net',
    ...reads.map((path) => `--allow-fs-read=${path}`),
  ];
  const child = spawn(process.execPath, [...permissions, bundle, '--root', host.path, ...args], {
    env: {
      CV_GUARDIAN_MODE: 'endpoint',
      CV_URL: url,
      CV_CLUSTER_ID: CLUSTER,
      CV_CLUSTER_TOKEN_FILE: tokenFile,
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  const exited = new Promise<number | null>((done) => child.once('close', done));
  return { child, stdout: () => stdout, stderr: () => stderr, exited };
}

function until(what: string, isSo: () => boolean, run?: Run): Promise<void> {
  return untilSo(() => `${what}: ${run?.stderr()}`, isSo);
}

function newHost(): HostRoot {
  const host = new HostRoot();
  host.account('anna', [ed25519Line(1, 'anna@laptop')]);
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
  return host;
}

describe('the agent on a host', () => {
  test('--once reports and ends with 0; neither token nor keys are in what it prints', async () => {
    const receiver = await new Receiver().listen();
    const run = start(newHost(), receiver.url, ['--once']);
    assert.equal(await run.exited, 0, run.stderr());
    assert.equal(receiver.received.length, 1);
    assert.equal(receiver.received[0]?.token, TOKEN);
    assert.equal(receiver.received[0]?.report.accounts[0]?.ssh_keys.length, 1);
    assert.match(run.stderr(), /"msg":"reported"/);
    assert.doesNotMatch(run.stderr() + run.stdout(), /cv_cluster_|AAAA|anna/);
  });

  test('--dry-run prints the report and sends nothing', async () => {
    const receiver = await new Receiver().listen();
    const run = start(newHost(), receiver.url, ['--dry-run']);
    assert.equal(await run.exited, 0, run.stderr());
    assert.equal((JSON.parse(run.stdout()) as Report).accounts[0]?.username, 'anna');
    assert.equal(receiver.received.length, 0);
  });

  const refusals: Record<string, [Answering, RegExp]> = {
    'a revoked token': [{ status: 401, body: { error: { code: 'INVALID_TOKEN', message: 'x' } } }, /401 INVALID_TOKEN/],
    'too many requests': [{ status: 429, headers: { 'retry-after': '9' } }, /429/],
    'a redirect, which is not followed': [{ status: 307, headers: { location: 'http://127.0.0.1:9/' } }, /307/],
    'an answer of something else': [{ status: 200, body: { hello: 'world' } }, /something else/],
    'an answer without end': [{ status: 200, body: 'x'.repeat(100_000) }, /no answer/],
  };
  for (const [name, [answering, message]] of Object.entries(refusals)) {
    test(`--once ends with 1: ${name}`, async () => {
      const receiver = await new Receiver().listen();
      receiver.answer = () => answering;
      const run = start(newHost(), receiver.url, ['--once']);
      assert.equal(await run.exited, 1);
      assert.equal(receiver.received.length, 1, 'it was sent once');
      assert.match(run.stderr(), message);
      assert.doesNotMatch(run.stderr(), /cv_cluster_/);
    });
  }

  test('--once ends with 1 when nobody listens, and with 2 on a wrong setting', async () => {
    const gone = await new Receiver().listen();
    await gone.close();
    const run = start(newHost(), gone.url, ['--once']);
    assert.equal(await run.exited, 1);
    assert.match(run.stderr(), /no answer \(ECONNREFUSED\)/);
    const wrong = start(newHost(), gone.url, ['--once'], { env: { CV_CLUSTER_ID: 'x' } });
    assert.equal(await wrong.exited, 2);
  });

  test('a token that is rotated under it counts from the next report on; SIGTERM ends it with 0', async () => {
    const receiver = await new Receiver().listen();
    const host = newHost();
    const tokenFile = join(newFolder(), 'rotated');
    writeFileSync(tokenFile, TOKEN);
    const run = start(host, receiver.url, [], { tokenFile, env: { CV_INTERVAL_SECONDS: '5' } });
    await until('the first report', () => receiver.received.length === 1, run);
    writeFileSync(tokenFile, 'cv_cluster_second\n');
    await until('the second report', () => receiver.received.length === 2, run);
    assert.deepEqual(
      receiver.received.map(({ token }) => token),
      [TOKEN, 'cv_cluster_second'],
    );
    run.child.kill('SIGTERM');
    assert.equal(await run.exited, 0, run.stderr());
  });

  test('while the service is down it tries again, and reports once it is back', async () => {
    const first = await new Receiver().listen();
    const port = Number(new URL(first.url).port);
    await first.close();
    const run = start(newHost(), first.url, [], { env: { CV_INTERVAL_SECONDS: '5' } });
    await until('a failure', () => run.stderr().includes('trying again'), run);
    const back = await new Receiver().listen(undefined, port);
    await until('the report', () => back.received.length === 1, run);
    run.child.kill('SIGTERM');
    assert.equal(await run.exited, 0);
  });

  test('killed at once and started again, it reports the same host', async () => {
    const receiver = await new Receiver().listen();
    const host = newHost();
    const killed = start(host, receiver.url, []);
    await until('a report', () => receiver.received.length === 1, killed);
    killed.child.kill('SIGKILL');
    await killed.exited;
    assert.equal(await start(host, receiver.url, ['--once']).exited, 0);
    const [before, again] = receiver.received.map(({ report }) => report);
    assert.equal(before?.host_id, again?.host_id);
    assert.deepEqual(before?.accounts, again?.accounts);
  });

  test('a token file that is missing or empty is named without what it holds', async () => {
    const receiver = await new Receiver().listen();
    const tokenFile = join(newFolder(), 'token');
    const missing = start(newHost(), receiver.url, ['--once'], { tokenFile });
    assert.equal(await missing.exited, 1);
    assert.match(missing.stderr(), /CV_CLUSTER_TOKEN_FILE names a file that cannot be read \(ENOENT\)/);
    writeFileSync(tokenFile, 'two words\r\nX-Other: header');
    const odd = start(newHost(), receiver.url, ['--once'], { tokenFile });
    assert.equal(await odd.exited, 1);
    assert.match(odd.stderr(), /holds no token/);
    assert.doesNotMatch(odd.stderr(), /two words/);
    assert.equal(receiver.received.length, 0);
  });

  test('a home that the permission model hides is flagged, and everything else is reported', async () => {
    const receiver = await new Receiver().listen();
    const host = newHost();
    host.account('elsewhere', [ed25519Line(2)], { home: '/srv/elsewhere' });
    const run = start(host, receiver.url, ['--once'], { reads: [join(host.path, 'etc'), join(host.path, 'users')] });
    assert.equal(await run.exited, 0, run.stderr());
    assert.deepEqual(
      receiver.received[0]?.report.accounts.map(({ username, flags, ssh_keys }) => [username, flags, ssh_keys.length]),
      [
        ['anna', [], 1],
        ['elsewhere', ['keys_not_readable'], 0],
      ],
    );
  });

  test('over TLS the certificate must be of the CA file', async () => {
    const authority = await testAuthority();
    const own = await authority.issue({
      cn: 'localhost',
      names: [{ type: 'ip', value: '127.0.0.1' }],
      extendedKeyUsage: null,
    });
    const receiver = await new Receiver().listen({ key: await own.keyPem(), cert: own.pem });
    const caFile = join(newFolder(), 'ca.pem');
    writeFileSync(caFile, authority.pem);
    const host = newHost();
    const trusted = start(host, receiver.url, ['--once'], { env: { CV_CA_FILE: caFile }, reads: [host.path, caFile] });
    assert.equal(await trusted.exited, 0, trusted.stderr());
    const without = start(host, receiver.url, ['--once']);
    assert.equal(await without.exited, 1);
    assert.equal(receiver.received.length, 1);
    rmSync(caFile);
    const gone = start(host, receiver.url, ['--once'], { env: { CV_CA_FILE: caFile }, reads: [host.path, caFile] });
    assert.equal(await gone.exited, 1);
    assert.equal(receiver.received.length, 1, 'without its CA file nothing is sent');
  });

  test('50,000 keys on one host are reported within 200 MiB, and again and again within what the unit allows', async () => {
    const receiver = await new Receiver().listen();
    const host = newHost();
    for (let i = 0; i < 50; i++) {
      host.account(
        `u${i}`,
        Array.from({ length: 1000 }, (_, key) => ed25519Line(i * 1000 + key, `user${key}@host`)),
      );
    }
    const unit = readFileSync(join(REPOSITORY, 'deploy/agent/coffer-agent.service'), 'utf8');
    const [heap = assert.fail('the unit bounds no heap')] = /--max-old-space-size=\d+/.exec(unit) ?? [];
    const [, unitMib] = /^MemoryMax=(\d+)M$/m.exec(unit) ?? assert.fail('the unit bounds no memory');
    const run = start(host, receiver.url, [], { nodeOptions: [heap], env: { CV_INTERVAL_SECONDS: '5' } });
    const peakKb = () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${run.child.pid}/status`, 'utf8'))?.[1]);
    await until('the report', () => run.stderr().includes('"msg":"reported"'), run);
    const firstKb = peakKb();
    await until('three more', () => run.stderr().split('"msg":"reported"').length > 4, run);
    const laterKb = peakKb();
    run.child.kill('SIGTERM');
    await run.exited;
    const keys = receiver.received[0]?.report.accounts.reduce((sum, { ssh_keys }) => sum + ssh_keys.length, 0);
    assert.equal(keys, 50_001);
    assert.ok(firstKb < MEMORY_KB_MAX, `${firstKb} kB`);
    assert.ok(laterKb < Number(unitMib) * 1024, `${laterKb} kB`);
  });
});
