import Type, { type Static } from 'typebox';
import { EnvironmentNameSchema } from '../../kernel/authz/environment.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, lineOfText, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';
import { pathText } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

export const CLUSTER_KINDS = ['kubernetes', 'hosts'] as const;

export const MAPPINGS_MAX = 1000;
export const RESULTS_MAX = 3000;
const MESSAGE_CHARS_MAX = 512;
const SECRET_TYPE_CHARS_MAX = 253;
export const OVERLAP_SECONDS_MAX = 7 * 24 * 3600;

/** Names as Kubernetes accepts them: RFC 1123 labels and subdomains, and the keys of a Secret. */
const NAMESPACE_PATTERN = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
const SECRET_NAME_PATTERN = '^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$';
export const DATA_KEY_CHARS_MAX = 253;
export const DATA_KEY_PATTERN = '^[-._a-zA-Z0-9]{1,253}$';
const SECRET_TYPE_PATTERN = '^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$';

export const DEFAULT_SECRET_TYPE = 'Opaque';

export const namespace = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: NAMESPACE_PATTERN,
  examples: ['shop'],
  description: 'A namespace of the cluster.',
});
export const secretName = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: SECRET_NAME_PATTERN,
  examples: ['database'],
  description: 'The name of the Kubernetes Secret.',
});
export const secretType = Type.String({
  minLength: 1,
  maxLength: SECRET_TYPE_CHARS_MAX,
  pattern: SECRET_TYPE_PATTERN,
  examples: [DEFAULT_SECRET_TYPE],
  description: `The type of the Kubernetes Secret, such as ${DEFAULT_SECRET_TYPE} or kubernetes.io/tls.`,
});
export const dataKey = Type.String({
  minLength: 1,
  maxLength: DATA_KEY_CHARS_MAX,
  pattern: DATA_KEY_PATTERN,
  examples: ['password'],
  description: 'A key in the data of the Kubernetes Secret.',
});
const environmentNumber = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The number of a composed environment.',
});

export const clusterName = lineOfText(
  { minLength: 1, maxLength: 100 },
  'The name of the cluster, unique in the tenant.',
);
export const kind = named(
  'ClusterKind',
  'kubernetes: an operator fetches its secrets. hosts: agents report its accounts. Both kinds may report accounts.',
  oneOf(CLUSTER_KINDS),
);

const clusterFields = {
  id: id('cluster'),
  name: Type.String({ description: 'The name of the cluster.' }),
  kind,
  environment: nullable(
    EnvironmentNameSchema,
    'Where its hosts belong; drift looks for missing keys on production hosts.',
  ),
  generation: Type.Integer({ description: 'The number of its current desired state; 0 before the first one.' }),
  applied_generation: Type.Integer({
    description: 'The newest generation that it reported; 0 before the first report.',
  }),
  last_report_at: nullable(timestampText, 'When it last reported.'),
  failed: Type.Integer({ description: 'How many secrets failed in its last report.' }),
  token_created_at: timestampText,
  former_token_until: nullable(timestampText, 'Until when the previous token is accepted.'),
  created_by: Type.String({ description: 'The id of the creator.' }),
  created_at: timestampText,
};

export const Cluster = named('Cluster', 'A cluster or a group of hosts.', object(clusterFields));
export type Cluster = Static<typeof Cluster>;

export const ClusterWithToken = named(
  'ClusterWithToken',
  'A cluster with its token, which is shown once.',
  object({
    ...clusterFields,
    cluster_token: Type.String({
      description: 'Authenticates the agent or operator, as X-Cluster-Token. Store it: it is not shown again.',
    }),
  }),
);
export type ClusterWithToken = Static<typeof ClusterWithToken>;

export const Mapping = named(
  'ClusterMapping',
  'Which secret becomes which key.',
  object({ key: dataKey, path: pathText }),
);
export type Mapping = Static<typeof Mapping>;

export const policyVault = described('The vault that holds the secrets.', vaultName);
export const mappings = Type.Array(Mapping, {
  minItems: 1,
  maxItems: MAPPINGS_MAX,
  description: 'The secrets of the vault, each with its key.',
});
export const prefix = Type.String({
  minLength: 1,
  maxLength: 1024,
  examples: ['shop'],
  description:
    'Every secret of the vault below this path. The key is the rest of the path, with a dot for each slash; characters that a key cannot have become underscores.',
});
export const policyEnvironment = described(
  'Every secret of this composed environment, under its key name.',
  environmentNumber,
);

