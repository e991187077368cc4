import type { ApprovalHooks, ApprovalKind } from '../request/approval.ts';
import type { BoundEndpoint } from '../request/binding.ts';
import type { EndpointDeclaration } from '../request/declaration.ts';
import { makeReady, type ReadyEndpoint } from '../request/pipeline.ts';
import type { Kernel } from './kernel.ts';

/**
 * Functions that a feature needs from another one that it cannot import, because the other one imports it. The feature that needs a function
 * adds it to this interface beside its service, with `declare module`. Exactly one other feature provides it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface Ports {}

/**
 * What is removed for good. The feature that removes it adds it to this interface, with the arguments that others get. Any number of features
 * subscribe, to delete what they hold about it. All of them run in the transaction of the removal, in no particular order.
 */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface Removals {}

/** Runs all subscribers of a removal and returns what each of them returned. */
export type Removal<K extends keyof Removals> = (
  ...args: Parameters<Removals[K]>
) => Promise<Awaited<ReturnType<Removals[K]>>[]>;

/** What a feature shares with others. */
export interface SharedParts {
  name: string;
  endpoints: readonly BoundEndpoint[];
  /** Functions that other features need from this one and cannot import. */
  provides?: Partial<Ports>;
  /** What this feature deletes when another one removes something for good. */
  removals?: Partial<Removals>;
  /** How this feature marks a resource whose change waits for approval. */
  approvalHooks?: Partial<Record<ApprovalKind, ApprovalHooks>>;
}

type AnyFunction = (...args: unknown[]) => unknown;

/** Connects features that do not import each other. They take functions from it while they are built, and call them once all are connected. */
export class Wiring {
  #features: readonly SharedParts[] | null = null;
  readonly #needed = new Set<string>();
  readonly #announced = new Set<string>();
  readonly #provided = new Map<string, AnyFunction>();
  readonly #subscribers = new Map<string, AnyFunction[]>();
  #endpoints: readonly ReadyEndpoint[] = [];
  #byName: ReadonlyMap<string, ReadyEndpoint> = new Map();
  #approvalHooks: Partial<Record<ApprovalKind, ApprovalHooks>> = {};

  /** The functions of other features by these names. A name that nobody provides fails when the features are connected. */
  needs<K extends keyof Ports>(...names: K[]): Pick<Ports, K> {
    const forwarded = names.map((name) => {
      this.#needed.add(name);
      return [name, (...args: unknown[]) => this.#provider(name)(...args)] as const;
    });
    return Object.fromEntries(forwarded) as unknown as Pick<Ports, K>;
  }

  /** Tells every subscriber that something is removed. It is called in the transaction that removes it. */
  removal<K extends keyof Removals>(kind: K): Removal<K> {
    this.#announced.add(kind);
    return (async (...args: unknown[]) => {
      this.#requireConnected();
      const results: unknown[] = [];
      // One after the other, because they share the connection of the transaction.
      for (const subscriber of this.#subscribers.get(kind) ?? []) results.push(await subscriber(...args));
      return results;
    }) as Removal<K>;
  }

  /** Called once, with every feature. It throws if what one of them needs or provides has no counterpart. */
  connect(features: readonly SharedParts[]): void {
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

  get declarations(): EndpointDeclaration[] {
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

  #add({ name, provides = {}, removals = {}, approvalHooks = {} }: SharedParts): void {
    for (const [port, provided] of Object.entries(provides)) {
      if (this.#provided.has(port))
        throw new Error(`${name} provides the port ${port}, which another feature provides`);
      this.#provided.set(port, provided as AnyFunction);
    }
    for (const [kind, subscriber] of Object.entries(removals)) {
      this.#subscribers.set(kind, [...(this.#subscribers.get(kind) ?? []), subscriber as AnyFunction]);
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

/** Makes one instance for each kernel, at first use: for what several features share, such as a cache. */
export function perKernel<T>(make: (kernel: Kernel) => T): (kernel: Kernel) => T {
  const made = new WeakMap<Kernel, T>();
  return (kernel) => {
    const instance = made.get(kernel) ?? make(kernel);
    made.set(kernel, instance);
    return instance;
  };
}
