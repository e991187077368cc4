import { type Certificates, OwnIdentity } from '../features/certificates/index.ts';
import { SECOND_MS } from '../kernel/base/clock.ts';
import { CurrentIdentity, IdentityFiles } from '../kernel/http/tls-identity.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { certificateWarning } from '../settings/start-warnings.ts';

/** The certificate that TLS listeners present: the operator's, or one of the service's own authority. */
export async function openIdentity(kernel: Kernel, certificates: Certificates): Promise<CurrentIdentity | null> {
  const { tls, tlsPort } = kernel.config;
  if (tls !== null) return CurrentIdentity.open(new IdentityFiles(tls), kernel.log);
  return tlsPort === null ? null : CurrentIdentity.open(new OwnIdentity(kernel, certificates), kernel.log);
}

export function showExpiry(kernel: Kernel, identity: CurrentIdentity): void {
  const { metrics, config, clock } = kernel;
  // The service renews a certificate of its own authority itself.
  if (config.tls !== null) {
    kernel.warnings.push(certificateWarning(() => identity.expiresAt <= clock.now()));
  }
  metrics.gaugeOf(
    'cv_tls_certificate_expiry_timestamp_seconds',
    'When the certificate expires that the service presents to its clients.',
    'min',
    () => identity.expiresAt / SECOND_MS,
  );
}
