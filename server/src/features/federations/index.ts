export { enabledFederations, type FederationRow } from './store.ts';
