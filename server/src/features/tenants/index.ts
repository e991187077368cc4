export { assignNewTenant, claimSubscriptions } from './links.ts';
export { type CreationPorts, insertPrepared, prepareTenant } from './service.ts';
export { lockTenant, updateTenant } from './store.ts';
