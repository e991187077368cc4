export {
  type CertificateFiles,
  certificateRenewalMs,
  identityFromFiles,
  renewCertificateFiles,
} from './certificate-files.ts';
export { createDpopKeyFile, dpopKeyFromFile } from './dpop-key-file.ts';
export { readCredential, writePrivateFile } from './files.ts';
export { type NodeTransportOptions, nodeTransport, SOCKET_HEADER } from './transport.ts';
