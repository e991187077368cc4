export {
  type AuthorizedRequest,
  type RegionFetch,
  type RegionFetchOptions,
  RegionRedirectError,
  type RegionRequest,
  regionFetch,
} from './region-fetch.ts';
export { type ResealOptions, type ResealReport, resealVault, type VaultRequests } from './reseal-vault.ts';
export { InProcessVersionStore, type SecretLocation, type VersionStore } from './version-store.ts';
export {
  openUnboundZeroKnowledge,
  openZeroKnowledge,
  openZeroKnowledgeBytes,
  type SealOptions,
  sealZeroKnowledge,
  ZeroKnowledgeError,
  type ZeroKnowledgeSecret,
} from './zero-knowledge.ts';
export {
  type ClientOptions,
  type OpenedSecret,
  type ServedSecret,
  ZeroKnowledgeClient,
  ZeroKnowledgeVersionError,
} from './zero-knowledge-client.ts';
export type { ZeroKnowledgeAlgorithm, ZeroKnowledgeDerivation } from './zero-knowledge-envelope.ts';
export type { ZeroKnowledgeLocation } from './zero-knowledge-location.ts';
