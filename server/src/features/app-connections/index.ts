export type { ConnectionCertificates } from './ports.ts';
export { actingConnection, allowlistOf } from './principal.ts';
export {
  existing as existingConnection,
  find as findConnection,
  refuseDenied as refuseDeniedConnection,
  refuseUnshareable,
} from './service.ts';
