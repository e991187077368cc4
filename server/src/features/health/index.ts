import { bind } from '../../kernel/endpoint.ts';
import { unavailable } from '../../kernel/errors.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import * as contract from './contract.ts';

/** `isStopping` turns readiness off before connections are drained, so that a load balancer stops sending requests first. */
export function healthFeature(kernel: Kernel, isStopping: () => boolean): Feature {
  return {
    name: 'health',
    endpoints: [
      bind(contract.health, async () => ({ status: 'ok' as const })),
      bind(contract.ready, async () => {
        if (isStopping()) throw unavailable('The process is shutting down.');
        kernel.clockGuard.refuseWrongClock();
        await kernel.database.ping();
        await kernel.audit.ready();
        const warnings = kernel.warnings.filter(({ isPublic }) => isPublic).map(({ code }) => code);
        return { status: 'ready' as const, details: { warnings } };
      }),
      bind(contract.metrics, () => kernel.metrics.registry.metrics()),
    ],
  };
}
