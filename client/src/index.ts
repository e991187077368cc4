export type { AuditFilter } from './audit.ts';
export type { Auth, WorkloadCredential } from './auth.ts';
export { Coffer, type CofferOptions } from './coffer.ts';
export type { CallOptions, ConnectionOptions } from './connection.ts';
export { type DpopKey, dpopThumbprint, generateDpopKey } from './dpop.ts';
export { CofferError, type CofferErrorCode, type LocalCode, type RefusalCode } from './errors.ts';
export type { CacheOptions } from './read-cache.ts';
export { parseReference, type Reference } from './reference.ts';
export { type ResealOptions, type ResealReport, resealVault, type VaultRequests } from './reseal-vault.ts';
export type { Route, RouteInput, RouteOutput, Schemas } from './routes.ts';
export { Secret } from './secret.ts';
export type { ListOptions, SecretChange, SetOptions, WatchOptions } from './secrets.ts';
export { fetchTransport, type Transport, type TransportRequest, type TransportResponse } from './transport.ts';
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
