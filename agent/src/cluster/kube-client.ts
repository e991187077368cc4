import { readFileSync } from 'node:fs';
import { type Answer, HttpClient } from '../http-client.ts';
import type { OperatorSettings } from '../settings.ts';

/** The API server answered, and it was no success. Its text is dropped: it may quote what was sent. */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string) {
    super(`the Kubernetes API answered ${status} ${reason}`);
    this.status = status;
    this.reason = reason;
  }
}

export interface ObjectMeta {
  name: string;
  namespace: string;
  uid?: string;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface KubeSecret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

export const FIELD_MANAGER = 'coffer-operator';
const PAGE = 200;
/** A page of Secrets that are as large as Kubernetes lets them be. */
const BYTES_MAX = 512 * 1024 * 1024;
const REASON = /^[A-Za-z]{1,64}$/;
const TIMEOUT_MS = 30_000;

/** The calls that the operator needs, and no others. */
export class KubeClient {
  readonly #http: HttpClient;
  readonly #tokenFile: string;

  constructor(settings: Pick<OperatorSettings, 'kubernetesUrl' | 'kubernetesTokenFile' | 'kubernetesCaFile'>) {
    const isTls = settings.kubernetesUrl.protocol === 'https:';
    this.#http = new HttpClient(settings.kubernetesUrl, isTls ? settings.kubernetesCaFile : null, TIMEOUT_MS);
    this.#tokenFile = settings.kubernetesTokenFile;
  }

  /** Null if there is no such object. */
  async find<T extends KubeObject>(path: string, signal: AbortSignal): Promise<T | null> {
    try {
      return await this.#send<T>('GET', path, signal);
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return null;
      throw error;
    }
  }

  async list<T extends KubeObject>(path: string, labelSelector: string, signal: AbortSignal): Promise<T[]> {
    const items: T[] = [];
    for (let next = ''; ; ) {
      const query = new URLSearchParams({ limit: String(PAGE), ...(labelSelector !== '' && { labelSelector }) });
      if (next !== '') query.set('continue', next);
      const page = await this.#send<{ items?: T[]; metadata?: { continue?: string } }>(
        'GET',
        `${path}?${query}`,
        signal,
      );
      if (!Array.isArray(page.items)) throw new KubeError(200, 'NoList');
      items.push(...page.items);
      next = page.metadata?.continue ?? '';
      if (next === '') return items;
    }
  }

  /** Server-side apply. Without force, a field that somebody else has changed is a conflict (409). */
  apply<T extends KubeObject>(path: string, object: T, isForced: boolean, signal: AbortSignal): Promise<T> {
    const query = new URLSearchParams({ fieldManager: FIELD_MANAGER, force: String(isForced) });
    return this.#send<T>('PATCH', `${path}?${query}`, signal, { type: 'application/apply-patch+yaml', value: object });
  }

  merge<T extends KubeObject>(path: string, change: unknown, signal: AbortSignal): Promise<T> {
    const query = new URLSearchParams({ fieldManager: FIELD_MANAGER });
    return this.#send<T>('PATCH', `${path}?${query}`, signal, { type: 'application/merge-patch+json', value: change });
  }

  create<T extends KubeObject>(path: string, object: T, signal: AbortSignal): Promise<T> {
    return this.#send<T>('POST', path, signal, { type: 'application/json', value: object });
  }

  /** Refused (409) if the object is no longer the one whose resourceVersion it has. */
  replace<T extends KubeObject>(path: string, object: T, signal: AbortSignal): Promise<T> {
    return this.#send<T>('PUT', path, signal, { type: 'application/json', value: object });
  }

  /** Deletes the object that was read, and no newer one of the same name. */
  async remove(path: string, { uid, resourceVersion }: ObjectMeta, signal: AbortSignal): Promise<void> {
    if (uid === undefined || resourceVersion === undefined) throw new KubeError(200, 'NoIdentity');
    const value = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    await this.#send('DELETE', path, signal, { type: 'application/json', value });
  }

  async #send<T>(
    method: string,
    path: string,
    signal: AbortSignal,
    body?: { type: string; value: unknown },
  ): Promise<T> {
    const answer = await this.#http.call({
      method,
      path,
      signal,
      bytesMax: BYTES_MAX,
      headers: {
        accept: 'application/json',
        // The kubelet replaces the token before it expires, so the file is read for each call.
        authorization: `Bearer ${readFileSync(this.#tokenFile, 'utf8').trim()}`,
        ...(body !== undefined && { 'content-type': body.type }),
      },
      ...(body !== undefined && { body: JSON.stringify(body.value) }),
    });
    const parsed = parse(answer);
    if (answer.status >= 200 && answer.status < 300 && parsed !== null) return parsed as T;
    const reason = (parsed as { reason?: unknown } | null)?.reason;
    throw new KubeError(answer.status, typeof reason === 'string' && REASON.test(reason) ? reason : '');
  }
}

function parse({ body }: Answer): object | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

export function secretsPath(namespace: string, name?: string): string {
  return pathOf('/api/v1', namespace, 'secrets', name);
}

export function deploymentsPath(namespace: string, name?: string): string {
  return pathOf('/apis/apps/v1', namespace, 'deployments', name);
}

export function leasesPath(namespace: string, name?: string): string {
  return pathOf('/apis/coordination.k8s.io/v1', namespace, 'leases', name);
}

function pathOf(group: string, namespace: string, plural: string, name: string | undefined): string {
  const base = `${group}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
  return name === undefined ? base : `${base}/${encodeURIComponent(name)}`;
}
