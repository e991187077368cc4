import type { Principal } from '../auth/principal.ts';
import type { EndpointDeclaration, Input, Output } from '../endpoint/declaration.ts';
import type { Context } from './context.ts';

/** A response too large for memory. It is written piece by piece, after it was authorized and recorded. */
export class Streamed {
  readonly pieces: AsyncIterable<string>;
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

/** A response that is already JSON as its schema requires, for resources that are read often. */
export class Preserialized {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** The caller already has the current version, which the ETag identifies. The response is 304 without a body. */
export class NotModified {}

export type Handler<E extends EndpointDeclaration> = (
  ctx: Context,
  input: Input<E>,
) => Promise<Output<E> | Streamed | Preserialized | NotModified>;

/**
 * Loads the rows that the handler will need in the same round trip as the tenant's epoch, and resolves to that epoch; null if there is nothing to
 * gain. `known` is a cached principal that may be stale, and nothing has been checked yet, so this must not decide anything.
 */
export type Prefetch = (ctx: Context, known: Principal) => Promise<number | null> | null;

/** A declaration with its handler. */
export interface BoundEndpoint {
  declaration: EndpointDeclaration;
  handler(ctx: Context, input: Input): Promise<unknown>;
  prefetch: Prefetch | null;
}

export function bind<E extends EndpointDeclaration>(
  declaration: E,
  handler: Handler<E>,
  prefetch: Prefetch | null = null,
): BoundEndpoint {
  return { declaration, handler: handler as unknown as BoundEndpoint['handler'], prefetch };
}

/** A handler whose rows can be loaded together with the tenant's epoch. */
interface Prefetched<E extends EndpointDeclaration> {
  handle: Handler<E>;
  prefetch: Prefetch;
}

/** One handler for each endpoint that a contract module exports. Its other exports, such as schemas and limits, have none. */
export type Handlers<Contract> = {
  [K in keyof Contract as Contract[K] extends EndpointDeclaration ? K : never]: Contract[K] extends EndpointDeclaration
    ? Handler<Contract[K]> | Prefetched<Contract[K]>
    : never;
};

/** Binds a whole contract. A declaration without a handler does not compile, nor does a handler without a declaration. */
export function bindContract<Contract extends object>(
  contract: Contract,
  handlers: Handlers<Contract>,
): BoundEndpoint[] {
  const bound = Object.entries(handlers) as [
    keyof Contract,
    Handler<EndpointDeclaration> | Prefetched<EndpointDeclaration>,
  ][];
  return bound.map(([name, handler]) => {
    const declaration = contract[name] as EndpointDeclaration;
    return typeof handler === 'function'
      ? bind(declaration, handler)
      : bind(declaration, handler.handle, handler.prefetch);
  });
}
