import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import type { KubeSecret } from '../../agent/src/cluster/kube-client.ts';
import { HttpClient } from '../../agent/src/http-client.ts';
import { newFolder } from './host-root.ts';
import { KubernetesApi, type OperatorRole } from './kubernetes-api.ts';

/** An object as somebody with all rights sees it. */
export interface SeenObject extends KubeSecret {
  spec?: Record<string, unknown>;
}

export interface ApiAnswer {
  status: number;
  reason: string;
  body: Record<string, unknown>;
}

/** A Kubernetes API server as the tests use it. The operator has the rights of its manifests there, and the tests have all. */
export interface ClusterApi {
  readonly url: string;
  readonly tokenFile: string;
  /** Empty if the server does not speak TLS. */
  readonly caFile: string;
  find(plural: string, namespace: string, name: string): Promise<SeenObject | null>;
  /** As somebody with `kubectl edit` would write an object. */
  edit(plural: string, object: SeenObject): Promise<void>;
  addNamespace(namespace: string, role?: OperatorRole): Promise<void>;
  /** Every request of the operator so far, as `METHOD path`, without its query. */
  calls(): Promise<string[]>;
  /** A request with all rights, as it is. */
  send(method: string, path: string, body?: object, type?: string): Promise<ApiAnswer>;
  revokeToken(): Promise<void>;
  /** Writes a token that is valid again to the token file. */
  renewToken(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const strictServers = new Set<KubernetesApi>();
after(() => Promise.all([...strictServers].map((api) => api.close())));

const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Opens an API server that has these namespaces, with nothing in them but the Role of the operator. */
export type OpenCluster = (namespaces: readonly string[], role?: OperatorRole) => Promise<ClusterApi>;

/** The strict API server of this process. */
export class StrictCluster implements ClusterApi {
  readonly tokenFile = join(newFolder(), 'sa-token');
  readonly caFile = '';
  readonly #api: KubernetesApi;

  private constructor(api: KubernetesApi) {
    this.#api = api;
    writeFileSync(this.tokenFile, api.token);
  }

  static async open(namespaces: readonly string[], role: OperatorRole = 'secrets'): Promise<StrictCluster> {
    const api = await new KubernetesApi(namespaces, role).listen();
    strictServers.add(api);
    return new StrictCluster(api);
  }

  get url(): string {
    return this.#api.url;
  }

  async find(plural: string, namespace: string, name: string): Promise<SeenObject | null> {
    return this.#api.find(plural, namespace, name);
  }

  async edit(plural: string, object: SeenObject): Promise<void> {
    this.#api.edit(plural, object);
  }

  async addNamespace(namespace: string, role: OperatorRole = 'secrets'): Promise<void> {
    this.#api.addNamespace(namespace, role);
  }

  async calls(): Promise<string[]> {
    return [...this.#api.calls];
  }

  async send(method: string, path: string, body?: object, type = 'application/json'): Promise<ApiAnswer> {
    const http = new HttpClient(new URL(this.url), null);
    return sendTo({ http, token: this.#api.adminToken }, { method, path, body, type });
  }

  async revokeToken(): Promise<void> {
    this.#api.newToken();
  }

  async renewToken(): Promise<void> {
    writeFileSync(this.tokenFile, this.#api.token);
  }

  stop(): Promise<void> {
    return this.#api.close();
  }

  async start(): Promise<void> {
    await this.#api.listen(Number(new URL(this.url).port));
  }
}

/** A request as it is, with the status and the reason of the answer. */
export async function sendTo(
  server: { http: HttpClient; token: string },
  request: { method: string; path: string; body?: object | string | undefined; type: string },
): Promise<ApiAnswer> {
  const { method, path, body, type } = request;
  const answer = await server.http.call({
    method,
    path,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    bytesMax: ANSWER_BYTES_MAX,
    headers: { authorization: `Bearer ${server.token}`, ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const parsed = JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>;
  return { status: answer.status, reason: String(parsed['reason'] ?? ''), body: parsed };
}
