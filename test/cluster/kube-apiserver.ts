import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { HttpClient } from '../../agent/src/http-client.ts';
import { type ApiAnswer, sendTo } from '../support/cluster-api.ts';
import { freePort } from '../support/ports.ts';
import { unpackedPackages } from './debian-packages.ts';
import { builtProgram, KUBE_APISERVER } from './go-programs.ts';

const START_TIMEOUT_MS = 120_000;
/** Each request at its arrival, so that an answer is never seen before its entry. */
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, ResponseComplete]
rules: [{ level: Metadata }]
`;
const METHODS: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};

const run = promisify(execFile);

interface AuditEntry {
  verb: string;
  requestURI: string;
  user: { username: string };
}

/** A real kube-apiserver with its etcd, on this machine alone. */
export class KubeApiServer {
  readonly url: string;
  readonly issuer = 'https://kubernetes.default.svc';
  readonly #programs: { apiserver: string; etcd: string };
  readonly #ports: { apiserver: number; etcd: number; peer: number };
  readonly #folder = mkdtempSync(join(tmpdir(), 'coffer-kubernetes-'));
  readonly #adminToken = randomUUID();
  readonly #children = new Map<'apiserver' | 'etcd', ChildProcess>();

  private constructor(
    programs: { apiserver: string; etcd: string },
    ports: { apiserver: number; etcd: number; peer: number },
  ) {
    this.#programs = programs;
    this.#ports = ports;
    this.url = `https://127.0.0.1:${ports.apiserver}`;
  }

  /** Throws Unavailable where it cannot be had. */
  static async start(): Promise<KubeApiServer> {
    const programs = { etcd: await etcdProgram(), apiserver: await builtProgram(KUBE_APISERVER) };
    const ports = { apiserver: await freePort(), etcd: await freePort(), peer: await freePort() };
    const server = new KubeApiServer(programs, ports);
    server.#writeFiles();
    server.#startEtcd();
    await server.start();
    return server;
  }

  get caFile(): string {
    return this.#path('certs/apiserver.crt');
  }

  async start(): Promise<void> {
    const key = this.#path('service-accounts.key');
    this.#spawn('apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.#ports.etcd}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${this.#ports.apiserver}`,
      `--cert-dir=${this.#path('certs')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      `--token-auth-file=${this.#path('tokens.csv')}`,
      '--authorization-mode=RBAC',
      `--service-account-issuer=${this.issuer}`,
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--disable-admission-plugins=ServiceAccount',
      `--audit-policy-file=${this.#path('audit-policy.yaml')}`,
      `--audit-log-path=${this.#path('audit.log')}`,
    ]);
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await this.#isReady())) {
      if (this.#children.get('apiserver')?.exitCode !== null)
        throw new Error(`kube-apiserver ended: ${this.#lastLog()}`);
      if (performance.now() > deadline) throw new Error(`kube-apiserver does not start: ${this.#lastLog()}`);
      await sleep(100);
    }
  }

  /** Kills the API server; etcd stays. */
  stop(): Promise<void> {
    return this.#kill('apiserver');
  }

  async close(): Promise<void> {
    await this.#kill('apiserver');
    await this.#kill('etcd');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A request with all rights. */
  send(method: string, path: string, body?: object | string, type = 'application/json'): Promise<ApiAnswer> {
    const http = new HttpClient(new URL(this.url), this.caFile);
    return sendTo({ http, token: this.#adminToken }, { method, path, body, type });
  }

  /** A request with all rights that must succeed, or find what it makes there already. */
  async must(method: string, path: string, body?: object | string, type?: string): Promise<ApiAnswer> {
    const answer = await this.send(method, path, body, type);
    const isThere = method === 'POST' && answer.reason === 'AlreadyExists';
    assert.ok(isThere || answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** A token as the kubelet would project it. */
  async serviceAccountToken(namespace: string, name: string, audience: string = this.issuer): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const spec = { audiences: [audience], expirationSeconds: 3600 };
    const { body } = await this.must('POST', path, {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      spec,
    });
    return (body['status'] as { token: string }).token;
  }

  /** Waits until an account has a right, since the API server learns of a new binding a moment later. */
  async untilAllowed(user: string, resourceAttributes: Record<string, string>): Promise<void> {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, resourceAttributes },
    };
    for (let tries = 0; ; tries++) {
      const { body } = await this.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
      if ((body['status'] as { allowed: boolean }).allowed) return;
      assert.ok(tries < 200, `${user} did not get ${JSON.stringify(resourceAttributes)}`);
      await sleep(25);
    }
  }

  /** The requests of one user, from the audit log of the API server. */
  callsOf(user: string): string[] {
    const lines = readFileSync(this.#path('audit.log'), 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines
      .map((line) => JSON.parse(line) as AuditEntry)
      .filter((entry) => entry.user.username === user)
      .map(({ verb, requestURI }) => `${METHODS[verb] ?? verb} ${requestURI.replace(/\?.*/, '')}`);
  }

  #writeFiles(): void {
    mkdirSync(this.#path('certs'));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const options = { mode: 0o600 };
    writeFileSync(this.#path('service-accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), options);
    writeFileSync(this.#path('tokens.csv'), `${this.#adminToken},admin,admin,system:masters\n`, options);
    writeFileSync(this.#path('audit-policy.yaml'), AUDIT_POLICY);
  }

  #startEtcd(): void {
    const clients = `http://127.0.0.1:${this.#ports.etcd}`;
    const peers = `http://127.0.0.1:${this.#ports.peer}`;
    this.#spawn('etcd', [
      `--data-dir=${this.#path('etcd')}`,
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=default=${peers}`,
    ]);
  }

  #spawn(name: 'apiserver' | 'etcd', args: string[]): void {
    const child = spawn(this.#programs[name], args, { cwd: this.#folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const log = createWriteStream(this.#path(`${name}.log`), { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    this.#children.set(name, child);
  }

  async #kill(name: 'apiserver' | 'etcd'): Promise<void> {
    const child = this.#children.get(name);
    this.#children.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async #isReady(): Promise<boolean> {
    if (!existsSync(this.caFile)) return false;
    const http = new HttpClient(new URL(this.url), this.caFile);
    const headers = { authorization: `Bearer ${this.#adminToken}` };
    try {
      const signal = AbortSignal.timeout(5000);
      return (await http.call({ method: 'GET', path: '/readyz', headers, signal })).status === 200;
    } catch {
      // It does not listen yet.
      return false;
    }
  }

  #lastLog(): string {
    return readFileSync(this.#path('apiserver.log'), 'utf8').split('\n').slice(-5).join(' ');
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

/** The installed etcd, or that of Debian's package. */
async function etcdProgram(): Promise<string> {
  const isInstalled = await run('etcd', ['--version']).then(
    () => true,
    () => false,
  );
  return isInstalled ? 'etcd' : join(await unpackedPackages(['etcd-server']), 'usr/bin/etcd');
}
