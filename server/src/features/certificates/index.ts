export { CERTIFICATES_PURPOSE, retireAuthorities } from './authorities.ts';
export { type ParsedCertificate, parseCertificate } from './certificate.ts';
export { externalCaProblem } from './external.ts';
export { sharedCertificates } from './links.ts';
export { OwnIdentity, ROOT_FILE } from './own-identity.ts';
export { Certificates, type Prepared } from './service.ts';
export { type CertificateRow, CURSOR_KIND, tenantOfClient } from './store.ts';
export { KeyUsageFlags } from './x509.ts';
