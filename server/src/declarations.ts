import { assemble } from './app.ts';
import type { Heads } from './kernel/audit/heads.ts';
import type { EndpointDeclaration } from './kernel/endpoint.ts';
import type { Kernel } from './kernel/kernel.ts';
import { Metrics } from './kernel/observability/metrics.ts';

/**
 * Every endpoint there is, as data: what the docs, OpenAPI and the test matrix are made from. It is what features bind, so that nothing can be served
 * and left out here.
 */
export const DECLARATIONS: readonly EndpointDeclaration[] = declarationsOf(
  unopened<Kernel>({ metrics: new Metrics() }),
);

function declarationsOf(kernel: Kernel): EndpointDeclaration[] {
  return assemble(kernel, unopened<Heads>({})).endpoints.map(({ declaration }) => declaration);
}

/** Features keep what they are given while they are put together, and ask it for nothing: so there is nothing behind it here. */
function unopened<T extends object>(parts: Partial<T>): T {
  const nothing: object = new Proxy(() => {}, {
    get: (_, name) => (name in parts ? parts[name as keyof T] : nothing),
    apply: () => {
      throw new Error(
        'a feature asks for something while it is put together: do it with the first request, or in a job',
      );
    },
  });
  return nothing as T;
}
