export { parseCompositePublic, signDigest, verifyDigest } from './composite-signature.ts';
export { SIGNATURE_ALGORITHM } from './contract.ts';
export { PQC_PURPOSE, type PqcKey, PqcKeys, type PqcVersion, retireKeys } from './keys.ts';
export { sharedPqcKeys } from './links.ts';
