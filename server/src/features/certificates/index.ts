import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import { CofferError } from '../../kernel/errors.ts';
import type { Feature } from '../../kernel/feature.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import type { Certificates } from './service.ts';

export { CERTIFICATES_PURPOSE, retireAuthorities } from './authorities.ts';
export { type Parsed, parseCertificate } from './certificate.ts';
export { EXTERNAL_PEM_LENGTH_MAX, externalCaProblem } from './external.ts';
export { CSR_LENGTH_MAX } from './issuing.ts';
export { OwnIdentity, ROOT_FILE } from './own-identity.ts';
export { Certificates, type Checked, type Prepared } from './service.ts';
export { CERTIFICATES, type CertificateRow, tenantOfClient } from './store.ts';
export { KeyUsageFlags } from './x509.ts';

export function certificatesFeature(certificates: Certificates): Feature {
  return {
    name: 'certificates',
    endpoints: [
      bind(contract.readRootCertificate, () => certificates.rootPem()),
      bind(contract.readTenantCertificates, async (_, { params }) =>
        found(await certificates.tenantPem(params.tenant_id)),
      ),
      bind(contract.readRevocationList, async (_, { params }) =>
        found(await certificates.revocationListPem(params.tenant_id)),
      ),
      bind(contract.readRevocationListDer, async (_, { params, query }) =>
        found(await certificates.revocationListDer(params.tenant_id, query.ca)),
      ),
    ],
    jobs: [
      {
        name: 'forget-ended-certificates',
        intervalMs: HOUR_MS,
        removes: { secondLookMs: SECOND_LOOK_MS, share: (cutoff) => certificates.endedShare(cutoff) },
        run: (signal, cutoff) => certificates.forgetEnded('forget-ended-certificates', cutoff, signal),
      },
    ],
  };
}

/** The response is that of a route that does not exist: these endpoints are public and must not reveal which tenants exist. */
function found<T extends string | Uint8Array>(file: T | null): T {
  if (file === null) throw new CofferError('NOT_FOUND', 'There is no such route. The API is described at /docs.');
  return file;
}
