export {
  ceilingsOf,
  findTokenByText,
  type OpaqueTokenResolver,
  principalOf,
  type ResolvedToken,
  type TokenResolver,
} from './bearer.ts';
export { tokenKind } from './contract.ts';
export { type IssuedToken, issueToken } from './issuer.ts';
export { machineTokenResolvers, opaqueTokenResolver } from './links.ts';