export const ClusterPolicy = named(
  'ClusterPolicy',
  'Which secrets become one Kubernetes Secret.',
  object({
    id: id('cpolicy'),
    cluster_id: id('cluster'),
    namespace,
    secret_name: secretName,
    secret_type: secretType,
    vault: nullable(Type.String({ description: 'The vault; null with an environment.' })),
    mappings: nullable(Type.Array(Mapping, { description: 'The secrets with their keys.' })),
    prefix: nullable(Type.String({ description: 'The path below which secrets are taken.' })),
    environment_id: nullable(environmentNumber),
    created_by: Type.String({ description: 'The id of the author, whose rights decide what is delivered.' }),
    created_at: timestampText,
  }),
);
export type ClusterPolicy = Static<typeof ClusterPolicy>;

/** Why a policy delivers nothing. */
export const WITHHELD_REASONS = {
  author_inactive: 'The author was disabled or deleted.',
  access_lost: 'The author may no longer read all of the secrets.',
  vault_missing: 'The vault was deleted.',
  environment_missing: 'The composed environment was deleted.',
  secret_missing: 'A secret was deleted or moved.',
  fortress: 'A secret has become a fortress secret.',
  zero_knowledge: 'A secret is in a zero-knowledge vault.',
  key_conflict: 'Two secrets would have the same key, or a key would be too long.',
  template_unresolved: 'A template refers to a secret in a way that cannot be resolved.',
  empty: 'There is no secret.',
  too_large: 'The values are larger than a Kubernetes Secret may be, or the whole answer would be too large.',
} as const;
export type WithheldReason = keyof typeof WITHHELD_REASONS;
const REASONS = Object.keys(WITHHELD_REASONS) as WithheldReason[];
const reasonTexts = REASONS.map((reason) => `${reason}: ${WITHHELD_REASONS[reason]}`).join(' ');

const checksum = (description: string) => Type.String({ pattern: '^[0-9a-f]{64}$', description });

export const DesiredSecret = named(
  'DesiredSecret',
  'A Kubernetes Secret as it should be.',
  object({
    namespace,
    name: secretName,
    type: secretType,
    data: Type.Record(Type.String({ pattern: DATA_KEY_PATTERN }), Type.String(), {
      additionalProperties: false,
      description: 'Each value in base64, as Kubernetes has it.',
    }),
    checksum: checksum(
      'SHA-256, in hex, of the JSON array [namespace, name, type, [[key, data], …]] without whitespace, sorted by key.',
    ),
  }),
);
export type DesiredSecret = Static<typeof DesiredSecret>;

export const WithheldSecret = named(
  'WithheldSecret',
  'A Kubernetes Secret that is not delivered. Leave the copy in the cluster as it is.',
  object({
    policy_id: id('cpolicy'),
    namespace,
    name: secretName,
    reason: oneOf(REASONS, reasonTexts),
  }),
);
export type WithheldSecret = Static<typeof WithheldSecret>;

export const DesiredState = object({
  cluster_id: id('cluster'),
  generation: Type.Integer({ description: 'Grows whenever the content changes, and only then.' }),
  secrets: Type.Array(DesiredSecret, { description: 'Sorted by namespace and name.' }),
  withheld: Type.Array(WithheldSecret, { description: 'Policies that deliver nothing now, and why.' }),
  checksum: checksum(
    'SHA-256, in hex, of the JSON array [cluster_id, generation, [checksum, …], [[namespace, name, reason], …]] without whitespace: the checksums of `secrets`, then `withheld`.',
  ),
});
export type DesiredState = Static<typeof DesiredState>;

export const RESULT_STATES = ['applied', 'unchanged', 'failed', 'pruned'] as const;
export const ApplyResult = named(
  'ClusterApplyResult',
  'What became of one Kubernetes Secret.',
  object({
    namespace,
    secret_name: secretName,
    state: oneOf(RESULT_STATES, 'What the operator did.'),
    message: Type.Optional(lineOfText({ maxLength: MESSAGE_CHARS_MAX }, 'Why it failed, or what else is to be known.')),
  }),
);
export type ApplyResult = Static<typeof ApplyResult>;

export const ApplyLogEntry = named(
  'ClusterApplyLogEntry',
  'A desired state that was delivered, or a report of what was applied.',
  object({
    id: id('apply'),
    kind: oneOf(
      ['delivered', 'reported'],
      'delivered: the service answered with values. reported: the operator told what it did.',
    ),
    generation: Type.Integer({ description: 'The generation it is about.' }),
    secrets: Type.Integer({ description: 'How many Kubernetes Secrets it has.' }),
    withheld: Type.Integer({ description: 'How many policies delivered nothing.' }),
    results: Type.Array(ApplyResult, { description: 'Of a report: all results but the unchanged ones.' }),
    created_at: timestampText,
  }),
);
export type ApplyLogEntry = Static<typeof ApplyLogEntry>;
