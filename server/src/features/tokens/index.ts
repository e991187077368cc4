export {
  ceilingsOf,
  findTokenByText,
  type OpaqueTokenResolver,
  principalOf,
  type ResolvedToken,
  type TokenResolver,
} from './bearer.ts';
export { tokenKind } from './contract.ts';
export { endSessions, moveChildren, revoke as revokeTokens, revokeTokensOfUser } from './ending-store.ts';
export { type IssuedToken, issueToken } from './issuer.ts';
export { machineTokenResolvers, opaqueTokenResolver } from './links.ts';
export {
  findToken,
  insertToken,
  isCurrentGeneration,
  listOpenSessions,
  lockToken,
  openSessionsOf,
  type ProviderSession,
  type SessionMethod,
  sessionsFromProvider,
  TOKENS,
  type TokenRow,
  tokensOfThisGeneration,
  usableHandedOut,
  usableTokens,
  usersWithTokens,
} from './store.ts';
