export { assignNewTenant, claimSubscriptions } from './links.ts';
export { type CreationPorts, insertPrepared, type NewTenant, prepareTenant } from './service.ts';
export { lockTenant, updateTenant } from './store.ts';
