export {
  asLoginDenied,
  attributeTo,
  checkAddressAndDpop,
  lockUnchanged,
  loginDenied,
  refuseInactive,
  refuseSuspended,
} from './exchange.ts';
export type { ConnectionCertificates } from './ports.ts';
export { actingConnection, allowlistOf } from './principal.ts';
export {
  existing as existingConnection,
  find as findConnection,
  refuseDenied as refuseDeniedConnection,
  refuseUnshareable,
} from './service.ts';
export {
  authenticConnectionsAfter,
  CONNECTIONS,
  type ConnectionRow,
  connectionNumbers,
  connectionsAfter,
  connectionsByKey,
  countConnections,
  findByClient,
  findClient,
  findConnection as findConnectionByKey,
  findNumbered as findConnectionNumbered,
  isNumberTaken,
  lockConnection,
  numberOf,
  resourcesOf as connectionResources,
} from './store.ts';
export { CONNECTION_TOKENS, findConnectionToken, insertConnectionToken, revokeTokensFrom } from './token-store.ts';
export { issueConnectionToken } from './tokens.ts';
