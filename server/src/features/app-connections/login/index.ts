export {
  asLoginDenied,
  attributeTo,
  checkAddressAndDpop,
  lockUnchanged,
  loginDenied,
  refuseInactive,
  refuseSuspended,
} from './exchange.ts';
export { CONNECTION_TOKENS, findConnectionToken, insertConnectionToken, revokeTokensFrom } from './token-store.ts';
export { issueConnectionToken } from './tokens.ts';
