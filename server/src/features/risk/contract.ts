import Type from 'typebox';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, object, timestampText } from '../../kernel/wire/wire.ts';
import { riskFactors, riskScore, secretParams } from '../secrets/index.ts';

const RiskDay = named(
  'RiskDay',
  'The risk of a secret at the end of a day.',
  object({
    day: Type.String({ format: 'date', description: 'A day in UTC.' }),
    risk_score: riskScore,
  }),
);

export const readSecretRisk = endpoint({
  noun: 'secrets',
  credentials: ANY_CALLER,
  tenant: 'own',
  resource: 'loaded',
  loads: ['vault/{vault}/{path*}'],
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  body: NONE,
  name: 'readSecretRisk',
  method: 'GET',
  path: '/v1/vaults/{vault}/secrets/{path*}/risk',
  summary: 'Compute the risk of a secret now',
  description:
    'Says what makes it risky, without names of those who may read it. Lists show the score that was last computed, here or by the daily run.',
  permission: 'secrets:read_metadata',
  alsoAsks: ['secrets:read'],
  rate: 'aggregate',
  bulk: true,
  audit: 'secrets:read_risk',
  effect: 'read',
  params: secretParams,
  query: NONE,
  status: 200,
  output: object({
    id: id('sec'),
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Path of the secret in the vault.' }),
    risk_score: riskScore,
    risk_factors: riskFactors,
    history: Type.Array(RiskDay, { description: 'The newest day first, at most 35 days.' }),
    computed_at: timestampText,
  }),
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND'],
});
