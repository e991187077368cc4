import { isDeepStrictEqual } from 'node:util';
import { type DesiredSecret, type DesiredState, keyOf } from './desired-state.ts';
import { type KubeClient, KubeError, type KubeSecret, secretsPath } from './kube-client.ts';

export interface ApplyResult {
  namespace: string;
  secret_name: string;
  state: 'applied' | 'unchanged' | 'failed' | 'pruned';
  message?: string;
}

export interface Reconciled {
  results: ApplyResult[];
  /** The Secrets as they are now, by namespace and name. */
  secrets: Map<string, KubeSecret>;
}

export interface Scope {
  kube: KubeClient;
  clusterId: string;
  namespaces: readonly string[];
  /** Aborted when this replica is not the leader any more. */
  signal: AbortSignal;
}

export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const CLUSTER_LABEL = 'coffer.dev/cluster';
export const CHECKSUM = 'coffer.dev/checksum';
const MANAGER = 'coffer';
const MESSAGE_CHARS_MAX = 512;

export function selectorOf(clusterId: string): string {
  return `${MANAGED_BY}=${MANAGER},${CLUSTER_LABEL}=${clusterId}`;
}

/** Makes the Secrets of the cluster what the desired state says, one by one; a failure of one does not stop the others. */
export async function reconcile(scope: Scope, state: DesiredState): Promise<Reconciled> {
  const { owned, unlisted } = await listOwned(scope);
  const results: ApplyResult[] = [];
  const secrets = new Map<string, KubeSecret>();
  for (const desired of state.secrets) {
    results.push(
      await attempt(scope, desired, async () => {
        const refusal = unlisted.get(desired.namespace);
        if (refusal !== undefined) throw refusal;
        const { result, secret } = await applyOne(scope, desired, owned.get(keyOf(desired)) ?? null);
        secrets.set(keyOf(desired), secret);
        return result;
      }),
    );
  }
  const staying = new Set([...state.secrets, ...state.withheld].map(keyOf));
  const surplus = [...owned.values()].filter(({ metadata }) => !staying.has(keyOf(metadata)));
  for (const secret of surplus) {
    results.push(await attempt(scope, secret.metadata, () => prune(scope, state, secret)));
  }
  return { results, secrets };
}

interface Owned {
  owned: Map<string, KubeSecret>;
  /** Namespaces that do not exist, or in which the operator has no rights. Nothing in them is applied or deleted. */
  unlisted: Map<string, KubeError>;
}

/** All Secrets with our labels. */
async function listOwned({ kube, clusterId, namespaces, signal }: Scope): Promise<Owned> {
  const found: Owned = { owned: new Map(), unlisted: new Map() };
  for (const namespace of namespaces) {
    try {
      const secrets = await kube.list<KubeSecret>(secretsPath(namespace), selectorOf(clusterId), signal);
      for (const secret of secrets) found.owned.set(keyOf(secret.metadata), secret);
    } catch (error) {
      if (!(error instanceof KubeError) || (error.status !== 403 && error.status !== 404)) throw error;
      found.unlisted.set(namespace, error);
    }
  }
  return found;
}

interface Applied {
  result: Omit<ApplyResult, 'namespace' | 'secret_name'>;
  secret: KubeSecret;
}

async function applyOne(scope: Scope, desired: DesiredSecret, owned: KubeSecret | null): Promise<Applied> {
  const { kube, clusterId, namespaces, signal } = scope;
  if (!namespaces.includes(desired.namespace)) throw new RefusedSecretError('the namespace is not in CV_NAMESPACES');
  const path = secretsPath(desired.namespace, desired.name);
  // What has no label of ours was made by somebody else, and applying would mix our keys into it.
  if (owned === null && (await kube.find(path, signal)) !== null) {
    throw new RefusedSecretError('a Secret of this name exists that the operator does not own');
  }
  if (owned !== null && isAsDesired(owned, desired)) {
    return { result: { state: 'unchanged', ...foreignKeys(owned, desired) }, secret: owned };
  }
  if (owned !== null && owned.type !== desired.type) await kube.remove(path, owned.metadata, signal);
  const object = objectOf(desired, clusterId);
  try {
    const secret = await kube.apply(path, object, false, signal);
    return { result: { state: 'applied', ...foreignKeys(secret, desired) }, secret };
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 409)) throw error;
    const secret = await kube.apply(path, object, true, signal);
    return { result: { state: 'applied', message: 'a change by somebody else was overwritten' }, secret };
  }
}

/** A key that was dropped is not seen in the data alone, but the checksum is then another one. */
function isAsDesired(secret: KubeSecret, desired: DesiredSecret): boolean {
  const ours = Object.fromEntries(Object.keys(desired.data).map((key) => [key, secret.data?.[key]]));
  return (
    secret.type === desired.type &&
    secret.metadata.annotations?.[CHECKSUM] === desired.checksum &&
    isDeepStrictEqual(ours, { ...desired.data })
  );
}

/** Keys that somebody else wrote stay, and are reported. */
function foreignKeys(secret: KubeSecret, desired: DesiredSecret): { message?: string } {
  const others = Object.keys(secret.data ?? {}).filter((key) => !Object.hasOwn(desired.data, key));
  return others.length === 0 ? {} : { message: line(`keys that somebody else wrote: ${others.sort().join(', ')}`) };
}

async function prune({ kube, signal }: Scope, state: DesiredState, secret: KubeSecret): Promise<Applied['result']> {
  // An empty state is what a mistake would look like, so the last Secrets are deleted by a person.
  if (state.secrets.length === 0 && state.withheld.length === 0) {
    throw new RefusedSecretError('the desired state is empty, so nothing is deleted: delete this Secret by hand');
  }
  const { namespace, name } = secret.metadata;
  await kube.remove(secretsPath(namespace, name), secret.metadata, signal).catch((error: unknown) => {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
  });
  return { state: 'pruned' };
}

/** Why the operator left a Secret alone. */
class RefusedSecretError extends Error {}

async function attempt(
  { signal }: Scope,
  { namespace, name }: { namespace: string; name: string },
  act: () => Promise<Omit<ApplyResult, 'namespace' | 'secret_name'>>,
): Promise<ApplyResult> {
  const of = { namespace, secret_name: name };
  try {
    signal.throwIfAborted();
    return { ...of, ...(await act()) };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof RefusedSecretError) return { ...of, state: 'failed', message: line(error.message) };
    if (error instanceof KubeError) return { ...of, state: 'failed', message: line(textOf(error)) };
    throw error;
  }
}

function textOf(error: KubeError): string {
  const texts: Record<number, string> = {
    403: 'the namespace does not exist, or the operator has no Role in it',
    404: 'the namespace does not exist',
    409: 'the Secret was changed meanwhile',
    422: 'Kubernetes refuses this Secret, for example because it is too large for its kind or lacks a key of its type',
  };
  return texts[error.status] ?? error.message;
}

function line(text: string): string {
  return text.slice(0, MESSAGE_CHARS_MAX);
}

function objectOf({ namespace, name, type, data, checksum }: DesiredSecret, clusterId: string): KubeSecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_BY]: MANAGER, [CLUSTER_LABEL]: clusterId },
      annotations: { [CHECKSUM]: checksum },
    },
    type,
    data: { ...data },
  };
}
