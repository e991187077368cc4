export { type ConnectionItem, loadConnections, loadVaultNames } from './data.ts';
