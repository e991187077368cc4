import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiAnswer, ClusterApi, SeenObject } from '../support/cluster-api.ts';
import { newFolder } from '../support/host-root.ts';
import type { OperatorRole } from '../support/kubernetes-api.ts';
import { type Manifest, renderedChart } from './chart.ts';
import type { KubeApiServer } from './kube-apiserver.ts';

export const OPERATOR = 'system:serviceaccount:coffer:coffer-operator';
const ACCOUNT = '/api/v1/namespaces/coffer/serviceaccounts/coffer-operator';
const APPLY = 'application/apply-patch+yaml';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const KINDS: Readonly<Record<string, { group: string; apiVersion: string; kind: string }>> = {
  secrets: { group: '/api/v1', apiVersion: 'v1', kind: 'Secret' },
  deployments: { group: '/apis/apps/v1', apiVersion: 'apps/v1', kind: 'Deployment' },
  leases: { group: '/apis/coordination.k8s.io/v1', apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
};
const PATHS: Readonly<Record<string, [group: string, plural: string]>> = {
  ServiceAccount: ['/api/v1', 'serviceaccounts'],
  Role: [RBAC, 'roles'],
  RoleBinding: [RBAC, 'rolebindings'],
  Deployment: ['/apis/apps/v1', 'deployments'],
};

/** A real API server as the tests of the operator use it. Its operator has what the chart grants, and nothing else. */
export class RealCluster implements ClusterApi {
  readonly tokenFile = join(newFolder(), 'sa-token');
  readonly #server: KubeApiServer;

  constructor(server: KubeApiServer) {
    this.#server = server;
  }

  /** The server is the same for all tests, so what is left of the test before is deleted. */
  async open(namespaces: readonly string[], role: OperatorRole = 'secrets'): Promise<this> {
    await this.addNamespace('coffer', 'none');
    for (const [plural, { group }] of Object.entries(KINDS)) {
      for (const namespace of ['coffer', ...namespaces]) {
        await this.#server.must('DELETE', `${group}/namespaces/${namespace}/${plural}`);
      }
    }
    for (const namespace of namespaces) await this.addNamespace(namespace, role);
    await this.renewToken();
    return this;
  }

  get url(): string {
    return this.#server.url;
  }

  get caFile(): string {
    return this.#server.caFile;
  }

  async find(plural: string, namespace: string, name: string): Promise<SeenObject | null> {
    const { status, body } = await this.#server.send('GET', pathOf(plural, namespace, name));
    if (status === 404) return null;
    assert.equal(status, 200, JSON.stringify(body));
    return body as unknown as SeenObject;
  }

  async edit(plural: string, object: SeenObject): Promise<void> {
    const { namespace, name, resourceVersion } = object.metadata;
    const { apiVersion, kind } = KINDS[plural] ?? assert.fail(plural);
    const [method, path] =
      resourceVersion === undefined ? ['POST', pathOf(plural, namespace)] : ['PUT', pathOf(plural, namespace, name)];
    await this.#server.must(method, `${path}?fieldManager=kubectl-edit`, { apiVersion, kind, ...object });
  }

  async addNamespace(namespace: string, role: OperatorRole = 'secrets'): Promise<void> {
    await this.#server.must('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
    if (role === 'none') return;
    for (const manifest of await renderedChart({
      namespaces: [namespace],
      restartDeployments: role === 'restarts',
    })) {
      if (manifest.kind !== 'Deployment') await this.apply(manifest);
    }
    const plural = role === 'restarts' ? 'deployments' : 'secrets';
    const group = role === 'restarts' ? 'apps' : '';
    await this.#server.untilAllowed(OPERATOR, { verb: 'patch', group, resource: plural, namespace });
    const lease = { group: 'coordination.k8s.io', resource: 'leases', name: 'coffer-operator', namespace: 'coffer' };
    await this.#server.untilAllowed(OPERATOR, { verb: 'update', ...lease });
  }

  /** Refuses fields that the API server does not know. */
  async apply({ kind, name, namespace, text }: Manifest, query = ''): Promise<ApiAnswer> {
    const [group, plural] = PATHS[kind] ?? assert.fail(`a ${kind} is not expected`);
    const path = `${group}/namespaces/${namespace}/${plural}/${name}`;
    const options = `?fieldManager=helm&force=true&fieldValidation=Strict${query}`;
    return this.#server.must('PATCH', `${path}${options}`, text, APPLY);
  }

  async calls(): Promise<string[]> {
    return this.#server.callsOf(OPERATOR);
  }

  send(method: string, path: string, body?: object, type?: string): Promise<ApiAnswer> {
    return this.#server.send(method, path, body, type);
  }

  /** Tokens are bound to the account that they were made for, and a new one of the same name is another. */
  async revokeToken(): Promise<void> {
    await this.#server.must('DELETE', ACCOUNT);
    const metadata = { name: 'coffer-operator', namespace: 'coffer' };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
    await this.#server.must('POST', ACCOUNT.replace(/\/[^/]+$/, ''), account);
  }

  async renewToken(): Promise<void> {
    writeFileSync(this.tokenFile, await this.#server.serviceAccountToken('coffer', 'coffer-operator'));
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  start(): Promise<void> {
    return this.#server.start();
  }
}

function pathOf(plural: string, namespace: string, name?: string): string {
  const { group } = KINDS[plural] ?? assert.fail(plural);
  return `${group}/namespaces/${namespace}/${plural}${name === undefined ? '' : `/${name}`}`;
}
