export { attributesOf } from './authorization.ts';
export { pathText, readSecret, VALUE_BODY_BYTES_MAX, VALUE_BYTES_MAX, VERSION_MAX } from './contract.ts';
export { riskFactorsOf, secretsRemoved, sharedSecretReader } from './links.ts';
export { parsePath, secretOfResource, secretResource } from './location.ts';
export { secretNotFound } from './not-found.ts';
export {
  Protection,
  type RiskFactor,
  riskFactors,
  riskScore,
  secretParams,
  templateSchemas,
} from './schemas.ts';
