import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import Type from 'typebox';
import { loadConfig } from '../server/src/assembly/settings.ts';
import { Certificates, OwnIdentity, type Prepared } from '../server/src/features/certificates/index.ts';
import { hostOf } from '../server/src/features/certificates/names.ts';
import { serverNames } from '../server/src/features/certificates/own-identity.ts';
import { SERVER_AUTH } from '../server/src/features/certificates/x509.ts';
import { DAY_MS } from '../server/src/kernel/base/clock.ts';
import { endpoint, NONE } from '../server/src/kernel/endpoint/declaration.ts';
import { HttpServer } from '../server/src/kernel/http/server.ts';
import { CurrentIdentity } from '../server/src/kernel/http/tls-identity.ts';
import { Metrics } from '../server/src/kernel/observability/metrics.ts';
import { bind } from '../server/src/kernel/request/binding.ts';
import type { Kernel } from '../server/src/kernel/request/kernel.ts';
import type { Pipeline } from '../server/src/kernel/request/pipeline.ts';
import { makeReady } from '../server/src/kernel/request/ready-endpoint.ts';
import { newDataDir, runService, spawnService, stopService } from './support/process.ts';
import { asTheService } from './support/rows.ts';
import { type Service, startService } from './support/service.ts';
import { type TestCertificate, testAuthority } from './support/test-authority.ts';
import { until } from './support/until.ts';

const run = promisify(execFile);
const CLIENT = '0b2b1c3e-9d0a-4c43-9c1f-000000000001';

/** An endpoint that says what the request's certificate is worth; the real ones that ask are those of connections. */
const WHO = endpoint({
  name: 'who',
  method: 'GET',
  path: '/who',
  summary: 'Which certificate came with the request',
  noun: 'test',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  audit: NONE,
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  bodyBytesMax: 0,
  status: 200,
  output: NONE,
  raw: 'application/json',
  rawSchema: Type.Unknown(),
  errors: [],
});

interface Seen {
  shown: boolean;
  thumbprint?: string;
  chain?: number;
  verdict?: string;
  claimed?: string | null;
}

/** A service, and beside it listeners of the same code whose only endpoint tells what it sees. */
interface Witness {
  service: Service;
  certificates: Certificates;
  tenantId: string;
  url: string;
  tlsUrl: string;
  external: string | null;
  close(): Promise<void>;
}

/** The kernel for another HTTP server beside the one of the service, whose metrics have each name once. */
const besides = (kernel: Kernel): Kernel => ({ ...kernel, metrics: new Metrics() });

async function startWitness(env: Record<string, string> = {}): Promise<Witness> {
  const service = await startService('sqlite', { env });
  const { kernel } = service.app;
  const certificates = new Certificates(kernel);
  const tenantId = kernel.operatorTenantId;
  const identity = await CurrentIdentity.open(new OwnIdentity(kernel, certificates), kernel.log);
  const witness: Witness = { service, certificates, tenantId, url: '', tlsUrl: '', external: null, close };
  const answer: Pipeline['answer'] = async (_, { certificate }) => {
    const seen: Seen = { shown: certificate !== null };
    if (certificate !== null) {
      const verdict = await certificates.check({ tenantId, clientId: CLIENT }, certificate, witness.external);
      const claimed = certificates.claimed(certificate)?.clientId ?? null;
      Object.assign(seen, {
        thumbprint: certificate.thumbprint,
        chain: certificate.chain.length,
        verdict: verdict.ok ? 'ok' : verdict.reason,
        claimed,
      });
    }
    return { status: 200, headers: {}, body: JSON.stringify(seen) };
  };
  const endpoints = [
    makeReady(
      bind(WHO, async () => ''),
      JSON.stringify,
    ),
  ];
  const server = new HttpServer(besides(kernel), endpoints, { answer } as unknown as Pipeline, identity);
  const { port, tlsPort } = await server.listen();
  witness.url = `http://127.0.0.1:${port}`;
  witness.tlsUrl = `https://127.0.0.1:${tlsPort}`;
  return witness;

  async function close() {
    await server.close();
    await identity.close();
    await service.close();
  }
}

