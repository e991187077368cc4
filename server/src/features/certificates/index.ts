import { HOUR_MS } from '../../kernel/platform/clock.ts';
import { CofferError } from '../../kernel/platform/errors.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { perKernel } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { announceExpiringJob } from './expiry-events.ts';
import { showExpiry } from './expiry-metrics.ts';
import { Certificates } from './service.ts';

export { CERTIFICATES_PURPOSE, retireAuthorities } from './authorities.ts';
export { type ParsedCertificate, parseCertificate } from './certificate.ts';
export { EXTERNAL_PEM_LENGTH_MAX, externalCaProblem } from './external.ts';
export { CSR_LENGTH_MAX } from './issuing.ts';
export { OwnIdentity, ROOT_FILE } from './own-identity.ts';
export { Certificates, type Checked, type Prepared } from './service.ts';
export { CERTIFICATES, type CertificateRow, CURSOR_KIND, tenantOfClient } from './store.ts';
export { KeyUsageFlags } from './x509.ts';

/** Features share it, because it caches authorities. */
export const certificatesOf = perKernel((kernel) => new Certificates(kernel));

export function certificatesFeature(kernel: Kernel): Feature {
  const certificates = certificatesOf(kernel);
  showExpiry(kernel);
  return {
    name: 'certificates',
    endpoints: bindContract(contract, {
      readRootCertificate: () => certificates.rootPem(),
      readTenantCertificates: async (_, { params }) => found(await certificates.tenantPem(params.tenant_id)),
      readRevocationList: async (_, { params }) => found(await certificates.revocationListPem(params.tenant_id)),
      readRevocationListDer: async (_, { params, query }) =>
        found(await certificates.revocationListDer(params.tenant_id, query.ca)),
    }),
    jobs: [
      announceExpiringJob(kernel),
      {
        name: 'forget-ended-certificates',
        intervalMs: HOUR_MS,
        removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => certificates.endedShare(cutoff) },
        run: (signal, cutoff) => certificates.deleteEnded('forget-ended-certificates', cutoff, signal),
      },
    ],
  };
}

/** The response is that of a route that does not exist: these endpoints are public and must not reveal which tenants exist. */
function found<T extends string | Uint8Array>(file: T | null): T {
  if (file === null) throw new CofferError('NOT_FOUND', 'This route does not exist. The API is described at /docs.');
  return file;
}
