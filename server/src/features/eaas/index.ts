export { rotateAll as rotateEncryptionKeys } from './service.ts';
