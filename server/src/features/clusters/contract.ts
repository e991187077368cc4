import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  id,
  idParam,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  pageQuery,
  timestampText,
} from '../../kernel/wire/wire.ts';
import {
  ApplyLogEntry,
  ApplyResult,
  Cluster,
  ClusterPolicy,
  ClusterWithToken,
  clusterName,
  DesiredState,
  kind,
  mappings,
  namespace,
  OVERLAP_SECONDS_MAX,
  policyEnvironment,
  policyVault,
  prefix,
  RESULTS_MAX,
  secretName,
  secretType,
} from './schemas.ts';

const STATUS_BODY_BYTES_MAX = 2 * 1024 * 1024;
const POLICY_BODY_BYTES_MAX = 512 * 1024;

const common = {
  ...ORDINARY,
  noun: 'clusters',
  aboutNoun: {
    title: 'Clusters',
    group: 'Machines',
    guide: ['clusters'],
    description: 'Deliver secrets to Kubernetes clusters, and let agents on hosts report.',
  },
  credentials: ANY_TOKEN,
  resource: 'cluster/{cluster_id}',
  region: 'local',
  query: NONE,
  body: NONE,
  params: NONE,
} as const;

/** An operator shows the token of its cluster, or one that it got for its workload identity. */
const OPERATORS = ['cluster', 'workload'] as const;

const POLICY_EXAMPLE = {
  namespace: 'shop',
  secret_name: 'database',
  vault: 'shop',
  mappings: [{ key: 'password', path: 'db/main' }],
};

const clusterId = described('The id of a cluster.', idParam);
const ofOne = { params: object({ cluster_id: clusterId }) } as const;

export const createCluster = endpoint({
  ...common,
  name: 'createCluster',
  method: 'POST',
  path: '/clusters',
  summary: 'Create a cluster',
  description: 'The token is shown once. It delivers nothing until the cluster has policies.',
  permission: 'clusters:create',
  resource: 'cluster/*',
  rate: 'write',
  audit: 'clusters:create',
  effect: 'change',
  body: object({ name: clusterName, kind, environment: Type.Optional(environmentText) }),
  status: 201,
  output: ClusterWithToken,
  errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED'],
});

export const listClusters = endpoint({
  ...common,
  name: 'listClusters',
  method: 'GET',
  path: '/clusters',
  summary: 'List clusters',
  description: 'Ordered by id.',
  permission: 'clusters:list',
  resource: 'cluster/*',
  rate: 'read',
  audit: 'clusters:list',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({ clusters: Type.Array(Cluster), next_cursor: nextCursor }),
  errors: [],
});

export const readCluster = endpoint({
  ...common,
  ...ofOne,
  name: 'readCluster',
  method: 'GET',
  path: '/clusters/{cluster_id}',
  summary: 'Read a cluster',
  description: 'Without its token.',
  permission: 'clusters:read',
  rate: 'read',
  audit: 'clusters:read',
  effect: 'read',
  status: 200,
  output: Cluster,
  errors: ['NOT_FOUND'],
});

export const deleteCluster = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteCluster',
  method: 'DELETE',
  path: '/clusters/{cluster_id}',
  summary: 'Delete a cluster',
  description: 'Its tokens are revoked at once. Its policies, its apply log and what its hosts reported are deleted.',
  permission: 'clusters:delete',
  rate: 'write',
  audit: 'clusters:delete',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const rotateClusterToken = endpoint({
  ...common,
  ...ofOne,
  name: 'rotateClusterToken',
  method: 'POST',
  path: '/clusters/{cluster_id}/rotate-token',
  summary: 'Replace the token of a cluster',
  description:
    'The previous token is accepted for `overlap_seconds` more, and one before it not at all. You must be able to read every secret that the cluster gets.',
  permission: 'clusters:rotate',
  rate: 'rotate',
  audit: 'clusters:rotate',
  effect: 'change',
  body: object({
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: 'How long the previous token is still accepted. Default: 0, so it is revoked at once.',
      }),
    ),
  }),
  status: 200,
  output: ClusterWithToken,
  errors: ['NOT_FOUND'],
});

