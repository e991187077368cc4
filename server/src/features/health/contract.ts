import { Type } from 'typebox';
import { ANY_TOKEN, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';
import { WARNING_CODES } from '../../settings/start-warnings.ts';

const common = {
  noun: 'operations',
  aboutNoun: {
    title: 'Health and metrics',
    group: 'Administration',
    guide: ['operations', 'configuration'],
    description: 'Health, readiness and metrics, for operators.',
  },
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  rate: 'none',
  bodyBytesMax: 0,
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  status: 200,
} as const;

const open = {
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  audit: NONE,
  anyHost: true,
} as const;

const commit = Type.String({
  description: 'The commit that the release was made from, or `unknown`.',
  maxLength: 64,
  examples: ['9fceb02d0ae598e95dc970b74767f19372d61af8', 'unknown'],
});
const schemaVersion = Type.Integer({
  description: 'The newest schema of the database that the release knows.',
});

export const health = endpoint({
  ...common,
  ...open,
  name: 'health',
  method: 'GET',
  path: '/health',
  summary: 'Whether the process is alive',
  description: 'Does not query the database. Use it as a liveness probe.',
  output: object({
    status: oneOf(['ok'], 'The process responds.'),
    release: Type.String({ description: 'The release of this node.' }),
    commit,
    schema_version: schemaVersion,
  }),
  raw: NONE,
  errors: [],
});

export const ready = endpoint({
  ...common,
  ...open,
  name: 'ready',
  method: 'GET',
  path: '/health/ready',
  summary: 'Whether the service can serve requests now',
  description:
    'Returns 503 while the database cannot be reached, the audit log cannot be written, the clock of the node differs from the database’s, or the process is shutting down. ' +
    '`details.warnings` lists problems an operator should fix; the startup log says how.',
  output: object({
    status: oneOf(['ready'], 'The service can serve requests.'),
    details: described(
      'Further details.',
      object({ warnings: Type.Array(oneOf(WARNING_CODES), { description: 'Problems an operator should fix.' }) }),
    ),
  }),
  raw: NONE,
  errors: [],
});

export const metrics = endpoint({
  ...common,
  name: 'metrics',
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics in the Prometheus text format',
  description:
    'Only for the operator tenant, which runs the installation, with any token that permits metrics:read, or with the token of `CV_METRICS_TOKEN`, which is also good while the database is away. A metric whose query fails or takes longer than two seconds is left out, and `cv_metrics_missing` names it. With several workers, the metrics of all of them. Also answered while the clock of the node is wrong, which a metric shows.',
  credentials: [...ANY_TOKEN, 'metrics'],
  tenant: 'operator',
  permission: 'metrics:read',
  resource: 'metrics',
  audit: 'metrics:read',
  anyClock: true,
  output: NONE,
  raw: 'text/plain; version=0.0.4; charset=utf-8',
  errors: [],
});

const Node = named(
  'Node',
  'A process that serves requests.',
  object({
    id: Type.String({ description: 'New with each start.' }),
    release: Type.String({ description: 'The release of the node.' }),
    commit,
    schema_version: schemaVersion,
    region: nullable(Type.String(), 'The region of the node. Null if the installation has no regions.'),
    started_at: described('When the node started.', timestampText),
    seen_at: described('When the node last reported itself, which it does every ten seconds.', timestampText),
    is_answering: Type.Boolean({
      description:
        'True for the one node that wrote this response, which is where the request happened to arrive, and false for all others. It does not say whether a node works: `seen_at` does, and `/health/ready` of the node.',
    }),
  }),
);

export const listNodes = endpoint({
  ...common,
  name: 'listNodes',
  method: 'GET',
  path: '/admin/nodes',
  region: 'forward',
  summary: 'List the nodes that use the same database',
  description:
    'Only for the operator tenant, which runs the installation. A node that was killed is listed until it was not seen for five minutes. With several workers each is a node.',
  credentials: ANY_TOKEN,
  tenant: 'operator',
  permission: 'nodes:list',
  resource: 'node',
  rate: 'read',
  audit: 'nodes:list',
  output: object({ nodes: Type.Array(Node, { description: 'The nodes, in the order of their ids.' }) }),
  raw: NONE,
  errors: [],
});