async function issued(
  { service, certificates, tenantId }: Witness,
  clientId = CLIENT,
  csrPem?: string,
): Promise<Prepared> {
  const made = await certificates.prepare({ tenantId, clientId, connectionNo: 1, ttlMs: DAY_MS, csrPem });
  await asTheService(service.app.kernel.database, (tx) => certificates.insert(tx, made.row));
  return made;
}

function inFolder(folder: string, contents: Record<string, string | null>): string[] {
  return Object.entries(contents).map(([name, text]) => {
    writeFileSync(join(folder, name), text ?? '');
    return join(folder, name);
  });
}

async function curl(...args: string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--max-time', '10', ...args], { encoding: 'utf8' });
  return stdout;
}

const who = async (...args: string[]): Promise<Seen> => JSON.parse(await curl(...args)) as Seen;

describe('the TLS port', () => {
  let witness: Witness;
  let folder: string;
  let ca: string;
  let made: Prepared;
  let withCertificate: string[];

  before(async () => {
    witness = await startWitness();
    folder = mkdtempSync(join(tmpdir(), 'coffer-tls-'));
    ca = join(witness.service.dataDir, 'ca.pem');
    made = await issued(witness);
    const [cert = '', key = ''] = inFolder(folder, { 'cert.pem': made.certificate, 'key.pem': made.private_key });
    withCertificate = ['--cert', cert, '--key', key];
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await witness.close();
  });

  const ask = (...args: string[]) => who('--cacert', ca, ...args, `${witness.tlsUrl}/who`);

  async function openssl(...args: string[]): Promise<string> {
    const { port } = new URL(witness.tlsUrl);
    const all = ['s_client', '-connect', `127.0.0.1:${port}`, '-CAfile', ca, '-verify_return_error', ...args];
    const going = run('openssl', all, { encoding: 'utf8', timeout: 60_000 });
    going.child.stdin?.end('GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    return going.then(
      ({ stdout, stderr }) => stdout + stderr,
      (error: { stdout: string; stderr: string }) => `FAILED ${error.stdout}${error.stderr}`,
    );
  }

  test('answers the same routes as the main port, to every client that trusts ca.pem, by every name it has', async () => {
    const { service } = witness;
    const name = new URL(service.tlsUrl).port;
    for (const host of ['127.0.0.1', 'localhost']) {
      const { status } = JSON.parse(await curl('--cacert', ca, `https://${host}:${name}/health`));
      assert.equal(status, 'ok');
    }
    const header = `Authorization: Bearer ${service.adminToken}`;
    const me = JSON.parse(await curl('--cacert', ca, '-H', header, `${service.tlsUrl}/auth/me`));
    assert.equal(me.user.role, 'owner');
    await assert.rejects(curl(`${service.tlsUrl}/health`), /certificate/i);
    assert.equal(await curl('--cacert', ca, `${service.tlsUrl}/pki/root.pem`), readFileSync(ca, 'utf8'));
  });

  test('a client certificate reaches the request; none is none', async () => {
    assert.deepEqual(await ask(), { shown: false });
    assert.deepEqual(await ask(...withCertificate), {
      shown: true,
      thumbprint: made.row.thumbprint,
      chain: 0,
      verdict: 'ok',
      claimed: CLIENT,
    });
    for (const version of ['1.2', '1.3']) {
      const seen = await ask(...withCertificate, `--tlsv${version}`, '--tls-max', version);
      assert.equal(seen.verdict, 'ok', version);
    }
  });

  test('keys of every accepted kind work, in both versions', async () => {
    const kinds = ['EC -pkeyopt ec_paramgen_curve:P-384', 'ed25519', 'RSA -pkeyopt rsa_keygen_bits:3072'];
    for (const kind of kinds) {
      const [key, csr] = [join(folder, 'kind.key'), join(folder, 'kind.csr')];
      await run('openssl', ['genpkey', '-algorithm', ...kind.split(' '), '-out', key]);
      await run('openssl', ['req', '-new', '-key', key, '-subj', '/CN=x', '-out', csr]);
      const { certificate } = await issued(witness, CLIENT, readFileSync(csr, 'utf8'));
      const [cert = ''] = inFolder(folder, { 'kind.pem': certificate });
      for (const version of ['1.2', '1.3']) {
        const seen = await ask('--cert', cert, '--key', key, `--tlsv${version}`, '--tls-max', version);
        assert.equal(seen.verdict, 'ok', `${kind}, ${version}`);
      }
    }
  });

  test('TLS 1.2 and 1.3 are spoken with forward secrecy; older versions and weaker ciphers are not', async () => {
    const [cert = '', key = ''] = ['cert.pem', 'key.pem'].map((name) => join(folder, name));
    for (const version of ['-tls1_2', '-tls1_3']) {
      const shown = await openssl(version, '-cert', cert, '-key', key, '-ign_eof');
      assert.match(shown, /Verify return code: 0 \(ok\)/);
      assert.match(shown, /"verdict":"ok"/);
    }
    assert.match(await openssl('-tls1_1'), /FAILED/);
    assert.match(await openssl('-tls1'), /FAILED/);
    for (const cipher of [
      'AES128-SHA',
      'AES128-GCM-SHA256',
      'ECDHE-ECDSA-AES128-SHA',
      'NULL',
      'DHE-RSA-AES128-GCM-SHA256',
    ]) {
      assert.match(await openssl('-tls1_2', '-cipher', `${cipher}:@SECLEVEL=0`), /FAILED/, cipher);
    }
  });

  test('a resumed session still has its certificate', async () => {
    const [cert = '', key = ''] = ['cert.pem', 'key.pem'].map((name) => join(folder, name));
    for (const version of ['-tls1_2', '-tls1_3']) {
      const session = join(folder, `session${version}`);
      await openssl(version, '-cert', cert, '-key', key, '-ign_eof', '-sess_out', session);
      if (!existsSync(session)) continue;
      const shown = await openssl(version, '-cert', cert, '-key', key, '-ign_eof', '-sess_in', session);
      assert.match(shown, /"verdict":"ok"/, version);
      assert.match(shown, /^New, TLS/m, 'it is a new one');
    }
    // A client that shows no certificate the second time has none, whatever it had the first time.
    const { port } = new URL(witness.tlsUrl);
    const first = connectTls({
      port: Number(port),
      host: '127.0.0.1',
      ca: readFileSync(ca),
      cert: made.certificate,
      key: String(made.private_key),
    });
    const [session] = await Promise.race([once(first, 'session'), pause(1500).then(() => [undefined])]);
    first.destroy();
    const again = connectTls({
      port: Number(port),
      host: '127.0.0.1',
      ca: readFileSync(ca),
      ...(session && { session }),
    });
    await once(again, 'secureConnect');
    assert.equal(again.isSessionReused(), false);
    assert.match(await exchange(again), /"shown":false/);
  });

  test('a client cannot change its certificate on the way', async () => {
    const { port } = new URL(witness.tlsUrl);
    const socket = connectTls({
      port: Number(port),
      host: '127.0.0.1',
      ca: readFileSync(ca),
      maxVersion: 'TLSv1.2',
    });
    await once(socket, 'secureConnect');
    const error = await new Promise((resolve) => {
      socket.once('error', resolve);
      socket.renegotiate({}, resolve);
    });
    assert.ok(error instanceof Error, 'renegotiation is refused');
    socket.destroy();
  });

  test('what the handshake lets in, the check does not: foreign, self-signed, expired, for servers, of others', async () => {
    const imposter = await testAuthority({ cn: 'Coffer' });
    const names = [{ type: 'url' as const, value: `coffer://${hostOf(witness.tenantId)}/app-connection/${CLIENT}` }];
    const facts = { cn: CLIENT, names, serial: made.row.serial };
    const tries: [TestCertificate, RegExp][] = [
      [await imposter.issue(facts), /not the certificate that was issued/],
      [await testAuthority({ ...facts, isCa: false, keyUsage: 1 }), /not the certificate that was issued/],
      [await imposter.issue({ cn: CLIENT, names, extendedKeyUsage: [SERVER_AUTH] }), /not issued here/],
      [await imposter.issue({ cn: 'x' }), /not a client certificate/],
    ];
    for (const [certificate, expected] of tries) {
      const [cert = '', key = ''] = inFolder(folder, {
        'x.pem': certificate.pem,
        'xk.pem': await certificate.keyPem(),
      });
      const seen = await ask('--cert', cert, '--key', key);
      assert.match(String(seen.verdict), expected);
    }
    const other = await issued(witness, CLIENT.replace(/1$/, '2'));
    const [cert = '', key = ''] = inFolder(folder, { 'o.pem': other.certificate, 'ok.pem': other.private_key });
    assert.equal((await ask('--cert', cert, '--key', key)).verdict, 'of another connection');
    // Somebody else's certificate without its key does not even get through the handshake.
    await assert.rejects(ask('--cert', String(withCertificate[1]), '--key', key));
  });

  test('an external authority replaces ours: by name and chain, with intermediates that the client sends', async () => {
    const root = await testAuthority({ cn: 'Corporate' });
    const middle = await root.issue({ cn: 'Machines', isCa: true, keyUsage: 32, extendedKeyUsage: null });
    const imposter = await (await testAuthority({ cn: 'Corporate' })).issue({ cn: CLIENT });
    const shown = async (leaf: TestCertificate, ...sent: TestCertificate[]) => {
      const chain = [leaf, ...sent].map(({ pem }) => pem).join('');
      const [cert = '', key = ''] = inFolder(folder, { 'e.pem': chain, 'ek.pem': await leaf.keyPem() });
      return ask('--cert', cert, '--key', key);
    };
    witness.external = root.pem;
    try {
      const good = await middle.issue({ cn: CLIENT });
      assert.deepEqual(await shown(good, middle).then(({ verdict, chain }) => [verdict, chain]), ['ok', 1]);
      const direct = await root.issue({ cn: CLIENT });
      assert.equal((await shown(direct)).verdict, 'ok');
      assert.equal((await shown(await middle.issue({ cn: CLIENT }))).verdict, 'no path to a trusted authority');
      assert.equal(
        (await shown(await middle.issue({ cn: 'somebody' }), middle)).verdict,
        'does not name the connection',
      );
      assert.equal((await shown(imposter)).verdict, 'no path to a trusted authority');
      const past = { notBefore: Date.now() - 2 * DAY_MS, notAfter: Date.now() - DAY_MS };
      assert.equal((await shown(await root.issue({ cn: CLIENT, ...past }))).verdict, 'expired');
      const future = { notBefore: Date.now() + DAY_MS, notAfter: Date.now() + 2 * DAY_MS };
      assert.equal((await shown(await root.issue({ cn: CLIENT, ...future }))).verdict, 'not valid yet');
      const ended = await root.issue({ cn: 'Ended', isCa: true, keyUsage: 32, extendedKeyUsage: null, ...past });
      assert.equal(
        (await shown(await ended.issue({ cn: CLIENT }), ended)).verdict,
        'expired',
        'as is all it vouches for',
      );
      assert.equal(
        (await ask(...withCertificate)).verdict,
        'no path to a trusted authority',
        'ours is not accepted then',
      );

      let top = root;
      const long: TestCertificate[] = [];
      for (let n = 0; n < 12; n++) {
        top = await top.issue({ cn: `CA ${n}`, isCa: true, keyUsage: 32, extendedKeyUsage: null });
        long.unshift(top);
      }
      assert.equal((await shown(await top.issue({ cn: CLIENT }), ...long)).verdict, 'the chain is too long');
    } finally {
      witness.external = null;
    }
  });

  test('a revoked certificate is refused on the same connection, on the next request', async () => {
    const revoked = await issued(witness);
    const agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      ca: readFileSync(ca),
      cert: revoked.certificate,
      key: String(revoked.private_key),
    });
    const { service, certificates, tenantId } = witness;
    assert.equal((await viaAgent(witness.tlsUrl, agent)).verdict, 'ok');
    await asTheService(service.app.kernel.database, async (tx) => {
      await certificates.revoke(
        tx,
        tenantId,
        { serials: [revoked.row.serial] },
        { reason: 'superseded', at: service.clock.now() },
      );
      await tx
        .updateTable('tenants')
        .set((eb) => ({ epoch: eb('epoch', '+', 1) }))
        .where('tenant_id', '=', tenantId)
        .execute();
    });
    assert.equal((await viaAgent(witness.tlsUrl, agent)).verdict, 'revoked: superseded');
    agent.destroy();
  });

  test('headers that proxies set are nothing without a trusted proxy', async () => {
    const item = `:${Buffer.from(made.certificate.replaceAll(/-----.*-----|\s/g, ''), 'base64').toString('base64')}:`;
    for (const header of [`Client-Cert: ${item}`, `X-Client-Cert: ${encodeURIComponent(made.certificate)}`]) {
      assert.deepEqual(await who('-H', header, `${witness.url}/who`), { shown: false });
      assert.deepEqual(await ask('-H', header), { shown: false });
    }
  });

  test('bounds are those of the main port: odd requests, large headers, and clients that are silent', async () => {
    const { port } = new URL(witness.tlsUrl);
    const open = () => connectTls({ port: Number(port), host: '127.0.0.1', ca: readFileSync(ca) });
    assert.match(await exchange(open(), 'NONSENSE\r\n\r\n'), /^HTTP\/1\.1 400 /);
    assert.match(
      await exchange(open(), `GET /who HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 /,
    );
    assert.match(
      await exchange(open(), 'GET /who HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 400 /,
    );
    assert.match(
      await exchange(open(), 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 404 /,
    );

    // Neither plain HTTP nor silence instead of a handshake is waited for.
    const plain = connect(Number(port), '127.0.0.1');
    plain.end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(plain.resume(), 'close');
    const [mute, shy] = [connect(Number(port), '127.0.0.1'), open()];
    mute.on('error', () => {});
    shy.on('error', () => {});
    const started = performance.now();
    shy.write('GET /who HTTP/1.1\r\nHo');
    await Promise.all([once(mute.resume(), 'close'), once(shy.resume(), 'close')]);
    assert.ok(performance.now() - started < 14_000, `${performance.now() - started} ms`);
  });
});

describe('certificates from a proxy', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-proxy-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('RFC 9440, from a trusted proxy alone', async () => {
    const witness = await startWitness({ CV_TRUSTED_PROXIES: '127.0.0.1', CV_CLIENT_CERT_HEADER: 'client-cert' });
    const made = await issued(witness);
    const der = Buffer.from(made.certificate.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    const via = (...headers: string[]) => who(...headers.flatMap((header) => ['-H', header]), `${witness.url}/who`);
    const item = `:${der.toString('base64')}:`;
    assert.equal((await via(`Client-Cert: ${item}`)).verdict, 'ok');
    assert.deepEqual(await via(), { shown: false });
    for (const wrong of [
      'Client-Cert: x',
      `Client-Cert: ${item}x`,
      `Client-Cert: :${Buffer.from('junk').toString('base64')}:`,
    ]) {
      const seen = await via(wrong);
      assert.equal(seen.shown, true, 'refused, not absent');
      assert.equal(seen.verdict, 'malformed certificate');
    }
    assert.equal((await via(`Client-Cert: ${item}`, `Client-Cert: ${item}`)).verdict, 'malformed certificate', 'twice');
    assert.equal((await via(`Client-Cert-Chain: ${item}`)).verdict, 'malformed certificate', 'a chain alone');
    // The other header is one this proxy does not know, so it comes from its client.
    assert.deepEqual(await via(`X-Client-Cert: ${encodeURIComponent(made.certificate)}`), { shown: false });

    const root = await testAuthority({ cn: 'Corporate' });
    const middle = await root.issue({ cn: 'Machines', isCa: true, keyUsage: 32, extendedKeyUsage: null });
    const leaf = await middle.issue({ cn: CLIENT });
    const field = ({ der: bytes }: TestCertificate) => `:${Buffer.from(bytes).toString('base64')}:`;
    witness.external = root.pem;
    const chain = `Client-Cert-Chain: ${field(middle)}, ${field(root)}`;
    assert.equal((await via(`Client-Cert: ${field(leaf)}`, chain)).verdict, 'ok');
    assert.equal((await via(`Client-Cert: ${field(leaf)}`)).verdict, 'ok', 'the way was proven a moment ago');
    witness.external = null;

    // What the proxy shows of itself is not its client's.
    const [cert = '', key = ''] = inFolder(folder, { 'p.pem': made.certificate, 'pk.pem': made.private_key });
    const ca = join(witness.service.dataDir, 'ca.pem');
    assert.deepEqual(await who('--cacert', ca, '--cert', cert, '--key', key, `${witness.tlsUrl}/who`), {
      shown: false,
    });
    await witness.close();
  });

  test('nginx’s form', async () => {
    const witness = await startWitness({ CV_TRUSTED_PROXIES: '127.0.0.1', CV_CLIENT_CERT_HEADER: 'x-client-cert' });
    const made = await issued(witness);
    const via = (header: string) => who('-H', header, `${witness.url}/who`);
    assert.equal((await via(`X-Client-Cert: ${encodeURIComponent(made.certificate)}`)).verdict, 'ok');
    assert.deepEqual(await via('X-Client-Cert;'), { shown: false }, 'empty: it saw none');
    assert.equal((await via('X-Client-Cert: %zz')).verdict, 'malformed certificate');
    assert.equal((await via('X-Client-Cert: (null)')).verdict, 'malformed certificate');
    const der = Buffer.from(made.certificate.replaceAll(/-----.*-----|\s/g, ''), 'base64').toString('base64');
    assert.deepEqual(await via(`Client-Cert: :${der}:`), { shown: false });
    await witness.close();
  });

  test('a trusted proxy whose header nobody named passes on nothing', async () => {
    const witness = await startWitness({ CV_TRUSTED_PROXIES: '127.0.0.1' });
    const made = await issued(witness);
    const header = `X-Client-Cert: ${encodeURIComponent(made.certificate)}`;
    assert.deepEqual(await who('-H', header, `${witness.url}/who`), { shown: false });
    await witness.close();
  });
});

describe('the operator’s certificate', () => {
  const authority = testAuthority({ cn: 'Operator' });
  const serverCertificate = async (cn: string) =>
    (await authority).issue({ cn, names: [{ type: 'ip', value: '127.0.0.1' }], extendedKeyUsage: [SERVER_AUTH] });

  test('is that of both ports, and is replaced while connections are open', async () => {
    const dataDir = newDataDir();
    const folder = mkdtempSync(join(tmpdir(), 'coffer-files-'));
    const first = await serverCertificate('first');
    const [cert = '', key = '', ca = ''] = inFolder(folder, {
      'cert.pem': first.pem,
      'key.pem': await first.keyPem(),
      'ca.pem': (await authority).pem,
    });
    const env = { CV_TLS_CERT_FILE: cert, CV_TLS_KEY_FILE: key };
    const service = await spawnService({ dataDir, env });
    const { tlsUrl } = service;
    assert.match(service.url, /^https:/);
    assert.equal(existsSync(join(dataDir, 'ca.pem')), false, 'there is nothing of our own to trust');
    const shownBy = (url: string) => commonNameOf(url, readFileSync(ca, 'utf8'));
    for (const url of [service.url, tlsUrl]) assert.equal(await shownBy(url), 'first');

    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(ca) });
    assert.equal(await statusOf(`${tlsUrl}/health`, agent), 200);
    const port = localPortOf(agent);

    // A certificate whose key is not there yet, then nonsense: the old one goes on.
    const second = await serverCertificate('second');
    writeFileSync(cert, second.pem);
    await until('it does not look at the files', () =>
      /cannot be used; the old one stays in use/.test(service.stderr() + service.stdout()),
    );
    assert.equal(await shownBy(tlsUrl), 'first');
    assert.doesNotMatch(service.stderr() + service.stdout(), /PRIVATE KEY|BEGIN/);
    writeFileSync(key, await second.keyPem());
    utimesSync(key, new Date(), new Date());
    for (const url of [service.url, tlsUrl]) {
      await until('the old one is shown', async () => (await shownBy(url)) === 'second');
    }
    assert.equal(await statusOf(`${tlsUrl}/health`, agent), 200);
    assert.equal(localPortOf(agent), port, 'the connection that was open is open still');
    agent.destroy();
    await stopService(service);
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('starting and stopping', () => {
  test('`off` listens on none; a port that is in use is an error if it was chosen, and a warning if not', async (t) => {
    const off = await spawnService({ env: { CV_TLS_PORT: 'off' } });
    assert.doesNotMatch(off.stdout(), /tls_url/);
    assert.equal(existsSync(join(off.dataDir, 'ca.pem')), false);
    await stopService(off);

    const blocker = createServer();
    t.after(() => blocker.close());
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as { port: number };
    const exit = await runService({ env: { CV_TLS_PORT: String(port) } });
    assert.equal(exit.code, 1);
    assert.match(exit.stderr, /Port \d+ \(CV_TLS_PORT\) is in use/);
  });

  test('the usual port that is in use keeps nobody from starting', async (t) => {
    const config = loadConfig({ CV_PORT: '1234' });
    assert.deepEqual(config.tlsPort, { port: 7443, isChosen: false });
    const blocker = createServer();
    t.after(() => blocker.close());
    const service = await startService('sqlite');
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as { port: number };
    const { kernel } = service.app;
    const identity = await CurrentIdentity.open(new OwnIdentity(kernel, new Certificates(kernel)), kernel.log);
    const blocked = { ...besides(kernel), config: { ...kernel.config, tlsPort: { port, isChosen: false } } };
    const server = new HttpServer(blocked, [], {} as Pipeline, identity);
    assert.equal((await server.listen()).tlsPort, null);
    assert.ok(service.logs.some((line) => line.includes('the default port for TLS is in use')));
    await server.close();
    await identity.close();
    await service.close();
  });

  test('neither idle connections nor half-finished handshakes hold up the end for long', async () => {
    const service = await startService('sqlite');
    const { port } = new URL(service.tlsUrl);
    const agent = new Agent({ keepAlive: true, ca: readFileSync(join(service.dataDir, 'ca.pem')) });
    assert.equal(await statusOf(`${service.tlsUrl}/health`, agent), 200);
    const started = performance.now();
    const mute: Socket = connect(Number(port), '127.0.0.1');
    mute.on('error', () => {});
    await once(mute, 'connect');
    await service.close();
    assert.ok(performance.now() - started < 12_000);
    mute.destroy();
    agent.destroy();
  });

  test('its own certificate is renewed while it runs', async () => {
    const service = await startService('sqlite');
    const shown = async () => {
      const socket = connectTls({
        port: Number(new URL(service.tlsUrl).port),
        host: '127.0.0.1',
        rejectUnauthorized: false,
      });
      await once(socket, 'secureConnect');
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    const first = await shown();
    service.clock.advance(19 * DAY_MS);
    // The service checks its certificate every five seconds of real time. The renewal below shows that it does so.
    await pause(5500);
    assert.equal(await shown(), first);
    service.clock.advance(2 * DAY_MS);
    await until('it is not renewed', async () => (await shown()) !== first);
    await service.close();
  });

  test('its certificate has every name it is reached by', () => {
    const names = (env: Record<string, string>) => serverNames(loadConfig(env));
    assert.deepEqual(names({}), ['localhost', '127.0.0.1', '::1']);
    assert.deepEqual(names({ CV_HOST: '0.0.0.0' }), ['localhost', '127.0.0.1', '::1']);
    assert.deepEqual(names({ CV_HOST: '10.1.2.3' }), ['localhost', '127.0.0.1', '::1', '10.1.2.3']);
    assert.deepEqual(names({ CV_HOST: '::', CV_BASE_URL: 'https://coffer.example.com' }), [
      'localhost',
      '127.0.0.1',
      '::1',
      'coffer.example.com',
    ]);
    assert.deepEqual(names({ CV_BASE_URL: 'https://[2001:db8::1]:8443' }), [
      'localhost',
      '127.0.0.1',
      '::1',
      '2001:db8::1',
    ]);
  });
});

async function exchange(
  socket: TLSSocket,
  text = 'GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
): Promise<string> {
  let answer = '';
  socket.setEncoding('utf8').on('data', (piece) => {
    answer += piece;
  });
  socket.on('error', () => {});
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

function viaAgent(url: string, agent: Agent): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/who`, { agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      response.once('end', () => resolve(JSON.parse(text)));
    });
    sent.once('error', reject).end();
  });
}

function statusOf(url: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.once('error', reject).end();
  });
}

function localPortOf(agent: Agent): number | undefined {
  return Object.values(agent.freeSockets)[0]?.[0]?.localPort;
}

async function commonNameOf(url: string, ca: string): Promise<string> {
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', ca });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}
