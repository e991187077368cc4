import { timestamp } from '../../kernel/base/clock.ts';
import { UNKNOWN_COMMIT } from '../../kernel/base/commit.ts';
import { unavailable } from '../../kernel/base/errors.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import type { ListedNode } from '../../kernel/nodes/node-list.ts';
import { SCHEMA_VERSION } from '../../kernel/storage/schema-version.ts';
import { presentWarnings } from '../../settings/start-warnings.ts';
import * as contract from './contract.ts';
import type { HealthKernel } from './links.ts';
import { MetricsScheme } from './metrics-scheme.ts';

export const healthFeature = feature({
  name: 'health',
  endpoints: contract,
  uses: [
    'audit',
    'clockGuard',
    'commit',
    'config',
    'database',
    'metrics',
    'nodeId',
    'nodes',
    'operatorTenantId',
    'shutdown',
    'version',
    'warnings',
  ],
  build(parts) {
    parts.metrics.collect('cv_ready', 'Whether /health/ready of this node says that it can serve requests.', () =>
      checkReadiness(parts).then(
        () => 1,
        () => 0,
      ),
    );
    return {
      credentialSchemes: [new MetricsScheme(parts)],
      handlers: {
        health: async () => ({
          status: 'ok' as const,
          release: parts.version,
          commit: parts.commit,
          schema_version: SCHEMA_VERSION,
        }),
        ready: async () => {
          await checkReadiness(parts);
          const warnings = presentWarnings(parts.warnings)
            .filter(({ isPublic }) => isPublic)
            .map(({ code }) => code);
          return { status: 'ready' as const, details: { warnings } };
        },
        metrics: (ctx) => {
          // It must be answered while the audit log cannot be written.
          if (ctx.principal.credential === 'metrics') ctx.record.leaveOut();
          return parts.metrics.text();
        },
        listNodes: async () => {
          const nodes = await parts.nodes.list();
          return { nodes: nodes.map((row) => nodeOf(row, parts.nodeId)) };
        },
      },
    };
  },
});

async function checkReadiness({ shutdown, clockGuard, database, audit }: HealthKernel): Promise<void> {
  // Readiness ends before connections are drained, so that a load balancer stops sending requests first.
  if (shutdown.signal.aborted) throw unavailable('The process is shutting down.');
  clockGuard.refuseWrongClock();
  await database.ping();
  await audit.ready();
}

function nodeOf({ node_id, commit_id, started_at, seen_at, ...facts }: ListedNode, ownId: string) {
  const times = { started_at: timestamp(started_at), seen_at: timestamp(seen_at) };
  return { id: node_id, commit: commit_id ?? UNKNOWN_COMMIT, ...facts, ...times, is_answering: node_id === ownId };
}
