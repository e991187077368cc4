import Type from 'typebox';
import { BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import { id, idParam, nextCursor, object, pageQuery, timestampText } from '../../kernel/wire.ts';
import { pathText, VERSION_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const listed = {
  id: id('sec'),
  name: Type.String({ description: 'By this `by-name` finds it: its path.' }),
  vault: Type.String({ description: 'The name of its vault.' }),
  path: Type.String({ description: 'Where it is in the vault.' }),
  type: Type.String({ description: 'What kind of secret it is.' }),
  version: Type.Integer({ description: 'The newest version, or the one asked for.' }),
  updated_at: timestampText,
};

const OperatorSecretSummary = named(
  'OperatorSecretSummary',
  'A secret, as the External Secrets Operator lists it.',
  object(listed),
);
export const OperatorSecret = named(
  'OperatorSecret',
  'A secret with its value, as the External Secrets Operator reads it.',
  object({ ...listed, value: Type.String({ description: 'The value.' }) }),
);

const common = {
  noun: 'eso',
  nounDescription: 'For the External Secrets Operator of Kubernetes.',
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
  Type.Integer({ minimum: 1, maximum: VERSION_MAX, description: 'The newest unless given.' }),
);
const ofOne = {
  plaintext: true,
  output: OperatorSecret,
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND', 'MFA_REQUIRED', 'ZkBoundaryViolation'],
} as const;

export const operatorSecretById = endpoint({
  ...common,
  ...ofOne,
  name: 'operatorSecretById',
  path: '/eso/secrets/by-id',
  summary: 'Read a secret by its id, for the External Secrets Operator',
  description:
    'Answers 404 only if the secret is deleted: an id that is unknown, or not yours to read, is a 403, so that nothing is removed from a ' +
    'cluster by mistake; so is a version that the secret does not have a 422. Fortress secrets are not served here.',
  query: object({ id: described('The id of a secret, `sec_…`, or its integer `secret_id`.', idParam), version }),
});

export const operatorSecretByName = endpoint({
  ...common,
  ...ofOne,
  name: 'operatorSecretByName',
  path: '/eso/secrets/by-name',
  summary: 'Read a secret by its vault and path, for the External Secrets Operator',
  description:
    'Answers 404 only if there is no such secret where you may read; a version that it does not have is a 422. Fortress secrets are not served here.',
  query: object({ vault: vaultName, name: pathText, version }),
});

export const operatorVault = endpoint({
  ...common,
  name: 'operatorVault',
  path: '/eso/vault/{vault}',
  summary: 'List the secrets of a vault that you may read, without their values',
  description: 'Fortress secrets are left out, since they are not served here.',
  plaintext: false,
  params: object({ vault: vaultName }),
  query: object(pageQuery),
  output: object({
    vault: Type.String({ description: 'Its name.' }),
    secrets: Type.Array(OperatorSecretSummary),
    next_cursor: nextCursor,
  }),
  errors: ['VAULT_NOT_FOUND'],
});
