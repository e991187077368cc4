export { enabledFederations, FEDERATIONS, type FederationRow } from './store.ts';
