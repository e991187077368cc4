/**
 * How features meet that do not import each other. Each link is a constant that one feature exports and another one imports, so that the compiler
 * finds both ends, and its type is checked at both.
 */

// biome-ignore lint/suspicious/noExplicitAny: links are declared with the function that they stand for
type AnyFunction = (...args: any[]) => unknown;

/** A function that a feature needs from one that imports it. The feature that needs it exports the port; exactly one other feature provides it. */
export class Port<F extends AnyFunction> {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }

  by(provided: F): Provided {
    return { port: this.name, provided };
  }
}

export interface Provided {
  readonly port: string;
  readonly provided: AnyFunction;
}

export function port<F extends AnyFunction>(name: string): Port<F> {
  return new Port<F>(name);
}

/**
 * Something is removed for good. The feature that removes it exports the removal; any number of features subscribe, to delete what they hold about
 * it. All of them run in the transaction of the removal, in no particular order.
 */
export class RemovalOf<Args extends readonly unknown[], Result> {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }

  by(subscriber: (...args: Args) => Promise<Result>): Subscription {
    return { removal: this.name, subscriber };
  }
}

export interface Subscription {
  readonly removal: string;
  readonly subscriber: AnyFunction;
}

export function removalOf<Args extends readonly unknown[], Result = void>(name: string): RemovalOf<Args, Result> {
  return new RemovalOf<Args, Result>(name);
}

/** An object that one feature makes and others use, such as a cache. The feature that makes it exports this, and is built before those that need it. */
export class Shared<T> {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }

  as(instance: T): SharedInstance {
    return { shared: this.name, instance };
  }
}

export interface SharedInstance {
  readonly shared: string;
  readonly instance: unknown;
}

export function shared<T>(name: string): Shared<T> {
  return new Shared<T>(name);
}

/** What a feature declares that it needs, by the names under which it gets it. */
export type Needs = Readonly<Record<string, Port<AnyFunction> | Shared<unknown>>>;
// biome-ignore lint/suspicious/noExplicitAny: removals are declared with the arguments that subscribers get
export type Removes = Readonly<Record<string, RemovalOf<any, any>>>;

/** What a feature gets for what it declared. Services take it as a parameter. */
export type Linked<N extends Needs> = {
  readonly [K in keyof N]: N[K] extends Port<infer F> ? F : N[K] extends Shared<infer T> ? T : never;
};

/** Tells every subscriber of a removal, in the transaction that removes, and returns what each of them returned. */
export type Announcer<R> =
  R extends RemovalOf<infer Args, infer Result>
    ? (...args: Args extends readonly unknown[] ? Args : never) => Promise<Result[]>
    : never;

/** What a feature gets for the removals that it declared. */
export type Announcers<R extends Removes> = { readonly [K in keyof R]: Announcer<R[K]> };
