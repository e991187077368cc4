import type { ApprovalHooks, ApprovalKind } from '../endpoint/approval.ts';
import type { EndpointDeclaration } from '../endpoint/declaration.ts';
import { makeReady, type ReadyEndpoint } from '../request/ready-endpoint.ts';
import type { Feature } from './feature.ts';
import { shared } from './links.ts';

type AnyFunction = (...args: unknown[]) => unknown;

/** Connects features that do not import each other. They take functions from it while they are built, and call them once all are connected. */
export class Wiring implements AllEndpoints {
  #features: readonly Feature[] | null = null;
  readonly #needed = new Set<string>();
  readonly #announced = new Set<string>();
  readonly #provided = new Map<string, AnyFunction>();
  readonly #subscribers = new Map<string, AnyFunction[]>();
  #endpoints: readonly ReadyEndpoint[] = [];
  #byName: ReadonlyMap<string, ReadyEndpoint> = new Map();
  #approvalHooks: Partial<Record<ApprovalKind, ApprovalHooks>> = {};

  /** The function of another feature. A name that nobody provides fails when the features are connected. */
  need(name: string): AnyFunction {
    this.#needed.add(name);
    return (...args) => this.#provider(name)(...args);
  }

  /** Tells every subscriber that something is removed. It is called in the transaction that removes it. */
  announcer(kind: string): (...args: unknown[]) => Promise<unknown[]> {
    this.#announced.add(kind);
    return async (...args) => {
      this.#requireConnected();
      const results: unknown[] = [];
      // One after the other, because they share the connection of the transaction.
      for (const subscriber of this.#subscribers.get(kind) ?? []) results.push(await subscriber(...args));
      return results;
    };
  }

  /** Called once, with every feature. It throws if what one of them needs or provides has no counterpart. */
  connect(features: readonly Feature[]): void {
    if (this.#features !== null) throw new Error('the features are connected already');
    for (const feature of features) this.#add(feature);
    refuseUnmatched('nobody provides the port', this.#needed, this.#provided);
    refuseUnmatched('nobody needs the port', this.#provided.keys(), this.#needed);
    refuseUnmatched('nobody announces the removal', this.#subscribers.keys(), this.#announced);
    const bound = features.flatMap(({ endpoints }) => endpoints);
    this.#endpoints = bound.map((endpoint) => makeReady(endpoint, JSON.stringify));
    this.#byName = new Map(this.#endpoints.map((endpoint) => [endpoint.declaration.name, endpoint]));
    this.#features = features;
  }

  get endpoints(): readonly ReadyEndpoint[] {
    this.#requireConnected();
    return this.#endpoints;
  }

  get declarations(): readonly EndpointDeclaration[] {
    return this.endpoints.map(({ declaration }) => declaration);
  }

  endpoint(name: string): ReadyEndpoint | undefined {
    this.#requireConnected();
    return this.#byName.get(name);
  }

  get approvalHooks(): Partial<Record<ApprovalKind, ApprovalHooks>> {
    this.#requireConnected();
    return this.#approvalHooks;
  }

  #add({ name, provides, removals, approvalHooks = {} }: Feature): void {
    for (const { port, provided } of provides) {
      if (this.#provided.has(port))
        throw new Error(`${name} provides the port ${port}, which another feature provides`);
      this.#provided.set(port, provided);
    }
    for (const { removal, subscriber } of removals) {
      this.#subscribers.set(removal, [...(this.#subscribers.get(removal) ?? []), subscriber]);
    }
    for (const kind of Object.keys(approvalHooks)) {
      if (kind in this.#approvalHooks) throw new Error(`${name} has hooks for ${kind}, for which another feature has`);
    }
    this.#approvalHooks = { ...this.#approvalHooks, ...approvalHooks };
  }

  #provider(name: string): AnyFunction {
    this.#requireConnected();
    return this.#provided.get(name) as AnyFunction;
  }

  #requireConnected(): void {
    if (this.#features === null) throw new Error('a feature uses another one before all of them are connected');
  }
}

function refuseUnmatched(problem: string, names: Iterable<string>, others: { has(name: string): boolean }): void {
  const unmatched = [...names].filter((name) => !others.has(name));
  if (unmatched.length > 0) throw new Error(`${problem} ${unmatched.join(', ')}`);
}

/** The endpoints of all features. They are known once all are connected. */
export interface AllEndpoints {
  readonly declarations: readonly EndpointDeclaration[];
  readonly approvalHooks: Partial<Record<ApprovalKind, ApprovalHooks>>;
  /** The endpoint of this name, to execute a stored request. */
  endpoint(name: string): ReadyEndpoint | undefined;
}

/** Assembly shares it, for features that are about the endpoints of others. */
export const allEndpoints = shared<AllEndpoints>('allEndpoints');
