import type { ListedNode } from '../../kernel/nodes/node-list.ts';
import { timestamp } from '../../kernel/platform/clock.ts';
import { unavailable } from '../../kernel/platform/errors.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';

export function healthFeature(kernel: Kernel): Feature {
  return {
    name: 'health',
    endpoints: bindContract(contract, {
      health: async () => ({ status: 'ok' as const, release: kernel.version }),
      ready: async () => {
        // Readiness ends before connections are drained, so that a load balancer stops sending requests first.
        if (kernel.shutdown.signal.aborted) throw unavailable('The process is shutting down.');
        kernel.clockGuard.refuseWrongClock();
        await kernel.database.ping();
        await kernel.audit.ready();
        const warnings = kernel.warnings.filter(({ isPublic }) => isPublic).map(({ code }) => code);
        return { status: 'ready' as const, details: { warnings } };
      },
      metrics: () => kernel.metrics.text(),
      listNodes: async () => {
        const nodes = await kernel.nodes.list();
        return { nodes: nodes.map((row) => nodeOf(row, kernel.nodeId)) };
      },
    }),
  };
}

function nodeOf({ node_id, started_at, seen_at, ...facts }: ListedNode, ownId: string) {
  const times = { started_at: timestamp(started_at), seen_at: timestamp(seen_at) };
  return { id: node_id, ...facts, ...times, is_answering: node_id === ownId };
}
