import Type from 'typebox';
import { BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, idParam, nextCursor, object, pageQuery, timestampText } from '../../kernel/wire/wire.ts';
import { pathText, templateSchemas, VERSION_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const summaryFields = {
  id: id('sec'),
  name: Type.String({ description: 'The path of the secret. Send it as `name` to `/eso/secrets/by-name`.' }),
  vault: Type.String({ description: 'The name of its vault.' }),
  path: Type.String({ description: 'The path of the secret in the vault.' }),
  type: Type.String({ description: 'The type of the secret.' }),
  version: Type.Integer({ description: 'The requested version, or the newest.' }),
  updated_at: timestampText,
};

const OperatorSecretSummary = named(
  'OperatorSecretSummary',
  'A secret as listed for the External Secrets Operator.',
  object(summaryFields),
);
export const OperatorSecret = named(
  'OperatorSecret',
  'A secret with its value, as returned to the External Secrets Operator.',
  object({ ...summaryFields, value: Type.String({ description: 'The value.' }), parts: templateSchemas.templateParts }),
);

const PROPERTY_LENGTH_MAX = 1024;

const common = {
  noun: 'eso',
  aboutNoun: {
    title: 'External Secrets',
    group: 'Machines',
    guide: ['external-secrets'],
    description: 'Endpoints for the External Secrets Operator of Kubernetes.',
  },
  credentials: ['connection', 'bound_certificate'],
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  method: 'GET',
  permission: 'eso:read',
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  rate: 'read',
  audit: 'eso:read',
  effect: 'read',
  params: NONE,
  body: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
  raw: NONE,
} as const;

const version = Type.Optional(
  Type.Integer({ minimum: 1, maximum: VERSION_MAX, description: 'The version. Default: the newest.' }),
);
const property = Type.Optional(
  Type.String({
    maxLength: PROPERTY_LENGTH_MAX,
    description:
      'Returns one member of a value that is a JSON object as `value`: text as it is, anything else as JSON. A name with dots leads into objects, unless a member has that very name.',
  }),
);
const singleSecret = {
  plaintext: true,
  output: OperatorSecret,
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND', 'MFA_REQUIRED', 'ZkBoundaryViolation', 'TEMPLATE_UNRESOLVED'],
} as const;

export const operatorSecretById = endpoint({
  ...common,
  ...singleSecret,
  name: 'operatorSecretById',
  path: '/eso/secrets/by-id',
  summary: 'Read a secret by its id, for the External Secrets Operator',
  description:
    'Responds with 404 only if the secret was deleted. An id that is unknown or that you may not read gives a 403, so that nothing is removed from a ' +
    'cluster by mistake. A version or property that the secret does not have gives a 422. Fortress secrets are not served here.',
  query: object({
    id: described('The id of a secret, `sec_…`, or its integer `secret_id`.', idParam),
    version,
    property,
  }),
});

export const operatorSecretByName = endpoint({
  ...common,
  ...singleSecret,
  name: 'operatorSecretByName',
  path: '/eso/secrets/by-name',
  summary: 'Read a secret by its vault and path, for the External Secrets Operator',
  description:
    'Responds with 404 only if you may read this path and no secret exists there. A version or property that the secret does not have gives a 422. Fortress secrets are not served here.',
  query: object({ vault: vaultName, name: pathText, version, property }),
});

export const operatorVault = endpoint({
  ...common,
  name: 'operatorVault',
  path: '/eso/vault/{vault}',
  summary: 'List the secrets of a vault that you may read, without their values',
  description: 'Fortress secrets are omitted, because they are not served here.',
  plaintext: false,
  params: object({ vault: vaultName }),
  query: object(pageQuery),
  output: object({
    vault: Type.String({ description: 'The name of the vault.' }),
    secrets: Type.Array(OperatorSecretSummary),
    next_cursor: nextCursor,
  }),
  errors: ['VAULT_NOT_FOUND'],
});
