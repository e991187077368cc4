export { CERTIFICATES_PURPOSE, retireAuthorities } from './authorities.ts';
export { type ParsedCertificate, parseCertificate } from './certificate.ts';
export { EXTERNAL_PEM_LENGTH_MAX, externalCaProblem } from './external.ts';
export { CSR_LENGTH_MAX } from './issuing.ts';
export { sharedCertificates } from './links.ts';
export { OwnIdentity, ROOT_FILE } from './own-identity.ts';
export { Certificates, type Checked, type Prepared } from './service.ts';
export { CERTIFICATES, type CertificateRow, CURSOR_KIND, tenantOfClient } from './store.ts';
export { KeyUsageFlags } from './x509.ts';
