import Type from 'typebox';
import { BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { id, idParam, nextCursor, object, pageQuery, timestampText } from '../../kernel/wire.ts';
import { pathText, VERSION_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const listed = {
  id: id('sec'),
  name: Type.String({ description: 'By this `by-name` finds it: its path.' }),
  vault: Type.String(),
  path: Type.String(),
  type: Type.String(),
  version: Type.Integer(),
  updated_at: timestampText,
};

export const OperatorSecret = object({ ...listed, value: Type.String() });

const common = {
  noun: 'eso',
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
  query: object({ id: idParam, version }),
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
  plaintext: false,
  params: object({ vault: vaultName }),
  query: object(pageQuery),
  output: object({ vault: Type.String(), secrets: Type.Array(object(listed)), next_cursor: nextCursor }),
  errors: ['VAULT_NOT_FOUND'],
});
