import { HOUR_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { announceExpiringJob } from './expiry-events.ts';
import { showExpiry } from './expiry-metrics.ts';
import { sharedCertificates } from './links.ts';
import { Certificates } from './service.ts';
import { CERTIFICATES } from './store.ts';

export const certificatesFeature = feature({
  name: 'certificates',
  endpoints: contract,
  tables: {
    authenticated: [CERTIFICATES],
    plain: {
      certificate_authorities:
        'the private key is sealed, bound to the certificate and to the end of the authority; lists of what is revoked are signed, and an old one is good until it ends',
      certificate_announcements:
        'says which certificates were announced as expiring; a forged row announces some again, or leaves some out',
    },
  },
  uses: ['addresses', 'audit', 'clock', 'database', 'epochs', 'keyring', 'metrics', 'regionGate'],
  shares: [sharedCertificates],
  build(parts) {
    const certificates = new Certificates(parts);
    showExpiry(parts);
    return {
      shares: [sharedCertificates.as(certificates)],
      handlers: {
        readRootCertificate: () => certificates.rootPem(),
        readTenantCertificates: async (_, { params }) => found(await certificates.tenantPem(params.tenant_id)),
        readRevocationList: async (_, { params }) => found(await certificates.revocationListPem(params.tenant_id)),
        readRevocationListDer: async (_, { params, query }) =>
          found(await certificates.revocationListDer(params.tenant_id, query.ca)),
      },
      jobs: [
        announceExpiringJob(parts),
        {
          name: 'forget-ended-certificates',
          intervalMs: HOUR_MS,
          removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => certificates.endedShare(cutoff) },
          run: (signal, cutoff) => certificates.deleteEnded('forget-ended-certificates', cutoff, signal),
        },
      ],
    };
  },
});

/** The response is that of a route that does not exist: these endpoints are public and must not reveal which tenants exist. */
function found<T extends string | Uint8Array>(file: T | null): T {
  if (file === null) throw new CofferError('NOT_FOUND', 'This route does not exist. The API is described at /docs.');
  return file;
}
