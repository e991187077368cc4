export { rotateAll as rotateEncryptionKeys } from './service.ts';
export { EAAS_KEYS } from './store.ts';
