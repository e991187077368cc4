import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/support/ports.ts';
import { pathOf } from './data-set.ts';
import type { Installations } from './installation.ts';
import { getRequest, type Load, writeRequest } from './load.ts';
import type { Peer } from './peers.ts';
import type { RequestName } from './requests.ts';
import { SPREAD } from './spread.ts';
import { post, send } from './tenants.ts';

const PROGRAM = 'bao';
const START_TIMEOUT_MS = 30_000;
const CALLERS = 16;
const KEY = 'bench';
const POLICY = `path "secret/*" { capabilities = ["create", "read", "update", "list"] }
path "transit/encrypt/${KEY}" { capabilities = ["update"] }`;

/** OpenBao as it is run in production: integrated storage (raft) and a file audit device, without TLS like the service beside it. */
export async function startOpenBao(installations: Installations): Promise<Peer> {
  const folder = installations.newFolder();
  const port = await freePort();
  const configuration = join(folder, 'bao.json');
  writeFileSync(configuration, JSON.stringify(configurationOf(folder, port, await freePort())));
  const child = spawn(PROGRAM, ['server', `-config=${configuration}`], { stdio: 'ignore' });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', () => reject(new Error(`there is no program ${PROGRAM} on the PATH`)));
  });
  installations.endsWithTheRest(child);
  await until(port, '/v1/sys/health?uninitcode=200&sealedcode=200');
  const root = await initialized(port);
  const tokens = await seeded(port, root);
  return {
    name: 'OpenBao, raft',
    pid: Number(child.pid),
    port,
    requestOf: (name) => requestOf(name, tokens),
  };
}

function configurationOf(folder: string, port: number, clusterPort: number): object {
  return {
    storage: { raft: { path: folder, node_id: 'bench' } },
    listener: { tcp: { address: `127.0.0.1:${port}`, cluster_address: `127.0.0.1:${clusterPort}`, tls_disable: true } },
    api_addr: `http://127.0.0.1:${port}`,
    cluster_addr: `https://127.0.0.1:${clusterPort}`,
    audit: [{ type: 'file', path: 'file', options: { file_path: join(folder, 'audit.log') } }],
  };
}

async function initialized(port: number): Promise<string> {
  const made = await post(port, '', '/v1/sys/init', { secret_shares: 1, secret_threshold: 1 });
  const [key] = made['keys'] as string[];
  await post(port, '', '/v1/sys/unseal', { key });
  await until(port, '/v1/sys/health');
  return String(made['root_token']);
}

/** A thousand secrets in folders of a hundred, and callers who may read and write them. */
async function seeded(port: number, root: string): Promise<string[]> {
  const as = { port, token: root };
  await send(as, 'POST', '/v1/sys/mounts/secret', { type: 'kv', options: { version: '2' } });
  await send(as, 'POST', '/v1/sys/mounts/transit', { type: 'transit' });
  await send(as, 'POST', `/v1/transit/keys/${KEY}`, {});
  await send(as, 'POST', '/v1/sys/policies/acl/bench', { policy: POLICY });
  // The engine answers 400 until it has prepared its storage.
  await until(port, '/v1/secret/config', root);
  for (let n = 0; n < SPREAD; n++) await send(as, 'POST', secretAt(n), { data: { value: 'x'.repeat(32) } });
  const tokens: string[] = [];
  for (let caller = 0; caller < CALLERS; caller++) {
    const made = await post(port, root, '/v1/auth/token/create', { policies: ['bench'], ttl: '10h' });
    tokens.push((made['auth'] as { client_token: string }).client_token);
  }
  return tokens;
}

const secretAt = (n: number) => `/v1/secret/data/${pathOf(n)}`;

function requestOf(name: RequestName, tokens: readonly string[]): Load['request'] | null {
  const inTurn = (make: (n: number, token: string) => Buffer) => {
    const requests = Array.from({ length: SPREAD }, (_, n) => make(n, String(tokens[n % tokens.length])));
    let sent = 0;
    return () => requests[sent++ % SPREAD] as Buffer;
  };
  switch (name) {
    case 'me':
      return inTurn((_, token) => getRequest('/v1/auth/token/lookup-self', token));
    case 'secret':
      return inTurn((n, token) => getRequest(secretAt(n), token));
    case 'list':
      return inTurn((n, token) => {
        const folder = pathOf(n).split('/').slice(0, -1).join('/');
        return getRequest(`/v1/secret/metadata/${folder}/?list=true`, token);
      });
    case 'write':
      return inTurn((n, token) => writeRequest('POST', secretAt(n), token, { data: { value: 'x' } }));
    case 'encrypt': {
      const plaintext = Buffer.from('x'.repeat(64)).toString('base64');
      return inTurn((_, token) => writeRequest('POST', `/v1/transit/encrypt/${KEY}`, token, { plaintext }));
    }
    case 'aggregate':
      return null;
  }
}

async function until(port: number, path: string, token = ''): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => null);
    if (answer?.ok === true) return;
    if (performance.now() > deadline) throw new Error(`${PROGRAM} did not get ready: ${answer?.status ?? 'no answer'}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
