export { endSessions, moveChildren, revoke as revokeTokens, revokeTokensOfUser } from './ending-store.ts';
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
} from './token-store.ts';
