import { bindContract, type Handlers } from '../request/binding.ts';
import type { Kernel } from '../request/kernel.ts';
import type { Built, DeclaredFeature } from './declaration.ts';
import type { Feature } from './feature.ts';
import { type Needs, Port, type Shared, type SharedInstance } from './links.ts';
import type { Wiring } from './wiring.ts';

/** Builds declared features, each with exactly what it declared. A feature that shares an object is built before those that need the object. */
export class FeatureBuilder {
  readonly #kernel: Kernel;
  readonly #wiring: Wiring;
  readonly #features: readonly DeclaredFeature[];
  readonly #built = new Map<string, Feature>();
  readonly #shared = new Map<string, unknown>();
  /** The features that are being built, each for the one before it. */
  readonly #building: string[] = [];

  /** `given` is what no feature shares. */
  constructor(
    kernel: Kernel,
    wiring: Wiring,
    features: readonly DeclaredFeature[],
    given: readonly SharedInstance[] = [],
  ) {
    this.#kernel = kernel;
    this.#wiring = wiring;
    this.#features = features;
    this.#share('the service', given);
  }

  buildAll(): Feature[] {
    return this.#features.map((feature) => this.#build(feature));
  }

  /** What a feature shares, for the process around the features. */
  shared<T>({ name }: Shared<T>): T {
    return this.#sharedObject('the service', name) as T;
  }

  #build(feature: DeclaredFeature): Feature {
    const known = this.#built.get(feature.name);
    if (known !== undefined) return known;
    if (this.#building.includes(feature.name)) {
      throw new Error(`features need objects of each other: ${[...this.#building, feature.name].join(' → ')}`);
    }
    this.#building.push(feature.name);
    const built = feature.build(this.#partsFor(feature));
    this.#building.pop();
    this.#keepShared(feature, built);
    const made = asFeature(feature, built);
    this.#built.set(feature.name, made);
    return made;
  }

  #partsFor({ name, uses, needs, removes }: DeclaredFeature): object {
    const parts: Record<string, unknown> = {};
    const add = (key: string, part: unknown) => {
      if (key in parts) throw new Error(`${name} declares ${key} twice`);
      parts[key] = part;
    };
    for (const key of uses) add(key, this.#kernel[key]);
    for (const [key, need] of Object.entries<Needs[string]>(needs)) add(key, this.#linked(name, need));
    for (const [key, removal] of Object.entries(removes)) add(key, this.#wiring.announcer(removal.name));
    return parts;
  }

  #linked(feature: string, need: Needs[string]): unknown {
    return need instanceof Port ? this.#wiring.need(need.name) : this.#sharedObject(feature, need.name);
  }

  #sharedObject(feature: string, name: string): unknown {
    const owner = this.#features.find(({ shares }) => shares.includes(name));
    if (owner !== undefined) this.#build(owner);
    if (!this.#shared.has(name)) throw new Error(`${feature} needs ${name}, which no feature shares`);
    return this.#shared.get(name);
  }

  #keepShared({ name, shares }: DeclaredFeature, { shares: instances = [] }: Built): void {
    const made = instances.map(({ shared }) => shared);
    const missing = shares.filter((part) => !made.includes(part));
    if (missing.length > 0) throw new Error(`${name} declares that it shares ${missing.join(', ')}, and does not`);
    const surplus = made.filter((part) => !shares.includes(part));
    if (surplus.length > 0) throw new Error(`${name} shares ${surplus.join(', ')} and does not declare it`);
    this.#share(name, instances);
  }

  #share(name: string, instances: readonly SharedInstance[]): void {
    for (const { shared, instance } of instances) {
      if (this.#shared.has(shared)) throw new Error(`${name} shares ${shared}, which another feature shares`);
      this.#shared.set(shared, instance);
    }
  }
}

function asFeature({ name, contract }: DeclaredFeature, built: Built): Feature {
  const { handlers, provides = [], removals = [], shares: _, ...rest } = built;
  const endpoints = handlers === undefined ? [] : bindContract(contract, handlers as Handlers<object>);
  return { ...rest, name, endpoints, provides, removals };
}
