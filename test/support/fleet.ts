import { addColleague, ok, uniqueName } from './people.ts';
import type { Answer, Service } from './service.ts';
import { addSecret, addVault } from './vaults.ts';

/** A cluster as its creator sees it, once. */
export interface TestCluster {
  id: string;
  name: string;
  cluster_token: string;
}

export async function addCluster(
  service: Service,
  more: Record<string, unknown> = {},
  token?: string,
): Promise<TestCluster> {
  const body = { name: uniqueName('cluster'), kind: 'kubernetes', ...more };
  return ok(service.call('POST', '/clusters', { ...(token !== undefined && { token }), body }), 201);
}

/** A cluster without policies, and a vault with one secret. */
export async function clusterWithSecret(service: Service, path = 'db/password') {
  const cluster = await addCluster(service);
  const vault = await addVault(service);
  await addSecret(service, vault, path);
  return { cluster, vault };
}

/** The token of a writer of the vault who has just shown a second factor, as fortress secrets require it. */
export async function fortressWriter(service: Service, vault: string): Promise<string> {
  const { tenant } = await ok(service.call('GET', '/auth/me'));
  const { id, token } = await addColleague(service, tenant.id, 'member', { mfaAt: service.clock.now() });
  await ok(service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: id, role: 'writer' } }), 201);
  return token;
}

export function clusterHeaders({ cluster_token }: Pick<TestCluster, 'cluster_token'>) {
  return { 'x-cluster-token': cluster_token };
}

/** A request with the token of a cluster and nothing else. */
export function callAsCluster(
  service: Service,
  cluster: Pick<TestCluster, 'cluster_token'>,
  method: string,
  path: string,
  more: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const headers = { ...clusterHeaders(cluster), ...more.headers };
  return service.call(method, path, { token: null, headers, ...(more.body !== undefined && { body: more.body }) });
}

export function sync(service: Service, cluster: TestCluster, etag?: string): Promise<Answer> {
  const headers = etag === undefined ? {} : { 'if-none-match': etag };
  return callAsCluster(service, cluster, 'GET', `/clusters/${cluster.id}/desired-state`, { headers });
}

export function addClusterPolicy(
  service: Service,
  { id }: Pick<TestCluster, 'id'>,
  more: Record<string, unknown>,
  token?: string,
): Promise<Answer> {
  const body = { namespace: 'shop', secret_name: uniqueName('secret'), ...more };
  return service.call('POST', `/clusters/${id}/policies`, { ...(token !== undefined && { token }), body });
}

export function reportStatus(service: Service, cluster: TestCluster, body: object): Promise<Answer> {
  return callAsCluster(service, cluster, 'POST', `/clusters/${cluster.id}/status`, { body });
}

/** A host id as the agent makes it. */
export function hostId(name: string): string {
  return `host_${Buffer.from(name).toString('hex').padEnd(32, '0')}`;
}

/** A fingerprint of the right form that is of no real key. */
export function fingerprint(name: string): string {
  return `SHA256:${Buffer.from(name.padEnd(33, '.')).toString('base64').slice(0, 43)}`;
}

export function sshKey(name: string, more: Record<string, unknown> = {}) {
  return { type: 'ssh-ed25519', fingerprint_sha256: fingerprint(name), comment: name, ...more };
}

export function account(username: string, more: Record<string, unknown> = {}) {
  return { username, uid: 1000, shell: '/bin/bash', ssh_keys: [], ...more };
}

export function reportHost(
  service: Service,
  cluster: Pick<TestCluster, 'cluster_token'>,
  host: string,
  accounts: readonly object[],
  more: Record<string, unknown> = {},
): Promise<Answer> {
  const scanned_at = new Date(service.clock.now()).toISOString();
  const body = { host_id: hostId(host), hostname: host, scanned_at, accounts, ...more };
  return callAsCluster(service, cluster, 'POST', '/kube-guardian/endpoint-accounts', { body });
}