export const createClusterPolicy = endpoint({
  ...common,
  ...ofOne,
  name: 'createClusterPolicy',
  method: 'POST',
  path: '/clusters/{cluster_id}/policies',
  summary: 'Deliver secrets to a cluster',
  description:
    'Takes `vault` with `mappings` or `prefix`, or `environment_id`. You must be able to read every secret that it names; whether you still may is checked at each delivery. Fortress secrets and zero-knowledge vaults are refused. Delivering from a production vault or a composed environment needs approval; the response is then 202.',
  approval: 'rbac_change',
  permission: 'cluster_policies:create',
  alsoAsks: ['secrets:read', 'environments:compose'],
  rate: 'write',
  audit: 'cluster_policies:create',
  effect: 'change',
  bodyBytesMax: POLICY_BODY_BYTES_MAX,
  body: objectWithExamples([POLICY_EXAMPLE], {
    namespace,
    secret_name: secretName,
    secret_type: Type.Optional(described('Default: Opaque.', secretType)),
    vault: Type.Optional(policyVault),
    mappings: Type.Optional(mappings),
    prefix: Type.Optional(prefix),
    environment_id: Type.Optional(policyEnvironment),
  }),
  status: 201,
  output: ClusterPolicy,
  errors: [
    'NOT_FOUND',
    'VAULT_NOT_FOUND',
    'SECRET_NOT_FOUND',
    'ALREADY_EXISTS',
    'QUOTA_EXCEEDED',
    'ZkBoundaryViolation',
  ],
});

export const listClusterPolicies = endpoint({
  ...common,
  ...ofOne,
  name: 'listClusterPolicies',
  method: 'GET',
  path: '/clusters/{cluster_id}/policies',
  summary: 'List the policies of a cluster',
  description: 'Ordered by id.',
  permission: 'clusters:read',
  rate: 'read',
  audit: 'cluster_policies:list',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({ policies: Type.Array(ClusterPolicy), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const deleteClusterPolicy = endpoint({
  ...common,
  name: 'deleteClusterPolicy',
  method: 'DELETE',
  path: '/clusters/{cluster_id}/policies/{policy_id}',
  summary: 'Stop delivering secrets to a cluster',
  description: 'The operator then deletes the Kubernetes Secret.',
  permission: 'cluster_policies:delete',
  rate: 'write',
  audit: 'cluster_policies:delete',
  effect: 'change',
  params: object({ cluster_id: clusterId, policy_id: described('The id of a policy of the cluster.', idParam) }),
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const readDesiredState = endpoint({
  ...common,
  ...ofOne,
  credentials: OPERATORS,
  name: 'readDesiredState',
  method: 'GET',
  path: '/clusters/{cluster_id}/desired-state',
  summary: 'Read what the cluster should have',
  description:
    'For the operator of the cluster. A workload also needs the right to read every secret that the cluster gets. Send the ETag of the last response as If-None-Match: if nothing changed, the response is 304. The audit log lists every path whose value is delivered.',
  permission: 'clusters:sync',
  alsoAsks: ['secrets:read'],
  rate: 'read',
  bulk: true,
  plaintext: true,
  audit: 'clusters:sync',
  effect: 'read',
  ifNoneMatch: true,
  status: 200,
  output: DesiredState,
  errors: ['NOT_FOUND'],
});

export const reportStatus = endpoint({
  ...common,
  ...ofOne,
  credentials: OPERATORS,
  name: 'reportClusterStatus',
  method: 'POST',
  path: '/clusters/{cluster_id}/status',
  summary: 'Report what was applied',
  description:
    'For the operator of the cluster. A report about an older generation than the last one is recorded but changes nothing.',
  permission: 'clusters:report',
  rate: 'write',
  audit: 'clusters:report',
  effect: 'change',
  bodyBytesMax: STATUS_BODY_BYTES_MAX,
  body: object({
    generation: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [0],
      description: 'The generation that was applied.',
    }),
    results: Type.Array(ApplyResult, { maxItems: RESULTS_MAX, description: 'What became of each Kubernetes Secret.' }),
  }),
  status: 200,
  output: object({
    cluster_id: id('cluster'),
    generation: Type.Integer({ description: 'The generation that was reported.' }),
    received_at: timestampText,
  }),
  errors: ['NOT_FOUND'],
});

export const listApplyLog = endpoint({
  ...common,
  ...ofOne,
  name: 'listClusterAudit',
  method: 'GET',
  path: '/clusters/{cluster_id}/audit',
  summary: 'List what was delivered to a cluster and what it reported',
  description: 'Newest first, for 90 days. The audit log has every path that was delivered.',
  permission: 'clusters:read',
  rate: 'read',
  audit: 'clusters:read_audit',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({
    cluster_id: id('cluster'),
    generation: Type.Integer({ description: 'The current generation.' }),
    last_report_at: nullable(timestampText, 'When the operator last reported, whether or not anything changed.'),
    entries: Type.Array(ApplyLogEntry),
    next_cursor: nextCursor,
  }),
  errors: ['NOT_FOUND'],
});
