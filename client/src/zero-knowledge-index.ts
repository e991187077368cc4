/** `@coffer/client/zero-knowledge`: apart from the rest, because it brings ciphers that most programs do not need. */

export { WrongPassphraseError } from './passphrase-check.ts';
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
