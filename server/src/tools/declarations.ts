import { assemble } from '../assembly/assemble.ts';
import { loadConfig } from '../assembly/settings.ts';
import type { EndpointDeclaration } from '../kernel/endpoint/declaration.ts';
import { Metrics } from '../kernel/observability/metrics.ts';
import type { Kernel } from '../kernel/request/kernel.ts';

/**
 * Every endpoint as data, from which the docs, OpenAPI and the test matrix are generated. The list comes from what the features bind, so that no
 * endpoint can be served and be missing here.
 */
export const DECLARATIONS: readonly EndpointDeclaration[] = declarationsOf(
  unopened<Kernel>({ metrics: new Metrics(), config: loadConfig({}) }),
);

function declarationsOf(kernel: Kernel): readonly EndpointDeclaration[] {
  return assemble(kernel).wiring.declarations;
}

/** Features only store what they are given while they are assembled and call none of it, so a stub is enough. */
function unopened<T extends object>(parts: Partial<T>): T {
  const nothing: object = new Proxy(() => {}, {
    get: (_, name) => (name in parts ? parts[name as keyof T] : nothing),
    apply: () => {
      throw new Error(
        'a feature uses a service while it is being constructed: use it in the first request, or in a job',
      );
    },
  });
  return nothing as T;
}
