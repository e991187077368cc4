export {
  deleteIdentity,
  findIdentity,
  findProvider,
  type IdentityRow,
  identityHash,
  insertIdentity,
  lockProvider,
  type ProviderRow,
  providersOf,
  stateOf,
} from './identity-store.ts';
