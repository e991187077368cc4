export { digestOf, type Fingerprint, type FingerprintKey, fingerprintKey } from './fingerprint.ts';
export { comparedSecrets } from './fingerprint-store.ts';
export { sealerFor } from './sealing.ts';
export { fingerprintKeys, holdersOf, secretsWithFingerprints, storedValues } from './stored-values.ts';
export { refuseInZeroKnowledge } from './value-rules.ts';
